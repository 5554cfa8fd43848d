"""Cancelling what was begun: for a while it can be had back, and nothing is deleted before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.services.downloads import Downloads
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue import DownloadQueue
from tests.app.download_stage import ScriptedQueue, downloads_of, remote, state
from tests.engine.download.downloads import QUICK, content, offer
from tests.engine.download.loopback import LoopbackAccess
from tests.fake_hub.server import fake_hub

STATUS = DownloadStatus
A = "org/a-GGUF/a.gguf"


@pytest.fixture
def queue() -> ScriptedQueue:
    return ScriptedQueue()


@pytest.fixture
def service(qtbot: QtBot, queue: ScriptedQueue) -> Iterator[Downloads]:
    service = downloads_of(queue)
    yield service
    service.close()


def _show(service: Downloads, queue: ScriptedQueue, *states: DownloadState) -> None:
    queue.show(*states)
    service.move("", 0)
    queue.asked.clear()


def test_one_that_runs_is_only_stopped_and_goes_on_if_wanted_back(
    service: Downloads, queue: ScriptedQueue
) -> None:
    _show(service, queue, state("a"))
    service.cancel(A)
    assert (queue.asked, service.states[0].status) == ([("pause", A)], STATUS.CANCELLED)
    assert service.summary.n_unfinished == 0
    service.resume_all()
    service.pause_all()
    service.cancel(A)
    service.undo_cancel(A)
    assert queue.asked == [("pause", A), ("resume", A)]
    assert service.states == queue.listed


def test_one_that_had_failed_is_as_it_was_and_no_news(service: Downloads, queue: ScriptedQueue) -> None:
    _show(service, queue, state("a", STATUS.FAILED, reason="no"))
    failed: list[object] = []
    service.failed.connect(failed.append)
    service.cancel(A)
    service.undo_cancel(A)
    assert (service.states, failed) == (queue.listed, [])
    assert ("resume", A) not in queue.asked


def test_it_is_deleted_once_its_time_is_over(qtbot: QtBot, service: Downloads, queue: ScriptedQueue) -> None:
    service.cancelled.undo_s = 0.05
    _show(service, queue, state("a"), state("b"))
    service.cancel(A)
    qtbot.waitUntil(lambda: ("cancel", A) in queue.asked)
    queue.show(state("a", STATUS.PAUSED), state("b"))  # the queue has not got so far
    service.move("", 0)
    assert service.states[0].status is STATUS.CANCELLED
    _show(service, queue, state("b"))
    _show(service, queue, state("a"), state("b"))
    assert service.states == queue.listed  # it is another one by now


def test_it_is_deleted_when_the_window_closes(qtbot: QtBot, queue: ScriptedQueue) -> None:
    service = downloads_of(queue)
    _show(service, queue, state("a"))
    service.cancel(A)
    service.close()
    assert queue.asked == [("pause", A), ("cancel", A), ("close",)]


def test_adding_it_again_has_it_back(service: Downloads, queue: ScriptedQueue) -> None:
    _show(service, queue, state("a"))
    service.cancel(A)
    service.add(remote("a"))
    assert service.states == queue.listed
    service.close()
    assert ("cancel", A) not in queue.asked


def test_of_one_without_bytes_nothing_is_kept(service: Downloads, queue: ScriptedQueue) -> None:
    _show(service, queue, state("a", STATUS.QUEUED, 0))
    service.cancel(A)
    assert queue.asked == [("cancel", A)]


def test_one_that_was_done_before_it_could_be_stopped_stays(service: Downloads, queue: ScriptedQueue) -> None:
    _show(service, queue, state("a"))
    service.cancel(A)
    queue.show(state("a", STATUS.DONE, 4_500_000_000))
    service.move("", 0)
    assert service.states[0].status is STATUS.DONE
    service.close()
    assert ("cancel", A) not in queue.asked


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_real_queue_keeps_the_bytes_until_then(qtbot: QtBot, tmp_path: Path, is_wanted: bool) -> None:
    with fake_hub() as hub:
        hub.faults.bytes_per_second = 3e5
        model = offer(hub, {"m.gguf": 500_000})
        service = Downloads(
            lambda on_change: DownloadQueue(
                LoopbackAccess(hub), tmp_path, on_change=on_change, patience=QUICK
            )
        )
        service.add(model)
        qtbot.waitUntil(lambda: service.states[0].done_bytes > 50_000, timeout=10_000)
        service.cancel(model.id)
        qtbot.wait(300)
        kept = sum(path.stat().st_size for path in tmp_path.rglob("*.part"))
        assert kept > 50_000
        if is_wanted:
            hub.seen.clear()
            with qtbot.waitSignal(service.finished, timeout=10_000) as ended:
                service.undo_cancel(model.id)
            assert ended.args and ended.args[0].read_bytes() == content(hub, model)
            assert f"bytes={kept}-" in [seen.headers.get("Range") for seen in hub.seen]
        service.close()
        assert not list(tmp_path.rglob("*.part"))
