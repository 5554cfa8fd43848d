"""The queue in a process of its own: the same wishes, and nothing lost when a process dies."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from engine.download import queue_client
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue_client import QueueClient
from engine.errors import KnownError
from engine.hub.file_address import FileAddress
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.downloads import QUICK, content
from tests.engine.download.loopback import LoopbackAccess
from tests.engine.download.queues import final_path, offer_several
from tests.fake_hub.server import FakeHub

STATUS = DownloadStatus
SIZE = 400_000
START_S = 30


class Client:
    """A client that is waited for."""

    def __init__(self, access: LoopbackAccess, folder: Path) -> None:
        self.access = access
        self.queue = QueueClient(access, folder, on_change=lambda: None, patience=QUICK)

    def state(self, model: RemoteModel) -> DownloadState | None:
        return next((state for state in self.queue.states() if state.id == model.id), None)

    def wait(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + START_S
        while not condition():
            assert time.monotonic() < end, self.queue.states()
            time.sleep(0.01)

    def wait_for(self, model: RemoteModel, status: DownloadStatus) -> DownloadState:
        self.wait(lambda: (state := self.state(model)) and state.status is status)
        state = self.state(model)
        assert state
        return state

    def wait_for_bytes(self, model: RemoteModel, n_bytes: int) -> None:
        self.wait(lambda: (state := self.state(model)) and state.done_bytes >= n_bytes)


@pytest.fixture
def client(hub: FakeHub, tmp_path: Path) -> Iterator[Client]:
    client = Client(LoopbackAccess(hub), tmp_path)
    yield client
    client.queue.close()


def test_nothing_is_started_while_there_is_nothing_to_download(client: Client) -> None:
    client.queue.set_parallel(3)
    client.queue.clear_finished()
    assert client.queue.states() == ()


def test_wishes_are_carried_out_in_the_other_process(hub: FakeHub, client: Client, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 1e6
    model, other = offer_several(hub, 2, SIZE)
    client.queue.add(model)
    client.queue.add(other)
    assert [state.id for state in client.queue.states()] == [model.id, other.id]
    client.wait_for_bytes(model, 50_000)
    client.queue.pause(model.id)
    client.wait_for(model, STATUS.PAUSED)
    client.queue.cancel(other.id)
    client.wait(lambda: client.state(other) is None)
    client.queue.resume(model.id)
    done = client.wait_for(model, STATUS.DONE)
    assert done.path == final_path(tmp_path, model)
    assert done.path.read_bytes() == content(hub, model)
    client.queue.clear_finished()
    client.wait(lambda: client.queue.states() == ())


def test_what_was_added_is_never_out_of_sight(hub: FakeHub, client: Client) -> None:
    models = offer_several(hub, 3, SIZE)
    for model in models:
        client.queue.add(model)
    seen = []
    while not all(state.status is STATUS.DONE for state in client.queue.states()):
        seen.append([state.id for state in client.queue.states()])
        time.sleep(0.005)
    assert all(ids == [model.id for model in models] for ids in seen)


def test_a_new_token_counts_at_once_and_is_stored_nowhere(
    hub: FakeHub, client: Client, tmp_path: Path
) -> None:
    (model,) = offer_several(hub, 1, SIZE)
    hub.repos[model.repo_id].gated = "auto"
    client.queue.add(model)
    failed = client.wait_for(model, STATUS.FAILED)
    assert (failed.remedies[0], failed.page) == (Remedy.ACCEPT_TERMS, f"{hub.endpoint}/{model.repo_id}")
    client.access.token = "hf_entered"
    client.queue.retry(model.id)
    client.wait_for(model, STATUS.DONE)
    assert all("hf_entered" not in path.read_text("latin-1") for path in tmp_path.rglob("*.json"))


def test_an_address_that_cannot_be_told_fails_that_download(
    hub: FakeHub, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_model: RemoteModel, _part: RemotePart) -> FileAddress:
        raise KnownError("The token cannot be sent there.")

    (model,) = offer_several(hub, 1, SIZE)
    monkeypatch.setattr(client.access, "address", refuse)
    client.queue.add(model)
    assert client.wait_for(model, STATUS.FAILED).reason == "The token cannot be sent there."


def test_the_process_gives_way_to_the_window(hub: FakeHub, client: Client) -> None:
    (model,) = offer_several(hub, 1, SIZE)
    client.queue.add(model)
    client.wait_for(model, STATUS.DONE)
    process = psutil.Process(client.queue._process.pid)
    assert process.nice() > psutil.Process().nice()


def test_another_process_goes_on_when_one_dies(hub: FakeHub, client: Client, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 1e6
    (model,) = offer_several(hub, 1, 1_500_000)
    client.queue.add(model)
    for n_bytes in (200_000, 500_000):
        client.wait_for_bytes(model, n_bytes)
        client.queue._process.kill()
    client.wait_for(model, STATUS.DONE)
    assert final_path(tmp_path, model).read_bytes() == content(hub, model)
    assert any("Range" in seen.headers for seen in hub.seen)


def test_a_process_that_dies_again_and_again_is_told(
    hub: FakeHub, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_client, "run_queue_worker", _die)
    (model,) = offer_several(hub, 1, SIZE)
    client.queue.add(model)
    failed = client.wait_for(model, STATUS.FAILED)
    assert failed.remedies == (Remedy.TRY_AGAIN,)
    monkeypatch.undo()
    client.queue.add(model)
    client.wait_for(model, STATUS.DONE)


def _die(*_arguments: object) -> None:
    sys.exit(1)


def test_closing_is_quick_and_the_next_one_goes_on(hub: FakeHub, client: Client, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 1e6
    (model,) = offer_several(hub, 1, SIZE)
    client.queue.add(model)
    client.wait_for_bytes(model, 50_000)
    process = psutil.Process(client.queue._process.pid)
    start = time.monotonic()
    client.queue.close()
    assert time.monotonic() - start < queue_client.CLOSE_S
    assert not process.is_running()
    again = Client(LoopbackAccess(hub), tmp_path)
    again.wait_for(model, STATUS.DONE)
    again.queue.close()


_PARENT = """
import sys, time
from pathlib import Path
from engine.download.queue_client import QueueClient
from tests.engine.download.loopback import Elsewhere, LoopbackAccess
if __name__ == "__main__":
    queue = QueueClient(LoopbackAccess(Elsewhere(sys.argv[1])), Path(sys.argv[2]), on_change=lambda: None)
    while queue._process is None:
        time.sleep(0.01)
    print(queue._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a signal")
def test_the_process_ends_with_its_parent(hub: FakeHub, client: Client, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 1e5
    (model,) = offer_several(hub, 1, SIZE)
    client.queue.add(model)
    client.wait_for_bytes(model, 10_000)
    client.queue.close()
    script = tmp_path / "parent.py"
    script.write_text(_PARENT)
    with subprocess.Popen(
        [sys.executable, str(script), hub.endpoint, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path.cwd())},
    ) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    psutil.wait_procs([child], timeout=10)
    assert not child.is_running()
