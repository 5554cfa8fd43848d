"""A server that falls silent, or never says a word: it is told, and ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.download.download_values import DownloadStatus
from engine.hub.hub_values import RemoteModel
from tests.engine.download.downloads import QUICK, Watched, content, offer
from tests.fake_hub.server import FakeHub

SIZE = 1_000_000


@pytest.fixture
def model(hub: FakeHub) -> RemoteModel:
    return offer(hub, {"model-Q4_K_M.gguf": SIZE})


def _assert_right(watched: Watched, model: RemoteModel) -> None:
    path = watched.run(model)
    assert path.read_bytes() == content(watched.hub, model)
    assert watched.states[-1].status is DownloadStatus.DONE
    assert watched.states[-1].path == path
    watched.assert_progress_is_sane()


def _ranges(hub: FakeHub) -> list[str | None]:
    """Of the requests for bytes."""
    return [seen.headers.get("Range") for seen in hub.seen if seen.port == hub.storage_port]


def test_a_stall_is_told_and_ended(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.stall_after, hub.faults.stall_times = 400_000, 1
    _assert_right(watched, model)
    assert DownloadStatus.STALLED in watched.statuses
    assert _ranges(hub) == [None, "bytes=400000-"]


def test_a_server_that_answers_nothing(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.stall_after, hub.faults.stall_times = 0, 2
    _assert_right(watched, model)
    assert DownloadStatus.STALLED in watched.statuses


def test_while_it_connects_again_it_does_not_read_as_downloading(
    hub: FakeHub, watched: Watched, model: RemoteModel
) -> None:
    hub.faults.stall_after, hub.faults.stall_times = 0, 2
    watched.patience = replace(QUICK, stalled_s=5.0, reconnect_s=0.5)
    _assert_right(watched, model)
    again = [state for state in watched.states if state.reason == "Connecting again."]
    assert again
    assert {state.status for state in again} == {DownloadStatus.STALLED}
    assert {(state.bytes_per_second, state.seconds_left) for state in again} == {(None, None)}
