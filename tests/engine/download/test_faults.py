"""What a server or the network may do to a transfer; the bytes are right in the end, or it is told."""

from __future__ import annotations

import os
import threading
import time

import pytest

from engine.download.access import Patience
from engine.download.download_errors import DownloadStopped, WrongContent
from engine.download.download_values import DownloadStatus
from engine.hub.hub_values import RemoteModel
from tests.engine.download.downloads import Watched, content, keep, offer
from tests.fake_hub.server import FakeHub

SIZE = 1_000_000
KEPT = 300_000


@pytest.fixture
def model(hub: FakeHub) -> RemoteModel:
    return offer(hub, {"model-Q4_K_M.gguf": SIZE})


@pytest.fixture
def kept(hub: FakeHub, watched: Watched, model: RemoteModel) -> Watched:
    """A download of which an earlier run has kept 300,000 bytes."""
    keep(watched.folder, hub, model, KEPT)
    return watched


def _assert_right(watched: Watched, model: RemoteModel) -> None:
    path = watched.run(model)
    assert path.read_bytes() == content(watched.hub, model)
    assert watched.states[-1].status is DownloadStatus.DONE
    assert watched.states[-1].path == path
    watched.assert_progress_is_sane()


def _ranges(hub: FakeHub) -> list[str | None]:
    """Of the requests for bytes."""
    return [seen.headers.get("Range") for seen in hub.seen if seen.port == hub.storage_port]


def test_a_whole_file(watched: Watched, model: RemoteModel) -> None:
    _assert_right(watched, model)


