"""Pausing, resuming and cancelling at any moment, over a network that fails."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from engine.download.download_values import DownloadStatus
from tests.engine.download.downloads import content
from tests.engine.download.queues import Desk, final_path, offer_several
from tests.fake_hub.server import FakeHub


@pytest.mark.parametrize("seed", range(3))
def test_random_wishes_end_in_whole_models_and_nothing_else(hub: FakeHub, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    models = offer_several(hub, 5, 300_000)
    hub.faults.bytes_per_second = 1e6
    desks = [Desk(hub, tmp_path, parallel=2)]
    for model in models:
        desks[0].queue.add(model)
    for step in range(120):
        desk = desks[-1]
        queue, model = desk.queue, chance.choice(models)
        wishes = (
            lambda q=queue, m=model: q.pause(m.id),
            lambda q=queue, m=model: q.resume(m.id),
            lambda q=queue, m=model: q.cancel(m.id),
            lambda q=queue, m=model: q.add(m),
            lambda q=queue, m=model: q.move(m.id, chance.choice((-1, 1))),
            lambda q=queue: q.set_parallel(chance.choice((1, 2, 3))),
        )
        chance.choice(wishes)()
        hub.faults.cuts = [chance.randrange(1, 200_000)] if chance.random() < 0.3 else []
        if step % 40 == 39:
            queue.close()
            desks.append(Desk(hub, tmp_path, parallel=2))
        time.sleep(chance.random() * 0.02)
    desk = desks[-1]
    for model in models:
        desk.queue.add(model)
    hub.faults.cuts = []
    desk.wait_for_all(models, DownloadStatus.DONE)
    for model in models:
        assert final_path(tmp_path, model).read_bytes() == content(hub, model)
    desk.wait(lambda: not desk.queue._board.discards)
    assert list(tmp_path.rglob("*.part")) == []
    desk.queue.close()
