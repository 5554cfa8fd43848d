"""Speed of the last seconds, and progress that only grows."""

from __future__ import annotations

import pytest

from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.progress import Progress
from engine.download.speed import Speed
from engine.hub.hub_values import RemoteModel, RemotePart

MODEL = RemoteModel("org/repo", "main", (RemotePart("a", 1000, None), RemotePart("b", 500, None)))


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_speed_is_that_of_the_last_seconds() -> None:
    speed = Speed(0.0)
    assert speed.bytes_per_second(0.1) is None
    for tenth in range(1, 101):
        speed.add(100, tenth / 10)
    assert speed.bytes_per_second(10.0) == pytest.approx(1000)
    for tenth in range(101, 201):
        speed.add(10, tenth / 10)
    assert speed.bytes_per_second(20.0) == pytest.approx(100)
    assert speed.bytes_per_second(22.5) == pytest.approx(50, rel=0.05)
    assert speed.bytes_per_second(60.0) == 0


def test_many_small_pieces_cost_little_memory() -> None:
    speed = Speed(0.0)
    for number in range(100_000):
        speed.add(1, number / 10_000)
    assert len(speed._samples) <= 60
    assert speed.bytes_per_second(10.0) == pytest.approx(10_000, rel=0.01)


def test_progress_only_grows_and_never_passes_the_end() -> None:
    clock, states = Clock(), list[DownloadState]()
    progress = Progress(MODEL, states.append, clock)
    for done in (100, 900, 0, 300, 1000):
        clock.now += 1
        progress.arrived(0, 100, done)
    clock.now += 1
    progress.arrived(1, 100, 900)
    assert [state.done_bytes for state in states] == [100, 900, 900, 900, 1000, 1500]


def test_the_time_that_is_left_counts_what_has_to_come_again() -> None:
    clock, states = Clock(), list[DownloadState]()
    progress = Progress(MODEL, states.append, clock)
    for _ in range(5):
        clock.now += 1
        progress.arrived(0, 100, 500)
    assert states[-1].bytes_per_second == pytest.approx(100)
    assert states[-1].seconds_left == pytest.approx(10)
    clock.now += 1
    progress.arrived(0, 100, 0)
    assert states[-1].seconds_left == pytest.approx(15, rel=0.2)


def test_after_seconds_of_silence_there_is_no_speed_and_no_time_left() -> None:
    clock, states = Clock(), list[DownloadState]()
    progress = Progress(MODEL, states.append, clock)
    for number in range(1, 11):
        clock.now += 0.1
        progress.arrived(0, 10, 10 * number)
    assert states[-1].seconds_left == pytest.approx(14, rel=0.1)
    clock.now += 2
    progress.show(DownloadStatus.RUNNING)
    assert (states[-1].bytes_per_second, states[-1].seconds_left) == (None, None)


def test_ten_a_second_at_most_and_no_speed_while_nothing_comes() -> None:
    clock, states = Clock(), list[DownloadState]()
    progress = Progress(MODEL, states.append, clock)
    for number in range(1000):
        clock.now += 0.001
        progress.arrived(0, 1, number)
    assert len(states) == 10
    clock.now += 1
    progress.show(DownloadStatus.STALLED, reason="Nothing comes.")
    assert states[-1].bytes_per_second is None
    assert states[-1].reason == "Nothing comes."
