"""Quantizing by llama.cpp itself: a file in, a smaller one out.

How far it is llama.cpp tells in its log alone, one line for each tensor. Promises to hold at most half a
gigabyte of tensors in memory at a time. Knows nothing about what may be quantized, nor about names of files.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

import llama_cpp.llama_cpp as llama

from engine.errors import ModelLoadError
from engine.llama.backend import Backend
from engine.llama.model import last_error
from engine.protocol import QuantKind

_TENSOR = re.compile(r"\[ *\d+/ *\d+\] (\S+)")
_FALLBACK = re.compile(r".*WARNING: (\d+) of \d+ tensor\(s\) required fallback")
_BUFFER_BYTES = 2**29  # llama.cpp would take eight gigabytes


def quantize(
    backend: Backend,
    source: Path,
    target: Path,
    kind: QuantKind,
    n_threads: int,
    *,
    on_tensor: Callable[[str], None],
) -> int:
    """Write `source` as `kind` to `target`; `on_tensor` is told the name of each tensor before its turn.

    Returns how many tensors got another type, since their rows do not fit the kind's blocks.

    Raises ModelLoadError with llama.cpp's reason; what is at `target` then is worth nothing. A broken file
    may end the process.
    """
    backend.errors.clear()
    params = llama.llama_model_quantize_default_params()
    params.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{kind}")
    params.nthread = n_threads
    params.allow_requantize = True  # which types may be is for the caller to judge
    params.max_buf_size = _BUFFER_BYTES
    n_fallback = 0

    def on_line(line: str) -> None:
        nonlocal n_fallback
        if tensor := _TENSOR.match(line):
            on_tensor(tensor[1])
        elif fallback := _FALLBACK.match(line):
            n_fallback = int(fallback[1])

    with backend.listening(on_line):
        failed = llama.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params))
    if failed:
        raise ModelLoadError(last_error(backend).partition("failed to quantize: ")[2] or last_error(backend))
    return n_fallback