def test_a_kept_part_is_gone_on_with(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-"]
    assert hub.seen[-1].headers["If-Range"] == f'"{model.parts[0].sha256}"'
    assert kept.states[0].done_bytes >= KEPT


def test_range_is_ignored(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.ignores_range = True
    _assert_right(kept, model)


def test_range_is_ignored_and_the_file_cut_again_and_again(
    hub: FakeHub, kept: Watched, model: RemoteModel
) -> None:
    hub.faults.ignores_range = True
    hub.faults.cuts = [200_000, 500_000, 400_000]
    _assert_right(kept, model)


def test_206_starts_before_what_is_missing(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.starts_at = 262_144
    _assert_right(kept, model)


def test_206_starts_behind_what_is_missing(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.starts_at = 400_000
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-", None]


def test_416_although_bytes_are_missing(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.unsatisfiable = 1
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-", None]


def test_a_kept_part_that_is_whole_is_not_fetched_again(
    hub: FakeHub, watched: Watched, model: RemoteModel
) -> None:
    keep(watched.folder, hub, model, SIZE - 1)
    partial = next(watched.folder.rglob("*.part"))
    partial.write_bytes(content(hub, model))
    _assert_right(watched, model)
    assert hub.seen == []


def test_a_kept_part_that_is_too_long(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    partial = next(kept.folder.rglob("*.part"))
    partial.write_bytes(os.urandom(SIZE + 1))
    _assert_right(kept, model)


def test_a_kept_part_that_is_damaged_is_fetched_anew(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    partial = next(kept.folder.rglob("*.part"))
    partial.write_bytes(bytes(KEPT))
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-", None]


def test_changed_etag_starts_anew(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.etag = '"another"'
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-"]


def test_changed_etag_and_a_server_that_ignores_if_range(
    hub: FakeHub, kept: Watched, model: RemoteModel
) -> None:
    """What it sends is the rest of another file, as far as can be told."""
    hub.faults.etag, hub.faults.ignores_if_range = '"another"', True
    _assert_right(kept, model)
    assert _ranges(hub) == [f"bytes={KEPT}-", None]


def test_a_weak_etag_is_no_reason_to_start_anew(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.etag = 'W/"weak"'
    keep(watched.folder, hub, model, KEPT)
    _assert_right(watched, model)
    assert _ranges(hub) == [f"bytes={KEPT}-"]
    assert "If-Range" not in hub.seen[-1].headers


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
def test_connections_that_end_early(hub: FakeHub, watched: Watched, model: RemoteModel, resets: bool) -> None:
    hub.faults.cuts = [900_000, 0, 1, 50_000]
    hub.faults.resets = resets
    _assert_right(watched, model)


def test_neither_length_nor_ranges(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.no_length = True
    hub.faults.no_accept_ranges = True
    hub.faults.ignores_range = True
    hub.faults.cuts = [100_000]
    _assert_right(kept, model)


@pytest.mark.parametrize("status", [429, 503, 500, 408])
def test_the_hub_asks_to_wait(hub: FakeHub, watched: Watched, model: RemoteModel, status: int) -> None:
    hub.faults.status, hub.faults.status_times = status, 2
    _assert_right(watched, model)


def test_retry_after_is_honoured(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.status, hub.faults.status_times, hub.faults.retry_after = 429, 1, "1"
    start = time.monotonic()
    _assert_right(watched, model)
    assert time.monotonic() - start >= 1
    waiting = [state for state in watched.states if state.status is DownloadStatus.WAITING]
    assert waiting
    assert all(state.reason and state.retry_in_s is not None and state.retry_in_s <= 1 for state in waiting)


def test_an_expired_signed_address_is_resolved_again(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.expired_urls = 1
    _assert_right(kept, model)
    assert sum(seen.port == hub.port for seen in hub.seen) == 2


def test_the_storage_is_down_for_a_while(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.storage_status, hub.faults.storage_status_times = 503, 2
    _assert_right(kept, model)


def test_wrong_bytes_once(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.wrong_bytes = 1
    _assert_right(watched, model)


def test_wrong_bytes_twice_are_told_and_not_kept(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.wrong_bytes = 2
    with pytest.raises(WrongContent, match=r"model-Q4_K_M\.gguf came twice with the wrong content"):
        watched.run(model)
    assert list(watched.folder.rglob("*.gguf")) == []
    assert next(watched.folder.rglob("*.part")).stat().st_size == 0
    watched.assert_progress_is_sane()
    watched.states.clear()
    _assert_right(watched, model)


@pytest.mark.parametrize("size", [SIZE - 1, SIZE + 1], ids=["shorter", "longer"])
@pytest.mark.parametrize("no_length", [False, True], ids=["length", "chunked"])
def test_a_file_of_another_size_never_becomes_a_model(
    hub: FakeHub, watched: Watched, model: RemoteModel, size: int, no_length: bool
) -> None:
    repo = hub.repos[model.repo_id]
    body = content(hub, model)
    repo.files[model.parts[0].path] = type(repo.files[model.parts[0].path])((body + b"x")[:size])
    hub.faults.no_length = no_length
    if no_length and size < SIZE:  # cannot be told from a connection that ended early
        threading.Timer(0.5, watched.stop.set).start()
    with pytest.raises(DownloadStopped if no_length and size < SIZE else WrongContent):
        watched.run(model)
    assert list(watched.folder.rglob("*.gguf")) == []
    watched.assert_progress_is_sane()


def test_wrong_total_in_content_range(hub: FakeHub, kept: Watched, model: RemoteModel) -> None:
    hub.faults.total = SIZE + 5
    _assert_right(kept, model)


def test_nobody_listens_until_somebody_does(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    right, hub.port = hub.port, 1
    timer = threading.Timer(0.3, setattr, (hub, "port", right))
    timer.start()
    _assert_right(watched, model)
    assert DownloadStatus.WAITING in watched.statuses
    timer.join()


def test_stop_is_quick_while_bytes_come_and_what_came_is_kept(
    hub: FakeHub, watched: Watched, model: RemoteModel
) -> None:
    hub.faults.bytes_per_second = 500_000
    threading.Timer(0.4, watched.stop.set).start()
    start = time.monotonic()
    with pytest.raises(DownloadStopped):
        watched.run(model)
    assert time.monotonic() - start < 2
    n_kept = next(watched.folder.rglob("*.part")).stat().st_size
    assert 0 < n_kept < SIZE
    hub.seen.clear()
    hub.faults.bytes_per_second = None
    watched.stop.clear()
    watched.states.clear()
    _assert_right(watched, model)
    assert _ranges(hub) == [f"bytes={n_kept}-"]


@pytest.mark.parametrize("status", [None, 503], ids=["silence", "waiting"])
def test_stop_is_quick_while_nothing_comes(
    hub: FakeHub, watched: Watched, model: RemoteModel, status: int | None
) -> None:
    watched.patience = Patience()
    hub.faults.status, hub.faults.retry_after = status, "3600"
    hub.faults.stall_after = 0
    threading.Timer(0.3, watched.stop.set).start()
    start = time.monotonic()
    with pytest.raises(DownloadStopped):
        watched.run(model)
    assert time.monotonic() - start < 2


def test_the_check_of_what_was_kept_is_told_and_can_be_stopped(
    hub: FakeHub, kept: Watched, model: RemoteModel
) -> None:
    kept.stop.set()
    with pytest.raises(DownloadStopped):
        kept.run(model)
    assert hub.seen == []
    kept.stop.clear()
    kept.states.clear()
    _assert_right(kept, model)
    assert kept.states[0].status is DownloadStatus.CHECKING
    assert kept.states[0].done_bytes == KEPT


def test_states_come_at_most_ten_times_a_second(hub: FakeHub, watched: Watched, model: RemoteModel) -> None:
    hub.faults.bytes_per_second = 1_000_000
    start = time.monotonic()
    _assert_right(watched, model)
    assert len(watched.states) - 1 <= 10 * (time.monotonic() - start) + 1
    assert any(state.bytes_per_second and state.seconds_left for state in watched.states)
