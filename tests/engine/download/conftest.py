"""A fake Hub for each test, and queues that are closed after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.download.downloads import Watched
from tests.engine.download.queues import Desk
from tests.fake_hub.server import FakeHub, fake_hub


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as running:
        yield running


@pytest.fixture
def watched(hub: FakeHub, tmp_path: Path) -> Watched:
    """A download into a models folder that is empty."""
    return Watched(hub, tmp_path / "models")


@pytest.fixture
def open_desk(hub: FakeHub, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    opened: list[Desk] = []

    def open_(**options: object) -> Desk:
        opened.append(Desk(hub, tmp_path / "models", **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_
    for desk in opened:
        desk.queue.close()


@pytest.fixture
def desk(open_desk: Callable[..., Desk]) -> Desk:
    return open_desk()
