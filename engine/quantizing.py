"""Quantizing a model: from the wish to a file that is whole, in a process that may be ended at any time.

`Quantize` goes in; `QuantizeProgress` comes out with each tensor, `QuantizeFinished` at the end. Promises:
nothing has the target's name before its header was read again and all its tensors are there; room is looked
for first; whatever goes wrong, nothing half is left, and a process that is killed leaves only what
`engine.models.unfinished_file` finds. Knows nothing about libraries.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from engine.download.space import RESERVE_IN_WORDS, missing_bytes
from engine.errors import BadRequest, ModelFileError, ModelLoadError
from engine.llama.quantize import quantize as quantize_by_llama
from engine.loading import count_threads, open_backend
from engine.memory.words import size
from engine.models.byte_reader import shown
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.model_facts import facts_of
from engine.models.model_parts import headers_of
from engine.models.quantized_model import quantized_header
from engine.models.unfinished_file import sweep, unfinished_path
from engine.protocol import Event, Quantize, QuantizeFinished, QuantizeProgress

_LEAST_FREE = 10_000_000  # a disk with less is what made writing fail
_TELL_EACH_S = 0.1


def quantize(command: Quantize, put: Callable[[Event], None]) -> None:
    """Carry out `command`.

    Raises ModelFileError for a source that cannot be quantized, BadRequest for a target that cannot be
    written, or has no room, and ModelLoadError where llama.cpp fails.
    """
    started = time.monotonic()
    source, target = Path(command.path), Path(command.target)
    n_threads = count_threads(command.n_threads)
    headers = headers_of(source)
    expected = quantized_header(headers, command.kind, target)
    _check_target(headers, target, overwrites=command.overwrites)
    sweep(target.parent)
    _check_room(expected.required_size, target)
    progress = _Progress(headers, put)
    unfinished = unfinished_path(target)
    try:
        with ExitStack() as resources:
            llama = open_backend(resources)
            progress.tell()
            n_fallback = quantize_by_llama(
                llama, source, unfinished, command.kind, n_threads, on_tensor=progress.begin
            )
        header = _checked(unfinished, expected)
        _put_in_place(unfinished, target, overwrites=command.overwrites)
    except ModelLoadError as error:
        raise _in_words(error, source, target) from error
    finally:
        unfinished.unlink(missing_ok=True)
    facts = facts_of((header,))
    put(
        QuantizeFinished(
            path=str(target),
            size_bytes=target.stat().st_size,
            seconds=time.monotonic() - started,
            quantization=facts.quantization,
            tensor_bytes=tuple(sorted(facts.tensor_bytes.items(), key=lambda item: -item[1])),
            n_fallback=n_fallback,
        )
    )


def give_way() -> None:
    """Let this process compute only where nobody else does: a reply must not become slower for it."""
    with suppress(psutil.Error, OSError):
        psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 10))  # the name is Windows'


class _Progress:
    """Counts through the tensors by the bytes that they have in the source."""

    def __init__(self, headers: Sequence[GGUFHeader], put: Callable[[Event], None]) -> None:
        self._sizes = {tensor.name: tensor.n_bytes for header in headers for tensor in header.tensors}
        self._put = put
        self._total = sum(self._sizes.values())
        self._n_begun = self._done = self._current = 0
        self._started = self._told = time.monotonic()

    def begin(self, name: str) -> None:
        """The tensor called `name` is next: all before it are written."""
        self._done += self._current
        self._current = self._sizes.get(name, 0)
        self._n_begun += 1
        if time.monotonic() - self._told >= _TELL_EACH_S:
            self.tell()

    def tell(self) -> None:
        """Say how far it is."""
        self._told = now = time.monotonic()
        share = self._done / self._total if self._total else 0.0
        left = (now - self._started) / share * (1 - share) if share else None
        n_done = max(0, self._n_begun - 1)
        self._put(QuantizeProgress(n_done, len(self._sizes), self._done, self._total, left))


def _check_target(headers: Sequence[GGUFHeader], target: Path, *, overwrites: bool) -> None:
    name = shown(target.name)
    if target.suffix != ".gguf":
        raise BadRequest(f"{name} is no name for a model: it has to end in .gguf. Nothing was written.")
    if not target.parent.is_dir():
        raise BadRequest(f"The folder {target.parent} does not exist. Nothing was written.")
    if target.is_dir():
        raise BadRequest(f"{name} is a folder. Nothing was written: choose another name.")
    if any(target.exists() and target.samefile(header.path) for header in headers):
        raise BadRequest(f"{name} is the model itself. It was not touched: choose another name.")
    if target.exists() and not overwrites:
        raise BadRequest(f"{name} is there already. It was not touched: delete it, or choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise BadRequest(f"The folder {target.parent} may not be written. Nothing was written.")


def _check_room(n_bytes: int, target: Path) -> None:
    try:
        missing = missing_bytes(n_bytes, target.parent)
    except OSError as error:
        raise BadRequest(
            f"The folder {target.parent} cannot be looked at ({error.strerror or error})."
        ) from error
    if missing > 0:
        raise BadRequest(
            f"{shown(target.name)} will have about {size(n_bytes)}, and {size(missing)} are missing there "
            f"({RESERVE_IN_WORDS}). Nothing was written: make room, or choose another disk."
        )


def _checked(path: Path, expected: GGUFHeader) -> GGUFHeader:
    """The header of the new file, which has all tensors. Raises ModelLoadError if it has not."""
    try:
        header = read_header(path)
    except ModelFileError as error:
        raise ModelLoadError("the new file is not whole") from error
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    if shapes != {tensor.name: tensor.shape for tensor in expected.tensors}:
        raise ModelLoadError("tensors are missing in the new file")
    return header


def _put_in_place(unfinished: Path, target: Path, *, overwrites: bool) -> None:
    """Raises ModelLoadError; the file that was there is there then."""
    try:
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists() and not overwrites:  # it has come meanwhile
            raise ModelLoadError(f"another {shown(target.name)} has been put there meanwhile")
        unfinished.replace(target)
    except OSError as error:
        raise ModelLoadError(f"the new file could not be put in place ({error.strerror or error})") from error


def _in_words(error: ModelLoadError, source: Path, target: Path) -> ModelLoadError:
    """The failure as a sentence: of a full disk llama.cpp says no more than that of any other."""
    start = f"{shown(source.name)} could not be quantized"
    if shutil.disk_usage(target.parent).free < _LEAST_FREE:
        return ModelLoadError(
            f"{start}: the disk is full. Nothing half is left, and the model is as it was: make room."
        )
    return ModelLoadError(
        f"{start}: {str(error).rstrip('.')}. Nothing half is left, and the model is as it was."
    )
