"""Many downloads over a network that breaks at random."""

from __future__ import annotations

import random
from pathlib import Path

from tests.engine.download.downloads import Watched, content, offer
from tests.fake_hub.server import FakeHub

N_DOWNLOADS = 100
SIZE = 20_000_000


def test_100_downloads_of_20_mb_each_cut_at_random_offsets(hub: FakeHub, tmp_path: Path) -> None:
    model = offer(hub, {"model.gguf": SIZE})
    chance = random.Random(20_000_000)
    for number in range(N_DOWNLOADS):
        hub.faults.cuts = [chance.randrange(SIZE // 2) for _ in range(chance.randint(2, 5))]
        hub.faults.resets = chance.random() < 0.5
        watched = Watched(hub, tmp_path / str(number))
        path = watched.run(model)
        assert path.read_bytes() == content(hub, model)
        watched.assert_progress_is_sane()
        path.unlink()
