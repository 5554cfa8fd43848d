"""Two windows over one folder: each download is in one of them, and both show it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from engine.download.download_values import DownloadStatus
from engine.download.job import locked_job
from engine.download.names import DOWNLOADS_FOLDER
from tests.engine.download.queues import Desk, final_path, offer_several
from tests.fake_hub.server import FakeHub

OpenDesk = Callable[[], Desk]
STATUS = DownloadStatus
SIZE = 400_000


def test_another_window_downloads_and_this_one_follows(hub: FakeHub, open_desk: OpenDesk) -> None:
    hub.faults.bytes_per_second = 3e5
    (model,) = offer_several(hub, 1, SIZE)
    one, two = open_desk(), open_desk()
    one.queue.add(model)
    seen = two.wait_for(model, STATUS.ELSEWHERE)
    two.queue.cancel(model.id)  # not its business
    two.wait(lambda: (two.state(model) or pytest.fail()).done_bytes > seen.done_bytes)
    one.queue.pause(model.id)
    two.wait_for(model, STATUS.PAUSED)
    two.queue.resume(model.id)
    one.wait_for(model, STATUS.ELSEWHERE)
    two.wait_for(model, STATUS.DONE)
    assert one.wait_for(model, STATUS.DONE).path == final_path(one.folder, model)
    assert one.fell == two.fell == []


def test_what_another_window_leaves_is_gone_on_with(hub: FakeHub, open_desk: OpenDesk) -> None:
    (model,) = offer_several(hub, 1, SIZE)
    desk = open_desk()
    with locked_job(model, desk.folder):
        desk.queue.add(model)
        desk.wait_for(model, STATUS.ELSEWHERE)
        time.sleep(0.4)
        assert desk.status(model) is STATUS.ELSEWHERE
    desk.wait_for(model, STATUS.DONE)


def test_what_another_window_cancels_disappears(hub: FakeHub, open_desk: OpenDesk) -> None:
    hub.faults.bytes_per_second = 1e5
    (model,) = offer_several(hub, 1, SIZE)
    one, two = open_desk(), open_desk()
    one.queue.add(model)
    two.wait_for(model, STATUS.ELSEWHERE)
    one.queue.cancel(model.id)
    two.wait(lambda: two.status(model) is None)
    assert not list((two.folder / DOWNLOADS_FOLDER).glob("*/*.part"))
