"""`weir doctor`: what Weir runs on, where its data lies, and what is missing.

In: the installed packages, the machine, and a short-lived engine process for what only llama.cpp
can say. Out: two columns for people or one JSON object, and an exit status: 1 if something that a
chat needs is missing. It promises that a missing piece is a line and never a traceback, and that
memory bandwidth is measured only when that is asked for. This process never loads llama.cpp.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeVar

from app.data.paths import bandwidth_path, data_dir
from app.display import display_problem
from engine.client import probe_backend
from engine.errors import KnownError
from engine.memory.bandwidth import BandwidthStore, with_bandwidth
from engine.memory.hardware import BandwidthSource, Device, Hardware, read_hardware
from engine.models.starter import starter_model_path
from engine.processor_speed import measure_processor
from engine.protocol import BackendReport
from engine.version import VERSION

_DISTRIBUTIONS = {
    "llama_cpp_python": "llama-cpp-python",
    "pyside6": "PySide6-Essentials",
    "jinja2": "jinja2",
    "gguf": "gguf",
}
_GIB = 2**30
_SOURCES = {
    BandwidthSource.MEASURED: "measured",
    BandwidthSource.DRIVER: "by its driver",
    BandwidthSource.PUBLISHED: "by its data sheet",
}
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found; None for a piece that is missing. Memory in bytes.

    `problems` are the sentences about what a chat cannot do without, and `display_problem` is why
    no window can be opened, None if one can.
    """

    weir: str
    python: str
    platform: str
    packages: dict[str, str | None]
    sqlite: str
    backend: BackendReport | None
    hardware: Hardware
    ram_free: int
    ram_total: int
    cpu_cores: int | None
    cpu_threads: int | None
    data_folder: str | None
    starter_model: str | None
    display_problem: str | None
    problems: tuple[str, ...]


def run_doctor(as_json: bool, measures: bool = False) -> int:
    """Print the report; 0, or 1 if something that a chat needs is missing.

    `measures`: the memory bandwidth is measured anew, which takes some seconds, and kept.
    """
    report = examine(measures=measures)
    if as_json:
        print(json.dumps(asdict(report), allow_nan=False))
    else:
        rows = list(_rows(report))
        width = max(len(name) for name, _ in rows)
        for name, text in rows:
            print(f"{name:<{width}}  {text}".rstrip())
    return 1 if report.problems else 0


def examine(probe: Callable[[], BackendReport] = probe_backend, measures: bool = False) -> DoctorReport:
    """Look at everything; `probe` asks a process of its own for what llama.cpp says."""
    problems: list[str] = []
    packages = {name: _version(distribution) for name, distribution in _DISTRIBUTIONS.items()}
    problems += [
        f"{_DISTRIBUTIONS[name]} is not installed; run `make run`."
        for name, version in packages.items()
        if version is None and name != "pyside6"
    ]
    starter = starter_model_path()
    if starter is None:
        problems.append("The starter model is not installed; run `make run`.")
    backend = _unless_known_error(probe, problems)
    hardware = read_hardware(() if backend is None else backend.devices)
    folder = _unless_known_error(data_dir, problems)
    hardware = _with_bandwidth(hardware, measures, can_keep=folder is not None)
    return DoctorReport(
        weir=VERSION,
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        packages=packages,
        sqlite=sqlite3.sqlite_version,
        backend=backend,
        hardware=hardware,
        ram_free=hardware.ram_available,
        ram_total=hardware.ram_total,
        cpu_cores=hardware.n_physical_cores,
        cpu_threads=os.cpu_count(),
        data_folder=None if folder is None else str(folder),
        starter_model=None if starter is None else str(starter),
        display_problem=display_problem(),
        problems=tuple(problems),
    )


def _with_bandwidth(hardware: Hardware, measures: bool, can_keep: bool) -> Hardware:
    bandwidth = measure_processor(hardware) if measures else None
    if can_keep:
        store = BandwidthStore(bandwidth_path())
        bandwidth = store.keep(hardware, bandwidth) if bandwidth else store.stored(hardware)
    return with_bandwidth(hardware, bandwidth)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _unless_known_error(look: Callable[[], Found], problems: list[str]) -> Found | None:
    try:
        return look()
    except KnownError as error:
        problems.append(str(error))
        return None


def _rows(report: DoctorReport) -> Iterator[tuple[str, str]]:
    yield "Weir", report.weir
    yield "Python", report.python
    yield "Platform", report.platform
    for name, version in report.packages.items():
        yield _DISTRIBUTIONS[name], version or "not installed"
    yield "SQLite", report.sqlite
    if report.backend is None:
        yield "llama.cpp", "does not start"
    else:
        yield "llama.cpp", report.backend.llama_cpp_version
        yield "built with", report.backend.system_info.strip()
    for device in report.hardware.devices:
        yield f"device {device.name}", _device(device)
    ram_free = report.ram_free if report.ram_total else None
    yield "RAM", f"{_gib(ram_free)} free of {_gib(report.ram_total or None)}"
    yield "Swap", _swap(report.hardware)
    yield "CPU", f"{_cores(report.hardware)}, {report.cpu_threads or '?'} threads"
    yield "Data folder", report.data_folder or "cannot be used"
    yield "Starter model", report.starter_model or "not installed"
    yield "Window", report.display_problem or "can be opened"
    for problem in report.problems:
        yield "MISSING", problem


def _device(device: Device) -> str:
    memory = f"{_gib(device.free)} free of {_gib(device.total)}"
    if device.shares_ram:
        memory += ", a part of the RAM"
    else:
        memory += f", {_gib(device.used_by_others)} used by others"
    return f"{device.description} ({device.kind}), {memory}, {_bandwidth(device)}"


def _bandwidth(device: Device) -> str:
    if device.bandwidth is None or device.bandwidth_source is None:
        return "bandwidth not measured yet (--bandwidth)" if device.kind == "cpu" else "bandwidth n/a"
    return f"{device.bandwidth / 1e9:,.1f} GB/s ({_SOURCES[device.bandwidth_source]})"


def _cores(hardware: Hardware) -> str:
    physical, performance = hardware.n_physical_cores, hardware.n_performance_cores
    cores = f"{physical} core{'' if physical == 1 else 's'}"
    return cores if performance == physical else f"{cores} ({performance} fast)"


def _swap(hardware: Hardware) -> str:
    if hardware.swap_total == 0:
        return "none"
    return f"{_gib(hardware.swap_used)} used of {_gib(hardware.swap_total)}"


def _gib(size: int | None) -> str:
    return "n/a" if size is None else f"{size / _GIB:.1f} GiB"
