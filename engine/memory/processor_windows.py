"""The cores of a Windows machine: GetLogicalProcessorInformationEx.

https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getlogicalprocessorinformationex
Nothing goes in, two numbers come out, None where the system does not answer.
"""

from __future__ import annotations

import ctypes
import struct
import sys

_RELATION_PROCESSOR_CORE = 0
_MOST_BYTES = 2**22


def count_cores() -> tuple[int, int] | None:
    """Physical and performance cores."""
    classes = efficiency_classes(_core_records())
    return (len(classes), classes.count(max(classes))) if classes else None


def efficiency_classes(records: bytes) -> list[int]:
    """The class of each physical core; the fastest have the highest. `records` as Windows writes them.

    Each begins with its kind and its size (32 bits each); a core's goes on with a byte of flags and one of
    its class.
    """
    classes = []
    offset = 0
    while offset + 10 <= len(records):
        kind, size, _flags, efficiency = struct.unpack_from("<IIBB", records, offset)
        if size < 10:
            break
        if kind == _RELATION_PROCESSOR_CORE:
            classes.append(efficiency)
        offset += size
    return classes


def _core_records() -> bytes:
    if sys.platform == "win32":
        size = ctypes.c_ulong(0)
        ask = ctypes.windll.kernel32.GetLogicalProcessorInformationEx
        ask(_RELATION_PROCESSOR_CORE, None, ctypes.byref(size))
        if 0 < size.value <= _MOST_BYTES:
            buffer = ctypes.create_string_buffer(size.value)
            if ask(_RELATION_PROCESSOR_CORE, buffer, ctypes.byref(size)):
                return buffer.raw[: size.value]
    return b""
