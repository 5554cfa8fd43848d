"""The list of the queue: what is taken off it, and in which order it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.download.download_values import DownloadStatus
from engine.download.queue_file import QueueFile
from engine.hub.hub_values import RemoteModel, RemotePart
from tests.engine.download.queues import Desk, final_path, offer_several
from tests.fake_hub.server import FakeHub

STATUS = DownloadStatus
SIZE = 400_000


def test_finished_ones_are_cleared_and_their_models_stay(hub: FakeHub, desk: Desk) -> None:
    model, other = offer_several(hub, 2, SIZE)
    desk.queue.add(model)
    desk.wait_for(model, STATUS.DONE)
    hub.faults.bytes_per_second = 1000
    desk.queue.add(other)
    desk.queue.clear_finished()
    assert [state.id for state in desk.queue.states()] == [other.id]
    assert final_path(desk.folder, model).exists()


def test_moving_up_changes_what_comes_next(hub: FakeHub, open_desk: Callable[..., Desk]) -> None:
    hub.faults.bytes_per_second = 1e6
    desk = open_desk(parallel=1)
    first, second, third = offer_several(hub, 3, SIZE)
    for model in (first, second, third):
        desk.queue.add(model)
    desk.queue.move(third.id, -1)
    assert [state.id for state in desk.queue.states()] == [first.id, third.id, second.id]
    desk.wait_for(third, STATUS.RUNNING)
    assert desk.status(second) is STATUS.QUEUED


def test_what_failed_with_nothing_fetched_is_cleared_too(hub: FakeHub, desk: Desk) -> None:
    bad = RemoteModel("org/repo", "0" * 40, (RemotePart("../../evil.gguf", 10, None),))
    begun, gated = offer_several(hub, 2, SIZE)
    hub.repos[gated.repo_id].gated = "auto"
    hub.faults.bytes_per_second = 3e5
    for model in (bad, begun, gated):
        desk.queue.add(model)
    desk.wait(lambda: (desk.state(begun) or pytest.fail()).done_bytes > 50_000)
    hub.repos[begun.repo_id].gated = "auto"
    desk.queue.pause(begun.id)
    desk.wait(lambda: not desk.queue._board.runs)
    desk.queue.resume(begun.id)
    desk.wait_for_all([bad, begun, gated], STATUS.FAILED)
    desk.queue.clear_finished()
    assert [state.id for state in desk.queue.states()] == [begun.id]
    desk.wait(lambda: [item.id for item in QueueFile(desk.folder).read() or ()] == [begun.id])
