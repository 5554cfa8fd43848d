"""A Hub on loopback, and an environment that names no other one and no token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from engine.hub.hub import Hub
from tests.fake_hub.server import FakeHub, fake_hub

TOKEN = "hf_topSecretTokenOfTheTests0123456789"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_ENDPOINT",
        "ALL_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "library" / "token"))


@pytest.fixture
def server() -> Iterator[FakeHub]:
    with fake_hub() as running:
        yield running


@pytest.fixture
def hub(server: FakeHub) -> Hub:
    return Hub(server.endpoint, lambda: TOKEN)
