"""What a queue finds when it is opened again, whatever ended the last one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.download.download_errors import DownloadStopped
from engine.download.download_values import DownloadStatus
from engine.download.names import DOWNLOADS_FOLDER
from engine.download.noted_download import noted_download
from engine.download.queue_entry import Failure
from engine.download.queue_file import QueueFile, StoredDownload
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.downloads import QUICK, content, keep, offer
from tests.engine.download.loopback import LoopbackAccess
from tests.engine.download.queues import Desk, final_path, offer_several
from tests.fake_hub.server import FakeHub

STATUS = DownloadStatus
SIZE = 400_000
PART = RemotePart("m.gguf", 10, "0" * 64)
TOKEN = "hf_secret"


def _wait_for_bytes(folder: Path, n_bytes: int) -> None:
    end = time.monotonic() + 20
    while sum(path.stat().st_size for path in folder.rglob("*.part")) < n_bytes:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a signal")
def test_a_killed_queue_of_three_goes_on(hub: FakeHub, tmp_path: Path) -> None:
    models = offer_several(hub, 4, 3_000_000)
    hub.faults.bytes_per_second = 1.5e6
    paused, running = models[3], models[:3]
    QueueFile(tmp_path).update([StoredDownload(model) for model in running])
    QueueFile(tmp_path).update([StoredDownload(paused, paused=True)])
    command = [sys.executable, "-m", "tests.engine.download.queues", hub.endpoint, str(tmp_path)]
    chance = random.Random(4)
    n_bytes = 0
    for _ in range(3):
        process = subprocess.Popen(command)
        n_bytes += chance.randrange(300_000, 1_500_000)
        _wait_for_bytes(tmp_path, n_bytes)
        process.kill()
        process.wait()
        assert list(tmp_path.rglob("*.gguf")) == []
    hub.faults.bytes_per_second = None
    hub.seen.clear()
    desk = Desk(hub, tmp_path)
    assert sum(state.done_bytes for state in desk.queue.states()) >= n_bytes
    desk.wait_for_all(running, STATUS.DONE)
    assert desk.status(paused) is STATUS.PAUSED
    for model in running:
        assert final_path(tmp_path, model).read_bytes() == content(hub, model)
    storage = [seen for seen in hub.seen if seen.port == hub.storage_port]
    assert [("Range" in seen.headers) for seen in storage] == [True] * 3
    desk.queue.close()


def test_closing_and_opening_keeps_wishes_reasons_and_order(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 2e5
    running, paused, gated, last = offer_several(hub, 4, SIZE)
    hub.repos[gated.repo_id].gated = "auto"
    desk = Desk(hub, tmp_path, parallel=2)
    for model in (gated, running, paused, last):
        desk.queue.add(model)
    desk.wait_for(gated, STATUS.FAILED)
    desk.wait(lambda: (desk.state(running) or pytest.fail()).done_bytes > 20_000)
    desk.queue.pause(paused.id)
    desk.queue.move(last.id, -3)
    desk.queue.close()
    before = {state.id: state.done_bytes for state in desk.queue.states()}
    again = Desk(hub, tmp_path, parallel=2)
    states = again.queue.states()
    assert [state.id for state in states] == [last.id, gated.id, running.id, paused.id]
    assert all(state.done_bytes >= before[state.id] for state in states)
    failed = again.state(gated)
    assert failed and failed.status is STATUS.FAILED
    assert (failed.remedies[0], failed.page) == (Remedy.ACCEPT_TERMS, f"{hub.endpoint}/{gated.repo_id}")
    hub.faults.bytes_per_second = None
    again.wait_for_all([running, last], STATUS.DONE)
    assert again.status(paused) is STATUS.PAUSED
    again.queue.close()
    assert [item.id for item in QueueFile(tmp_path).read() or ()] == [gated.id, paused.id]


def test_cancelling_just_before_the_end_leaves_nothing_to_find(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 2e5
    (model,) = offer_several(hub, 1, SIZE)
    desk = Desk(hub, tmp_path)
    desk.queue.add(model)
    desk.wait(lambda: (desk.state(model) or pytest.fail()).done_bytes > 20_000)
    desk.queue.cancel(model.id)
    desk.queue.close()
    assert Desk(hub, tmp_path).queue.states() == ()
    assert list((tmp_path / DOWNLOADS_FOLDER).rglob("*.part")) == []


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"format": 2, "downloads": []}', b"\xff\xfe"])
def test_a_queue_that_cannot_be_read_loses_no_bytes(hub: FakeHub, tmp_path: Path, broken: bytes) -> None:
    model, other = offer_several(hub, 2, SIZE)
    keep(tmp_path, hub, model, 150_000)
    path = tmp_path / DOWNLOADS_FOLDER / "queue.json"
    path.write_bytes(broken)
    desk = Desk(hub, tmp_path)
    state = desk.state(model)
    assert state and (state.status, state.done_bytes) == (STATUS.PAUSED, 150_000)
    desk.queue.add(other)
    desk.wait_for(other, STATUS.DONE)
    assert path.with_name("queue-unreadable.json").read_bytes() == broken
    desk.queue.resume(model.id)
    desk.wait_for(model, STATUS.DONE)
    assert final_path(tmp_path, model).read_bytes() == content(hub, model)
    desk.queue.close()


def test_split_models_without_an_entry_are_shown_once_all_their_parts_are_known(
    hub: FakeHub, tmp_path: Path
) -> None:
    files: dict[str, int | bytes] = {"m-00001-of-00002.gguf": 1000, "m-00002-of-00002.gguf": 1000}
    model = offer(hub, files)
    keep(tmp_path, hub, model, 500)  # of the first part, so that nothing tells of the second one
    desk = Desk(hub, tmp_path)
    assert desk.queue.states() == ()
    desk.queue.add(model)
    hub.seen.clear()
    desk.wait_for(model, STATUS.DONE)
    assert "bytes=500-" in [seen.headers.get("Range") for seen in hub.seen]
    desk.queue.close()


def test_damaged_entries_are_left_out_and_the_others_kept(tmp_path: Path) -> None:
    file = QueueFile(tmp_path)
    models = [RemoteModel(f"org/{number}", "rev", (PART,)) for number in range(2)]
    file.update([StoredDownload(model) for model in models])
    path = tmp_path / DOWNLOADS_FOLDER / "queue.json"
    stored = json.loads(path.read_text())
    for broken in (None, {}, {"model": 3}, {**stored["downloads"][0], "failure": {"reason": 1}}):
        path.write_text(json.dumps({**stored, "downloads": [broken, stored["downloads"][1]]}))
        assert file.read() == (StoredDownload(models[1]),)


_TEXT = st.text(max_size=20)
_MODELS = st.builds(
    RemoteModel,
    repo_id=_TEXT,
    revision=_TEXT,
    parts=st.lists(
        st.builds(RemotePart, _TEXT, st.integers(0, 2**60), st.none() | _TEXT), min_size=1, max_size=3
    ).map(tuple),
    quantization=st.none() | _TEXT,
    missing=st.lists(_TEXT, max_size=3).map(tuple),
)
_FAILURES = st.builds(Failure, _TEXT, st.lists(st.sampled_from(Remedy)).map(tuple), st.none() | _TEXT)


_ITEMS = st.builds(StoredDownload, _MODELS, st.booleans(), st.none() | _FAILURES, st.booleans())


@settings(max_examples=40)
@given(st.lists(_ITEMS, max_size=4, unique_by=lambda item: item.id))
def test_whatever_is_stored_is_read_again(items: list[StoredDownload]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = QueueFile(Path(folder))
        file.update(items, order=[item.id for item in items])
        assert file.read() == tuple(items)


def test_two_processes_keep_each_others_entries(tmp_path: Path) -> None:
    models = [RemoteModel("org/repo", "rev", (RemotePart(f"{n}.gguf", 10, None),)) for n in range(40)]

    def write(own: list[RemoteModel]) -> None:
        file = QueueFile(tmp_path)
        for model in own:
            file.update([StoredDownload(model)])

    threads = [threading.Thread(target=write, args=(models[start::2],)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {item.id for item in QueueFile(tmp_path).read() or ()} == {model.id for model in models}


def test_no_token_is_stored(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 2e5
    (model,) = offer_several(hub, 1, SIZE)
    desk = Desk(hub, tmp_path, token=TOKEN)
    desk.queue.add(model)
    desk.wait(lambda: (desk.state(model) or pytest.fail()).done_bytes > 20_000)
    desk.queue.close()
    stored = [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert stored
    assert all(TOKEN.encode() not in text for text in stored)


def test_a_download_of_the_terminal_is_followed_and_left_to_the_window(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.bytes_per_second = 3e5
    (model,) = offer_several(hub, 1, SIZE)
    desk = Desk(hub, tmp_path)
    stop, stopped = threading.Event(), threading.Event()

    def pull() -> None:
        with pytest.raises(DownloadStopped):
            noted_download(
                LoopbackAccess(hub), model, tmp_path, report=lambda _state: None, stop=stop, patience=QUICK
            )
        stopped.set()

    thread = threading.Thread(target=pull)
    thread.start()
    desk.wait_for(model, STATUS.ELSEWHERE)
    stop.set()
    assert stopped.wait(5)
    thread.join()
    desk.wait_for(model, STATUS.PAUSED)
    desk.queue.resume(model.id)
    desk.wait_for(model, STATUS.DONE)
    desk.queue.close()
    assert QueueFile(tmp_path).read() == ()
