"""The processor: its name, how many cores compute, how large its cache is.

Nothing goes in; a frozen value comes out. Promises: never raises, never waits; cores that this process
may not use (affinity, a container's quota) are not counted. Knows nothing about memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.memory import processor_linux, processor_windows
from engine.memory.container_limits import ContainerLimits


@dataclass(frozen=True, slots=True)
class Processor:
    """Cores that may be used. `last_level_cache` in bytes, None where the system does not say."""

    name: str
    n_physical_cores: int
    n_performance_cores: int
    last_level_cache: int | None


def read_processor(limits: ContainerLimits) -> Processor:
    """As the system describes it; `limits` are those of the container around this process."""
    physical, performance = _count_cores()
    most = physical if limits.n_cpus is None else max(1, int(limits.n_cpus))
    return Processor(_name(), min(physical, most), min(performance, most), _last_level_cache())


def _count_cores() -> tuple[int, int]:
    counted: tuple[int, int] | None = None
    if sys.platform == "win32":
        counted = processor_windows.count_cores()
    elif sys.platform == "darwin":
        counted = _apple_cores()
    elif sys.platform == "linux":
        counted = processor_linux.count_cores(Path("/sys"), os.sched_getaffinity(0))
    if counted is not None:
        return counted
    number = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return number, number


def _name() -> str:
    name: str | None = None
    if sys.platform == "linux":
        name = processor_linux.cpu_name(Path("/proc"))
    elif sys.platform == "darwin":
        name = (_sysctl("machdep.cpu.brand_string") or b"").rstrip(b"\0").decode("utf-8", "replace")
    elif sys.platform == "win32":
        name = _name_in_registry()
    return name or platform.processor() or platform.machine() or "CPU"


def _name_in_registry() -> str | None:
    if sys.platform == "win32":
        import winreg

        path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        with contextlib.suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
            return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
    return None


def _last_level_cache() -> int | None:
    size: int | None = None
    if sys.platform == "linux":
        size = processor_linux.last_level_cache(Path("/sys"))
    elif sys.platform == "darwin":
        size = _sysctl_number("hw.l3cachesize") or _sysctl_number("hw.perflevel0.l2cachesize")
    return size


def _apple_cores() -> tuple[int, int] | None:
    # perflevel0 are the performance cores of Apple silicon; Intel's have no levels.
    physical = _sysctl_number("hw.physicalcpu")
    if not physical:
        return None
    return physical, _sysctl_number("hw.perflevel0.physicalcpu") or physical


def _sysctl_number(name: str) -> int | None:
    value = _sysctl(name)
    return int.from_bytes(value, "little") if value and len(value) in (4, 8) else None


def _sysctl(name: str) -> bytes | None:
    """A value of the kernel of macOS, as it lies in memory."""
    buffer = ctypes.create_string_buffer(256)
    size = ctypes.c_size_t(len(buffer))
    try:
        failed = ctypes.CDLL(None).sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return None
    return None if failed else buffer.raw[: size.value]
