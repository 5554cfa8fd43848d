"""A fake Hub for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.download.downloads import Watched
from tests.fake_hub.server import FakeHub, fake_hub


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as running:
        yield running


@pytest.fixture
def watched(hub: FakeHub, tmp_path: Path) -> Watched:
    """A download into a models folder that is empty."""
    return Watched(hub, tmp_path / "models")
