"""What the tests of downloads share: a way to the fake Hub, a watched download, models of random bytes."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.download.access import Patience
from engine.download.download_errors import DownloadStopped
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.model_download import download_model
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.loopback import HasEndpoint, LoopbackAccess
from tests.fake_hub.content import COMMIT, HubFile, HubRepo
from tests.fake_hub.server import FakeHub

QUICK = Patience(connect_s=2, stalled_s=0.3, reconnect_s=1.0, first_delay_s=0.02, longest_delay_s=0.1)


@dataclass
class Watched:
    """A download, and every state that it told."""

    hub: FakeHub
    folder: Path
    token: str | None = None
    access_to: HasEndpoint | None = None  # another way to the hub
    patience: Patience = QUICK
    stop: threading.Event = field(default_factory=threading.Event)
    states: list[DownloadState] = field(default_factory=list)

    def run(self, model: RemoteModel) -> Path:
        access = LoopbackAccess(self.access_to or self.hub, self.token)
        return download_model(
            access, model, self.folder, report=self.states.append, stop=self.stop, patience=self.patience
        )

    @property
    def statuses(self) -> set[DownloadStatus]:
        return {state.status for state in self.states}

    def assert_progress_is_sane(self) -> None:
        done = [state.done_bytes for state in self.states]
        assert done == sorted(done)
        assert all(state.done_bytes <= state.total_bytes for state in self.states)


def offer(hub: FakeHub, files: dict[str, int | bytes], repo_id: str = "org/repo") -> RemoteModel:
    """Put files of these sizes, or with these bytes, on the Hub, and return them as one model."""
    repo = hub.add(HubRepo(repo_id))
    for path, content in files.items():
        repo.files[path] = HubFile(content if isinstance(content, bytes) else os.urandom(content))
    parts = tuple(RemotePart(path, file.size, file.sha256) for path, file in repo.files.items())
    return RemoteModel(repo_id, COMMIT, parts)


def content(hub: FakeHub, model: RemoteModel, number: int = 0) -> bytes:
    """What a part should hold."""
    return hub.repos[model.repo_id].files[model.parts[number].path].body


def keep(folder: Path, hub: FakeHub, model: RemoteModel, n_bytes: int) -> None:
    """Have `n_bytes` of the model kept by a download that was stopped there."""
    cuts, hub.faults.cuts = hub.faults.cuts, [n_bytes]
    patience = Patience(first_delay_s=60, longest_delay_s=60)
    watched = Watched(hub, folder, patience=patience)
    watched.stop = _StopsWhenKept(folder, n_bytes)
    with pytest.raises(DownloadStopped):
        watched.run(model)
    hub.faults.cuts = cuts
    hub.seen.clear()


class _StopsWhenKept(threading.Event):
    """Set once the partial file has so many bytes."""

    def __init__(self, folder: Path, n_bytes: int) -> None:
        super().__init__()
        self._folder = folder
        self._n_bytes = n_bytes

    def is_set(self) -> bool:
        return sum(path.stat().st_size for path in self._folder.rglob("*.part")) >= self._n_bytes
