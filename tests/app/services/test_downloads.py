"""The downloads on the window's thread: seldom, all at once, and the end of each told once."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from app.services.downloads import LEAST_MS, Downloads, DownloadsSummary
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue import DownloadQueue
from tests.app.conftest import settle
from tests.app.download_stage import ScriptedQueue, downloads_of, remote, state
from tests.engine.download.downloads import QUICK, content, offer
from tests.engine.download.loopback import LoopbackAccess
from tests.fake_hub.server import fake_hub


@pytest.fixture
def queue() -> ScriptedQueue:
    return ScriptedQueue()


@pytest.fixture
def service(qtbot: QtBot, queue: ScriptedQueue) -> Iterator[Downloads]:
    service = downloads_of(queue)
    yield service
    service.close()


def test_states_come_on_this_thread_and_no_more_than_ten_a_second(
    qtbot: QtBot, service: Downloads, queue: ScriptedQueue
) -> None:
    arrivals: list[tuple[float, bool]] = []
    here = QThread.currentThread()
    service.changed.connect(
        lambda _states: arrivals.append((time.monotonic(), QThread.currentThread() is here))
    )

    def tell(name: str) -> None:
        for done in range(300):
            queue.show(state(name, done=done))
            time.sleep(0.002)

    threads = [threading.Thread(target=tell, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    qtbot.waitUntil(lambda: not any(thread.is_alive() for thread in threads), timeout=20_000)
    qtbot.wait(2 * LEAST_MS)
    assert all(is_here for _, is_here in arrivals)
    gaps = [after - before for (before, _), (after, _) in itertools.pairwise(arrivals)]
    assert len(gaps) >= 4
    assert min(gaps) > LEAST_MS / 1000 - 0.02
    assert service.states == queue.listed


def test_nothing_is_told_where_nothing_changed(
    qtbot: QtBot, service: Downloads, queue: ScriptedQueue
) -> None:
    queue.show(state())
    qtbot.waitUntil(lambda: bool(service.states))
    told: list[object] = []
    service.changed.connect(told.append)
    queue.show(state())
    qtbot.wait(2 * LEAST_MS)
    assert told == []


def test_each_end_is_told_once(qtbot: QtBot, service: Downloads, queue: ScriptedQueue) -> None:
    finished: list[Path] = []
    failed: list[DownloadState] = []
    service.finished.connect(finished.append)
    service.failed.connect(failed.append)
    queue.show(state("a"), state("b"))
    service.move("a", 0)
    bad = state("b", DownloadStatus.FAILED, reason="no")
    queue.show(state("a", DownloadStatus.DONE, path=Path("/m/a.gguf")), bad)
    service.move("a", 0)
    queue.show(state("a", DownloadStatus.DONE, path=Path("/m/a.gguf")), bad, state("c"))
    service.move("a", 0)
    assert (finished, failed) == ([Path("/m/a.gguf")], [bad])


def test_what_had_failed_before_the_start_is_no_news(qtbot: QtBot, queue: ScriptedQueue) -> None:
    queue.listed = (state("b", DownloadStatus.FAILED, reason="no"),)
    service = downloads_of(queue)
    failed: list[object] = []
    service.failed.connect(failed.append)
    queue.on_change()
    qtbot.wait(2 * LEAST_MS)
    assert (failed, service.summary) == ([], DownloadsSummary(0, 1, None))


def test_the_summary_is_of_those_on_their_way(service: Downloads, queue: ScriptedQueue) -> None:
    told: list[DownloadsSummary] = []
    service.summary_changed.connect(told.append)
    queue.show(
        state("a", done=2_000_000_000),
        state("b", DownloadStatus.QUEUED, 0),
        state("c", DownloadStatus.PAUSED),
        state("d", DownloadStatus.DONE),
        state("e", DownloadStatus.FAILED, 0),
    )
    service.move("a", 0)
    assert told == [DownloadsSummary(n_unfinished=3, n_failed=1, percent=22)]
    queue.show()
    service.move("a", 0)
    assert told[-1] == DownloadsSummary()


def test_wishes_reach_the_queue(service: Downloads, queue: ScriptedQueue) -> None:
    queue.show(
        *(state("a"), state("b", DownloadStatus.PAUSED), state("c", DownloadStatus.QUEUED, 0)),
        state("d", DownloadStatus.FAILED, reason="Its name is refused."),
    )
    service.add(remote("a"))
    a, b, c = (f"org/{name}-GGUF/{name}.gguf" for name in "abc")
    queue.asked.clear()
    service.retry_without_token(a)
    service.pause_all()
    service.resume_all()
    service.cancel(c)
    service.clear_finished()
    with_signal: list[int] = []
    service.parallel_changed.connect(with_signal.append)
    service.set_parallel(3)
    service.set_parallel(3)
    assert queue.asked == [
        *(("retry", a, True), ("pause", a), ("pause", c), ("resume", b)),
        *(("cancel", c), ("clear_finished",), ("set_parallel", 3)),
    ]
    assert (with_signal, service.parallel) == ([3], 3)


def test_what_goes_on_is_listed_first_and_moves_past_what_is_seen(
    service: Downloads, queue: ScriptedQueue
) -> None:
    dead = [state(name, DownloadStatus.FAILED, 0, reason="no") for name in "xy"]
    a, b, done = state("a"), state("b", DownloadStatus.PAUSED), state("d", DownloadStatus.DONE)
    queue.show(done, a, *dead, b)
    service.move("", 0)
    assert service.states == (a, b, *dead, done)
    queue.asked.clear()
    service.move(b.id, -1)
    service.move(a.id, 1)
    service.move(b.id, 1)
    assert queue.asked == [("move", b.id, -3), ("move", a.id, 3), ("move", b.id, 0)]


def test_nothing_is_told_after_closing(qtbot: QtBot, service: Downloads, queue: ScriptedQueue) -> None:
    told: list[object] = []
    service.changed.connect(told.append)
    queue.show(state())
    service.close()
    queue.show(state("b"))
    qtbot.wait(2 * LEAST_MS)
    assert told == []


def test_a_real_queue_downloads_a_model(qtbot: QtBot, tmp_path: Path) -> None:
    with fake_hub() as hub:
        model = offer(hub, {"m.gguf": 500_000})
        service = Downloads(
            lambda on_change: DownloadQueue(
                LoopbackAccess(hub), tmp_path, on_change=on_change, patience=QUICK
            )
        )
        with qtbot.waitSignal(service.finished, timeout=10_000) as ended:
            service.add(model)
        assert ended.args
        assert ended.args[0].read_bytes() == content(hub, model)
        service.close()
    settle()
