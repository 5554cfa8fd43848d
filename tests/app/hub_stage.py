"""A Hub on loopback, and the services that ask it, on a machine of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import huggingface_hub.constants
import pytest

from app.data.catalogue import CatalogueModel, read_catalogue
from app.data.settings import Settings
from app.services.background import Background, Runner
from app.services.hub_access import HubAccess
from app.services.hub_repository import HubRepository
from app.services.hub_search import HubSearch
from app.services.hub_token import HubToken
from app.services.machine_plans import MachinePlans
from app.services.model_proposals import ModelProposals
from app.views.discover_page import DiscoverPage
from engine.hub.hub import Hub
from engine.hub.keyring_access import KeyringUnusable, SystemKeyring
from engine.hub.secret import Secret
from engine.hub.token_store import TokenStore
from tests.app.planned_machine import Bench
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import FakeHub, fake_hub
from tests.generated_models import write_model

SMALL = HubFile(b"x")
QUANTIZATIONS = ("Q2_K", "Q4_K_M", "Q8_0")


class NoKeyring(SystemKeyring):
    """A system without one."""

    def read(self) -> Secret | None:
        raise KeyringUnusable

    def save(self, secret: Secret) -> None:
        raise KeyringUnusable

    def delete(self) -> None:
        raise KeyringUnusable


class Nobody:
    """A loader without a model."""

    info = None
    present = None


@contextmanager
def hub_alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[FakeHub]:
    """A Hub on loopback, and an environment that names no other one, no proxy and no token."""
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
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(folder / "library" / "token"))
    with fake_hub() as running:
        yield running


def model_file(n_tokens: int = 64) -> HubFile:
    """A chat model whose weights are zeros. It has 200 MB, whose hash takes a while: share it."""
    with tempfile.TemporaryDirectory() as folder:
        return HubFile(write_model(Path(folder) / "m.gguf", n_tokens=n_tokens, n_merges=8).read_bytes())


def gguf_repo(repo_id: str, file: HubFile, files: Iterable[str] = (), **fields: Any) -> HubRepo:
    """A repository with one model in several quantizations, or with these files."""
    name = repo_id.rpartition("/")[2].removesuffix("-GGUF")
    names = tuple(files) or tuple(f"{name}-{quantization}.gguf" for quantization in QUANTIZATIONS)
    tags = fields.pop("tags", ["gguf", "license:apache-2.0"])
    return HubRepo(repo_id, dict.fromkeys(names, file), tags=tags, **fields)


class HubStage:
    """The services; `make_runner` is for tests that hold jobs back."""

    def __init__(
        self,
        server: FakeHub,
        folder: Path,
        make_runner: Callable[[str], Runner] = Background,
        read: Callable[[], Iterable[CatalogueModel]] = read_catalogue,
    ) -> None:
        self.bench = Bench(folder)
        self.tokens = TokenStore(folder, NoKeyring())
        self.access = HubAccess(lambda: Hub(server.endpoint, self.tokens.token))
        settings = SimpleNamespace(settings=Settings())
        plans = MachinePlans(
            self.bench.sources(),
            cast(Any, Nobody()),
            cast(Any, SimpleNamespace(newest=None)),
            cast(Any, settings),
        )
        self.search = HubSearch(self.access, make_runner)
        self.repository = HubRepository(self.access, plans, make_runner)
        self.token = HubToken(self.tokens, self.access, make_runner)
        self.proposals = ModelProposals(self.access, plans, read, make_runner)
        self.opened_urls: list[str] = []

    def page(self) -> DiscoverPage:
        """A page of these services."""
        return DiscoverPage(
            *(self.access, self.search, self.repository, self.token, self.proposals),
            open_url=self.opened_urls.append,
        )

    def close(self) -> None:
        for service in (self.search, self.repository, self.token, self.proposals):
            service.close()
