from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from engine.memory.nvidia import Card, CardReader, used_by_others
from tests.engine.memory.fake_nvml import MIB, FakeNVML, memory, process

RTX_4090 = {
    "Name": "NVIDIA GeForce RTX 4090",
    "MemoryInfo": memory(24564, 9000, 400),
    "ComputeRunningProcesses": [process(100, 8000), process(200, 300)],
    "GraphicsRunningProcesses": [process(200, 300), process(300, 500)],
    "MaxClockInfo": 10501,
    "MemoryBusWidth": 384,
    "UtilizationRates": SimpleNamespace(gpu=75, memory=40),
    "PowerUsage": 312_500,
    "Temperature": 66,
    "PerformanceState": 2,
    "CurrentClocksEventReasons": 0x24,
}


def read(nvml: object, seconds: float = 2.0) -> tuple[Card, ...] | None:
    return CardReader(lambda: nvml, seconds).read()


def test_what_a_card_says() -> None:
    nvml = FakeNVML(RTX_4090)
    cards = read(nvml)
    assert cards is not None
    (card,) = cards
    assert (card.name, card.total, card.used, card.free) == (
        "NVIDIA GeForce RTX 4090",
        24564 * MIB,
        9000 * MIB,
        15164 * MIB,
    )
    assert card.processes == {100: 8000 * MIB, 200: 300 * MIB, 300: 500 * MIB}
    assert card.peak_bandwidth == pytest.approx(1008e9, rel=0.001)  # as its data sheet says
    assert (card.utilization, card.power, card.temperature, card.performance_state) == (0.75, 312.5, 66, 2)
    assert card.throttled_by == ("power limit", "temperature")
    assert card.numa_node is None
    assert nvml.open == 0  # the driver was let go, so that the card may sleep


@pytest.mark.parametrize("nonsense", ["[N/A]", None, -1, True, 2**64 - 1, 0.5, b"\xff", object()])
def test_values_that_mean_nothing_are_none(nonsense: object) -> None:
    said: dict[str, Any] = dict.fromkeys(RTX_4090, nonsense)
    odd = SimpleNamespace(total=nonsense, used=nonsense, free=nonsense)
    cards = read(FakeNVML({**said, "Name": b"Tesla T4", "MemoryInfo": odd}))
    assert cards == (Card("Tesla T4"),)


def test_a_card_that_answers_nothing_is_there_all_the_same() -> None:
    assert read(FakeNVML({})) == (Card("NVIDIA"),)


def test_processes_of_unknown_size_and_without_a_number() -> None:
    lists = {"ComputeRunningProcesses": [process(7, None), process("[N/A]", 5), None]}
    cards = read(FakeNVML(lists))
    assert cards is not None and cards[0].processes == {7: None}


def test_an_older_driver_that_counts_memory_otherwise() -> None:
    class Older(FakeNVML):
        def nvmlDeviceGetMemoryInfo(self, card: object, version: int | None = None) -> object:
            if version is not None:
                raise RuntimeError("Function Not Found")
            return memory(8192, 100)

    cards = read(Older({}))
    assert cards is not None and cards[0].used == 100 * MIB


@pytest.mark.parametrize("failing", ["load", "nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_a_driver_that_is_missing_or_raises(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> Any:
        raise OSError("NVML Shared Library Not Found")

    nvml = FakeNVML(RTX_4090)
    if failing != "load":
        monkeypatch.setattr(nvml, failing, fail, raising=False)
    reader = CardReader(fail if failing == "load" else lambda: nvml)
    assert reader.read() is None
    assert nvml.open == 0


def test_without_a_driver_the_real_library_is_none_or_cards() -> None:
    cards = CardReader().read()
    assert cards is None or all(isinstance(card, Card) for card in cards)


def test_a_driver_that_hangs_costs_a_bound_once_and_one_thread() -> None:
    released = threading.Event()
    loads = []

    def hang() -> FakeNVML:
        loads.append(1)
        released.wait(20)
        return FakeNVML(RTX_4090)

    reader = CardReader(hang, seconds=0.1)
    try:
        start = time.monotonic()
        assert reader.read() is None
        assert 0.1 <= time.monotonic() - start < 1
        start = time.monotonic()
        assert [reader.read() for _ in range(20)] == [None] * 20
        assert time.monotonic() - start < 0.1
        assert len(loads) == 1
    finally:
        released.set()


def test_a_driver_that_hung_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.memory.nvidia._SECONDS_OF_PEACE", 0.2)
    released = threading.Event()
    waits = [released.wait, lambda _seconds: True]

    def load() -> FakeNVML:
        waits.pop(0)(20)
        return FakeNVML({"Name": "NVIDIA L4"})

    reader = CardReader(load, seconds=0.1)
    assert reader.read() is None
    released.set()
    deadline = time.monotonic() + 5
    while (cards := reader.read()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert cards == (Card("NVIDIA L4"),)


def test_many_threads_may_read() -> None:
    reader = CardReader(lambda: FakeNVML({"Name": "NVIDIA L4"}))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(reader.read())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(Card("NVIDIA L4"),)] * 8


OURS = frozenset({100, 101})


@pytest.mark.parametrize(
    ("used", "processes", "own_pids", "others"),
    [
        (9000, {100: 8000, 200: 300}, OURS, 1000),
        (9000, {100: 8000, 101: 500, 200: 300}, OURS, 500),
        (9000, {200: 300}, OURS, 9000),  # our worker computes elsewhere
        (9000, {}, frozenset[int](), 9000),
        (9000, None, frozenset[int](), 9000),
        (9000, {100: None}, OURS, None),  # Windows does not tell sizes
        (9000, {}, OURS, None),  # a container does not see the host's processes
        (9000, None, OURS, None),
        (7000, {100: 8000}, OURS, 0),  # read a moment later
        (None, {100: 8000}, OURS, None),
    ],
)
def test_what_others_hold(
    used: int | None, processes: dict[int, int | None] | None, own_pids: frozenset[int], others: int | None
) -> None:
    card = Card("NVIDIA L4", used=used, processes=processes)
    assert used_by_others((card,), card, own_pids) == others


def test_an_idle_card_beside_ours_is_known_to_be_the_others() -> None:
    ours, idle = Card("NVIDIA L4", used=900, processes={100: 800}), Card("NVIDIA L4", used=5, processes={})
    assert used_by_others((ours, idle), idle, OURS) == 5
