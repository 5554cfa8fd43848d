"""llama.cpp as a library: start-up, its log, the devices it can compute on.

What llama.cpp has to say about a failure, and the exact sizes of its buffers, it says only in its
log, so the log is caught here and kept for whoever asks. Knows nothing about models or contexts.
"""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import llama_cpp.llama_cpp as llama
from llama_cpp._ggml import libggml

from engine.protocol import BackendReport, DeviceMemory

_DEBUG, _ERROR, _CONTINUE = 1, 4, 5  # enum ggml_log_level in ggml.h; the binding's comment is older
_DEVICE_KINDS = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accel"}  # enum ggml_backend_dev_type


class Backend:
    """llama.cpp, initialised; one for each process. Close it after everything made with it.

    `log` holds the last lines that llama.cpp wrote, oldest first, without debug output; `errors`
    those of them that tell of a failure. Of debug output, what matches `details` is kept too.
    """

    def __init__(self, details: re.Pattern[str] | None = None) -> None:
        self.log = _log.lines
        _log.details = details
        self.errors = _log.errors
        llama.llama_log_set(_log.callback, ctypes.c_void_p(0))
        llama.llama_backend_init()

    @contextmanager
    def listening(self, listener: Callable[[str], None]) -> Iterator[None]:
        """While it holds, `listener` is told each line as it is logged, without debug output."""
        _log.listener = listener
        try:
            yield
        finally:
            _log.listener = None

    def close(self) -> None:
        """Free what llama.cpp holds for the process."""
        llama.llama_backend_free()


class _Log:
    """Catches llama.cpp's log. Lives as long as the process, since llama.cpp may log at any time."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=2000)
        self.errors: deque[str] = deque(maxlen=50)
        self.callback = llama.llama_log_callback(self._catch)
        self.details: re.Pattern[str] | None = None
        self.listener: Callable[[str], None] | None = None
        self._last_level = _DEBUG

    def _catch(self, level: int, text: bytes | None, _user_data: object) -> None:
        self._last_level = self._last_level if level == _CONTINUE else level
        if not text:
            return
        line = text.decode("utf-8", "replace").rstrip("\n")
        if self._last_level == _DEBUG and not (self.details and self.details.match(line)):
            return
        self.lines.append(line)
        if self._last_level == _ERROR:
            self.errors.append(line)
        if self.listener:
            self.listener(line)


_log = _Log()


def version() -> str:
    """The llama.cpp build that is linked."""
    return llama.llama_version().decode()  # type: ignore[no-any-return]


def system_info() -> str:
    """Compute backends and instruction sets that this build uses."""
    return llama.llama_print_system_info().decode().strip().rstrip("|").strip()  # type: ignore[no-any-return]


def report() -> BackendReport:
    """What llama.cpp says about this machine."""
    llama_cpp = Backend()  # what the drivers say meanwhile belongs into the log
    try:
        return BackendReport(version(), system_info(), devices())
    finally:
        llama_cpp.close()


def devices() -> tuple[DeviceMemory, ...]:
    """Every device that ggml can compute on, with its memory as the driver reports it now.

    ggml reports the CPU's free memory as its total, so the CPU's memory is left to psutil: None.
    """
    return tuple(_describe(_device_at(index)) for index in range(_device_count()))


def device_list(names: Sequence[str]) -> ctypes.Array[ctypes.c_void_p]:
    """The devices of these names for llama.cpp, which takes a list that its first NULL ends.

    Unknown names are left out. The list must live until the model is loaded.
    """
    known = {_name(device): device for device in map(_device_at, range(_device_count()))}
    found = [known[name] for name in names if name in known]
    return (ctypes.c_void_p * (len(found) + 1))(*found, None)


def _ggml(name: str, restype: object, *argtypes: object) -> ctypes._NamedFuncPointer:
    function = getattr(libggml, name)
    function.restype, function.argtypes = restype, argtypes
    return function  # type: ignore[no-any-return]


_device_count = _ggml("ggml_backend_dev_count", ctypes.c_size_t)
_device_at = _ggml("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
_device_name = _ggml("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
_device_description = _ggml("ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
_device_type = _ggml("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)
_size_p = ctypes.POINTER(ctypes.c_size_t)
_device_memory = _ggml("ggml_backend_dev_memory", None, ctypes.c_void_p, _size_p, _size_p)


def _name(device: int) -> str:
    return (_device_name(device) or b"").decode("utf-8", "replace")


def _describe(device: int) -> DeviceMemory:
    kind = _DEVICE_KINDS.get(_device_type(device), "accel")
    free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
    if kind != "cpu":
        _device_memory(device, ctypes.byref(free), ctypes.byref(total))
    known = total.value > 0
    return DeviceMemory(
        name=_name(device),
        description=(_device_description(device) or b"").decode("utf-8", "replace"),
        kind=kind,
        free=free.value if known else None,
        total=total.value if known else None,
    )
