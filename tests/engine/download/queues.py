"""What the tests of the queue share: a queue over a fake Hub that tells what it has seen; a process with one.

Run as a program it downloads what the queue of a folder holds until it is killed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.download.access import Patience
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue import DownloadQueue
from engine.hub.hub_values import RemoteModel
from tests.engine.download.downloads import QUICK, offer
from tests.engine.download.loopback import Elsewhere, HasEndpoint, LoopbackAccess
from tests.fake_hub.server import FakeHub

FOLLOW_S = 0.1


@dataclass
class Desk:
    """A queue and the most downloads that it was seen to run at once."""

    hub: HasEndpoint
    folder: Path
    token: str | None = None
    patience: Patience = QUICK
    parallel: int = 2
    most_running: int = 0
    done_bytes: dict[str, int] = field(default_factory=dict)
    fell: list[str] = field(default_factory=list)
    queue: DownloadQueue = field(init=False)

    def __post_init__(self) -> None:
        self._changed = threading.Event()
        self.queue = DownloadQueue(
            LoopbackAccess(self.hub, self.token),
            self.folder,
            on_change=self._changed.set,
            parallel=self.parallel,
            patience=self.patience,
            follow_s=FOLLOW_S,
        )

    def state(self, model: RemoteModel) -> DownloadState | None:
        return next((state for state in self.queue.states() if state.id == model.id), None)

    def status(self, model: RemoteModel) -> DownloadStatus | None:
        state = self.state(model)
        return state.status if state else None

    def wait(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, [
                (state.id, state.status, state.reason) for state in self.queue.states()
            ]
            self._changed.wait(0.02)
            self._changed.clear()
            self._look()

    def wait_for(self, model: RemoteModel, *statuses: DownloadStatus) -> DownloadState:
        self.wait(lambda: self.status(model) in statuses)
        state = self.state(model)
        assert state
        return state

    def wait_for_all(self, models: Sequence[RemoteModel], status: DownloadStatus) -> None:
        self.wait(lambda: all(self.status(model) is status for model in models))

    def _look(self) -> None:
        states = self.queue.states()
        running = [state for state in states if state.status is DownloadStatus.RUNNING]
        self.most_running = max(self.most_running, len(running))
        for state in states:
            assert 0 <= state.done_bytes <= state.total_bytes
            if state.done_bytes < self.done_bytes.get(state.id, 0):
                self.fell.append(state.id)
            self.done_bytes[state.id] = state.done_bytes


def offer_several(hub: FakeHub, n_models: int, size: int) -> list[RemoteModel]:
    """Models of `size` bytes in repositories of their own."""
    return [offer(hub, {"model.gguf": size}, f"org/repo-{number}") for number in range(n_models)]


def final_path(folder: Path, model: RemoteModel) -> Path:
    """Where the first part lies once all is done."""
    return folder.joinpath(*model.id.split("/"))


def main(endpoint: str, folder: str) -> None:
    """A process with a queue, until it is killed or nothing is left to do."""
    desk = Desk(Elsewhere(endpoint), Path(folder), parallel=3)
    settled = {DownloadStatus.DONE, DownloadStatus.PAUSED, DownloadStatus.FAILED}
    desk.wait(lambda: all(state.status in settled for state in desk.queue.states()), 60)
    desk.queue.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
