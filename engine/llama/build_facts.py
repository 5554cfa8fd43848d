"""What llama.cpp was built from and for, in the words of its own benchmark.

Nothing goes in; a `BenchMachine` comes out. Knows nothing about models.
"""

from __future__ import annotations

import ctypes

from llama_cpp._ggml import libggml

from engine.llama import backend
from engine.protocol import BenchMachine

_reg_count = libggml.ggml_backend_reg_count
_reg_count.restype, _reg_count.argtypes = ctypes.c_size_t, ()
_reg_get = libggml.ggml_backend_reg_get
_reg_get.restype, _reg_get.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
_reg_name = libggml.ggml_backend_reg_name
_reg_name.restype, _reg_name.argtypes = ctypes.c_char_p, (ctypes.c_void_p,)
_commit = libggml.ggml_commit
_commit.restype, _commit.argtypes = ctypes.c_char_p, ()


def machine() -> BenchMachine:
    """This build and this machine; the commit is that of ggml, the only one that the libraries know.

    There is no number of the build in them: 0, as in `llama-bench` built without git.
    """
    devices = backend.devices()
    return BenchMachine(
        build_commit=_text(_commit()) or "unknown",
        build_number=0,
        cpu_info=", ".join(one.description for one in devices if one.kind in ("cpu", "accel")),
        gpu_info=", ".join(one.description for one in devices if one.kind in ("gpu", "igpu")),
        backends=",".join(name for name in _backends() if name != "CPU") or "CPU",
    )


def _backends() -> list[str]:
    return [_text(_reg_name(_reg_get(index))) for index in range(_reg_count())]


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")
