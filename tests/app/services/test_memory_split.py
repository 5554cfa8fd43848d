"""Who has the memory of each device: the arithmetic."""

from __future__ import annotations

import dataclasses

import psutil

from app.services.machine_memory import MachineMemory, machine_memory
from app.services.memory_split import DeviceSplit, Use, split_memory
from engine.memory.container_limits import ContainerLimits
from engine.protocol import DeviceBuffers, DeviceMemory, Gauges, ModelInfo
from tests.app.scripted_engine import model_info

MIB = 2**20
MACHINE = MachineMemory(16_000 * MIB, 11_000 * MIB)
CPU = DeviceMemory("CPU", "A processor", "cpu", None, None)
CARD = DeviceMemory("CUDA0", "RTX 4060", "gpu", 1200 * MIB, 8188 * MIB)
OTHER_CARD = DeviceMemory("CUDA1", "RTX 3090", "gpu", 20_000 * MIB, 24_576 * MIB)
SILENT = DeviceMemory("CUDA1", "Old card", "gpu", None, None)


def _gauges(*devices: DeviceMemory, rss: int = 400 * MIB, file: int | None = None) -> Gauges:
    return Gauges(None, None, None, 0, 8192, None, None, rss, devices, rss_file_bytes=file)


def _info(*buffers: DeviceBuffers, kv_bytes: int | None = 180 * MIB) -> ModelInfo:
    return dataclasses.replace(model_info("/models/m.gguf"), buffers=buffers, kv_bytes=kv_bytes)


