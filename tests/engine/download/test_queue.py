"""The queue: how many at once, in which order, what pausing and cancelling leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from engine.download.access import Patience
from engine.download.download_values import DownloadStatus
from engine.download.job import job_folder
from engine.download.space import RESERVE_BYTES
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.downloads import QUICK, content, offer
from tests.engine.download.queues import Desk, final_path, offer_several
from tests.engine.download.test_disk import Usage
from tests.fake_hub.server import FakeHub

STATUS = DownloadStatus
SIZE = 400_000


def test_all_are_fetched_and_shown_as_done_in_order(hub: FakeHub, desk: Desk) -> None:
    models = offer_several(hub, 5, SIZE)
    for model in models:
        desk.queue.add(model)
    desk.wait_for_all(models, STATUS.DONE)
    assert [state.id for state in desk.queue.states()] == [model.id for model in models]
    for model, state in zip(models, desk.queue.states(), strict=True):
        assert state.path == final_path(desk.folder, model)
        assert state.path.read_bytes() == content(hub, model)
    assert desk.fell == []


@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_no_more_than_the_wanted_number_run_at_once(
    hub: FakeHub, open_desk: Callable[..., Desk], parallel: int
) -> None:
    hub.faults.bytes_per_second = 1e6
    desk = open_desk(parallel=parallel)
    models = offer_several(hub, 5, SIZE)
    for model in models:
        desk.queue.add(model)
    desk.wait_for_all(models, STATUS.DONE)
    assert desk.most_running == parallel


def test_the_number_can_be_changed_while_they_run(hub: FakeHub, open_desk: Callable[..., Desk]) -> None:
    hub.faults.bytes_per_second = 5e5
    desk = open_desk(parallel=1)
    models = offer_several(hub, 4, SIZE)
    for model in models:
        desk.queue.add(model)
    desk.wait_for(models[0], STATUS.RUNNING)
    desk.queue.set_parallel(3)
    desk.wait(lambda: desk.most_running == 3)
    desk.queue.set_parallel(1)
    assert [desk.status(model) for model in models[1:]] == [STATUS.QUEUED] * 3
    desk.most_running = 0
    desk.wait_for(models[1], STATUS.RUNNING, STATUS.DONE)
    assert desk.status(models[0]) is STATUS.DONE
    assert desk.most_running == 1


def test_a_paused_one_goes_on_where_it_was(hub: FakeHub, desk: Desk) -> None:
    hub.faults.bytes_per_second = 5e5
    (model,) = offer_several(hub, 1, SIZE)
    desk.queue.add(model)
    desk.wait(lambda: (desk.state(model) or pytest.fail()).done_bytes > 100_000)
    desk.queue.pause(model.id)
    assert desk.status(model) is STATUS.PAUSED
    desk.wait(lambda: not desk.queue._board.runs)
    kept = (desk.state(model) or pytest.fail()).done_bytes
    assert kept >= 100_000
    time.sleep(0.2)
    assert desk.status(model) is STATUS.PAUSED
    hub.seen.clear()
    desk.queue.resume(model.id)
    desk.wait_for(model, STATUS.DONE)
    assert f"bytes={kept}-" in [seen.headers.get("Range") for seen in hub.seen]
    assert desk.fell == []


def test_a_cancelled_one_leaves_nothing(hub: FakeHub, desk: Desk) -> None:
    hub.faults.bytes_per_second = 5e5
    model, other = offer_several(hub, 2, SIZE)
    desk.queue.add(model)
    desk.queue.add(other)
    desk.wait(lambda: (desk.state(model) or pytest.fail()).done_bytes > 50_000)
    desk.queue.cancel(model.id)
    assert desk.status(model) is None
    desk.wait(lambda: not job_folder(model, desk.folder).exists())
    desk.wait_for(other, STATUS.DONE)
    assert not final_path(desk.folder, model).exists()


def test_one_that_was_cancelled_can_be_added_again_at_once(hub: FakeHub, desk: Desk) -> None:
    hub.faults.bytes_per_second = 1e6
    (model,) = offer_several(hub, 1, SIZE)
    desk.queue.add(model)
    desk.wait(lambda: (desk.state(model) or pytest.fail()).done_bytes > 50_000)
    for _ in range(3):
        desk.queue.cancel(model.id)
        desk.queue.add(model)
    desk.wait_for(model, STATUS.DONE)
    assert final_path(desk.folder, model).read_bytes() == content(hub, model)


def test_a_waiting_one_gives_its_slot_to_the_next(hub: FakeHub, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(parallel=1, patience=Patience(connect_s=2, first_delay_s=1, longest_delay_s=1))
    first, second = offer_several(hub, 2, SIZE)
    hub.faults.status, hub.faults.status_times = 503, 1
    desk.queue.add(first)
    assert desk.wait_for(first, STATUS.WAITING).reason
    desk.queue.add(second)
    desk.wait_for(second, STATUS.DONE)
    assert desk.status(first) is STATUS.WAITING
    desk.wait_for(first, STATUS.DONE)


def test_one_that_waited_does_not_go_on_beside_the_one_that_has_its_slot(
    hub: FakeHub, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(parallel=1, patience=Patience(connect_s=2, first_delay_s=0.4, longest_delay_s=0.4))
    first, second = offer_several(hub, 2, SIZE)
    hub.faults.status, hub.faults.status_times = 503, 1
    hub.faults.bytes_per_second = 3e5
    desk.queue.add(first)
    desk.wait_for(first, STATUS.WAITING)
    desk.queue.add(second)
    desk.wait_for(second, STATUS.RUNNING)
    desk.wait_for(first, STATUS.QUEUED)
    desk.wait_for_all([first, second], STATUS.DONE)
    assert desk.most_running == 1


def test_a_server_that_falls_silent_does_not_hold_a_slot_for_ever(
    hub: FakeHub, open_desk: Callable[..., Desk]
) -> None:
    desk = open_desk(parallel=1)
    first, second = offer_several(hub, 2, SIZE)
    hub.faults.stall_after, hub.faults.stall_times = 100_000, 2
    desk.queue.add(first)
    desk.wait_for(first, STATUS.STALLED)
    desk.queue.add(second)
    desk.wait_for_all([first, second], STATUS.DONE)


def test_a_refusal_says_what_helps(hub: FakeHub, desk: Desk) -> None:
    model, other = offer_several(hub, 2, SIZE)
    hub.repos[model.repo_id].gated = "auto"
    desk.queue.add(model)
    desk.queue.add(other)
    failed = desk.wait_for(model, STATUS.FAILED)
    assert failed.remedies[0] is Remedy.ACCEPT_TERMS
    assert failed.page == f"{hub.endpoint}/{model.repo_id}"
    assert failed.reason and "is gated" in failed.reason
    desk.wait_for(other, STATUS.DONE)
    hub.repos[model.repo_id].gated = False
    desk.queue.retry(model.id)
    desk.wait_for(model, STATUS.DONE)


def test_a_rejected_token_can_be_left_out(hub: FakeHub, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(token="hf_expired")
    hub.faults.refuses_tokens = True
    (model,) = offer_several(hub, 1, SIZE)
    desk.queue.add(model)
    assert Remedy.TRY_WITHOUT_TOKEN in desk.wait_for(model, STATUS.FAILED).remedies
    hub.seen.clear()
    desk.queue.retry(model.id, without_token=True)
    desk.wait_for(model, STATUS.DONE)
    assert all("Authorization" not in seen.headers for seen in hub.seen)


def test_a_fault_of_weirs_own_ends_one_download_and_no_more(
    hub: FakeHub, desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, other = offer_several(hub, 2, SIZE)
    address = desk.queue._runs._access.address

    def broken(asked: RemoteModel, part: RemotePart) -> object:
        if asked.id == model.id:
            raise ZeroDivisionError
        return address(asked, part)

    monkeypatch.setattr(desk.queue._runs._access, "address", broken)
    desk.queue.add(model)
    desk.queue.add(other)
    assert "ZeroDivisionError" in (desk.wait_for(model, STATUS.FAILED).reason or "")
    desk.wait_for(other, STATUS.DONE)
    assert "Traceback" in capsys.readouterr().err


def test_what_does_not_fit_beside_the_others_is_refused(
    hub: FakeHub, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = RESERVE_BYTES + 2 * SIZE + SIZE // 2
    monkeypatch.setattr("engine.download.space.shutil.disk_usage", lambda _folder: Usage(0, 0, free))
    hub.faults.bytes_per_second = 1000
    first, second, third = offer_several(hub, 3, SIZE)
    desk.queue.add(first)
    desk.queue.add(second)
    desk.queue.pause(second.id)  # it has not come yet, and will
    desk.queue.add(third)
    failed = desk.wait_for(third, STATUS.FAILED)
    assert failed.reason
    assert "beside the other downloads" in failed.reason
    assert "0.2 MB are missing (500 MB stay free for the system). Nothing was fetched" in failed.reason
    assert failed.done_bytes == 0
    assert all(third.repo_id not in seen.path for seen in hub.seen)
    desk.queue.cancel(second.id)
    desk.wait(lambda: not desk.queue._board.discards)
    desk.queue.retry(third.id)
    desk.wait_for(third, STATUS.RUNNING)


def test_a_name_that_leaves_the_folder_is_refused(hub: FakeHub, desk: Desk) -> None:
    model = RemoteModel("org/repo", "0" * 40, (RemotePart("../../evil.gguf", 10, None),))
    desk.queue.add(model)
    failed = desk.wait_for(model, STATUS.FAILED)
    assert failed.remedies == ()
    desk.queue.cancel(model.id)
    desk.wait(lambda: not desk.queue._board.discards)
    assert desk.queue.states() == ()


def test_parts_of_a_split_model_count_as_one(hub: FakeHub, desk: Desk) -> None:
    model = offer(hub, {"m-00001-of-00002.gguf": SIZE, "m-00002-of-00002.gguf": SIZE})
    desk.queue.add(model)
    state = desk.wait_for(model, STATUS.DONE)
    assert state.done_bytes == 2 * SIZE


def test_closing_ends_all_threads_within_a_second(hub: FakeHub, open_desk: Callable[..., Desk]) -> None:
    n_before = threading.active_count()
    hub.faults.stall_after = 1000
    desk = open_desk(parallel=3, patience=Patience(stalled_s=5))
    models = offer_several(hub, 4, SIZE)
    for model in models:
        desk.queue.add(model)
    desk.wait(lambda: len(desk.queue._board.runs) == 3)
    time.sleep(0.3)
    start = time.monotonic()
    desk.queue.close()
    assert time.monotonic() - start < 1.0
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("download")], (names, n_before)


def test_a_queue_that_cannot_be_stored_downloads_all_the_same(
    hub: FakeHub, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(desk.queue._keeper._file, "update", full)
    (model,) = offer_several(hub, 1, SIZE)
    desk.queue.add(model)
    desk.wait_for(model, STATUS.DONE)
    assert QUICK.first_delay_s < 1