def _mib(split: DeviceSplit) -> dict[Use, int]:
    return {part.use: part.n_bytes // MIB for part in split.parts}


def test_parts_of_the_machine_add_up_to_its_total() -> None:
    info = _info(DeviceBuffers("CPU", 93 * MIB, 180 * MIB, 36 * MIB))
    (host,) = split_memory(info, _gauges(CPU), MACHINE)
    assert _mib(host) == {
        Use.WEIGHTS: 93,
        Use.KV: 180,
        Use.COMPUTE: 36,
        Use.ENGINE: 91,
        Use.OTHERS: 4600,
        Use.FREE: 11_000,
    }
    assert sum(part.n_bytes for part in host.parts) == MACHINE.total
    assert host.n_missing == 0


def test_pages_of_the_model_file_that_count_as_available_are_the_engines() -> None:
    info = _info(DeviceBuffers("CPU", 4000 * MIB, 0, 0))
    (host,) = split_memory(info, _gauges(rss=4400 * MIB, file=4000 * MIB), MACHINE)
    # 5,000 are taken, 400 of them by the engine; its 4,000 of the file are among the available ones.
    assert _mib(host)[Use.OTHERS] == 4600
    assert _mib(host)[Use.FREE] == 7000
    assert sum(part.n_bytes for part in host.parts) == MACHINE.total


def test_pages_that_can_be_taken_back_are_told_apart_from_the_engine() -> None:
    info = _info(DeviceBuffers("CPU", 620 * MIB, 100 * MIB, 0, file_cache=580 * MIB))
    (host,) = split_memory(info, _gauges(rss=1400 * MIB, file=650 * MIB), MACHINE)
    assert (host.bytes_of(Use.FILE_CACHE), host.bytes_of(Use.ENGINE)) == (580 * MIB, 100 * MIB)
    assert sum(part.n_bytes for part in host.parts) == MACHINE.total
    (later,) = split_memory(info, _gauges(rss=800 * MIB, file=50 * MIB), MACHINE)
    assert later.bytes_of(Use.FILE_CACHE) == 80 * MIB, "the system took the rest"
    assert Use.FILE_CACHE not in _mib(split_memory(_info(), _gauges(CPU), MACHINE)[0])


def test_memory_that_is_allocated_and_not_touched_yet_is_not_free() -> None:
    info = _info(DeviceBuffers("CPU", 93 * MIB, 3000 * MIB, 36 * MIB))
    (host,) = split_memory(info, _gauges(rss=400 * MIB), MACHINE)
    assert host.bytes_of(Use.ENGINE) == 0
    assert host.bytes_of(Use.FREE) == MACHINE.total - (93 + 3000 + 36 + 4600) * MIB


def test_more_than_there_is_says_how_much() -> None:
    info = _info(DeviceBuffers("CPU", 20_000 * MIB, 0, 0))
    (host,) = split_memory(info, _gauges(rss=9000 * MIB, file=8600 * MIB), MACHINE)
    assert host.n_missing == 4000 * MIB
    assert host.bytes_of(Use.FREE) == 0


def test_parts_of_each_card_add_up_and_the_host_keeps_its_own() -> None:
    info = _info(
        DeviceBuffers("CUDA0", 4580 * MIB, 1024 * MIB, 301 * MIB),
        DeviceBuffers("CUDA1", 2000 * MIB, 500 * MIB, 100 * MIB),
        DeviceBuffers("CPU", 281 * MIB, 0, 17 * MIB),
    )
    first, second, host = split_memory(info, _gauges(CARD, OTHER_CARD, CPU), MACHINE)
    assert (first.name, second.name, host.name) == ("CUDA0", "CUDA1", "")
    assert first.bytes_of(Use.OTHERS) == (8188 - 1200 - 4580 - 1024 - 301) * MIB
    assert second.bytes_of(Use.OTHERS) == (24_576 - 20_000 - 2600) * MIB
    assert host.bytes_of(Use.WEIGHTS) == 281 * MIB
    for split in (first, second, host):
        assert sum(part.n_bytes for part in split.parts) == split.total


def test_driver_that_lags_behind_makes_no_negative_parts() -> None:
    late = dataclasses.replace(CARD, free=CARD.total)
    info = _info(DeviceBuffers("CUDA0", 4580 * MIB, 0, 0))
    card = split_memory(info, _gauges(late), MACHINE)[0]
    assert card.bytes_of(Use.OTHERS) == 0
    assert card.bytes_of(Use.FREE) == (8188 - 4580) * MIB


def test_card_without_a_total_shows_what_is_known() -> None:
    info = _info(DeviceBuffers("CUDA1", 4580 * MIB, 1024 * MIB, 301 * MIB))
    card, host = split_memory(info, _gauges(SILENT), MACHINE)
    assert card.total is None
    assert _mib(card) == {Use.WEIGHTS: 4580, Use.KV: 1024, Use.COMPUTE: 301}
    assert card.n_missing == 0
    assert host.bytes_of(Use.WEIGHTS) is None
    zero = dataclasses.replace(SILENT, free=0, total=0)
    assert split_memory(info, _gauges(zero), MACHINE)[0] == card


def test_use_that_llama_cpp_did_not_tell_is_not_guessed() -> None:
    card, host = split_memory(_info(), _gauges(CARD), MACHINE)
    assert _mib(card) == {Use.SOMEBODY: 6988, Use.FREE: 1200}
    assert _mib(host) == {Use.ENGINE: 400, Use.OTHERS: 4600, Use.FREE: 11_000}


def test_cache_is_known_without_buffers_where_there_is_no_card() -> None:
    (host,) = split_memory(_info(kv_bytes=180 * MIB), _gauges(CPU), MACHINE)
    assert _mib(host) == {Use.KV: 180, Use.ENGINE: 220, Use.OTHERS: 4600, Use.FREE: 11_000}


def test_library_for_arithmetic_is_no_device_with_memory() -> None:
    blas = DeviceMemory("BLAS", "OpenBLAS", "accel", None, None)
    assert [split.name for split in split_memory(None, _gauges(blas), MACHINE)] == [""]


def test_without_an_engine_there_are_other_programs_and_free_memory() -> None:
    (host,) = split_memory(None, None, MACHINE)
    assert _mib(host) == {Use.OTHERS: 5000, Use.FREE: 11_000}


def test_machine_has_no_more_memory_than_its_container() -> None:
    found = machine_memory(lambda: ContainerLimits(memory_total=1300 * MIB, memory_available=900 * MIB))
    assert found == MachineMemory(1300 * MIB, 900 * MIB)
    roomy = machine_memory(lambda: ContainerLimits(memory_total=2**60, memory_available=2**60))
    assert roomy.total == psutil.virtual_memory().total
    assert roomy.available <= roomy.total


def test_machine_memory_is_the_systems() -> None:
    memory = machine_memory(ContainerLimits)
    assert memory.total == psutil.virtual_memory().total
    assert 0 < memory.available <= memory.total
