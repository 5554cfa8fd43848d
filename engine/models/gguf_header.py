"""A GGUF file's header: a path in, metadata and tensor list out, without the weights.

A hostile file gets a sentence, never a hang: every count, length and size is bounded before it is
used, and what llama.cpp would refuse is refused here with a clearer cause. Long arrays are passed over,
so that a vocabulary of any size costs milliseconds; `read_array` fetches one on demand.

The layout is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
This module does not know what makes a model a chat model, nor how the parts of a split model belong
together: that is `engine.models.model_file`.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from engine.errors import ModelFileError
from engine.models.byte_reader import ByteReader, refusal
from engine.models.gguf_metadata import ALIGNMENT_KEY, ArrayValue, Scalar, Value, read_items, read_metadata
from engine.models.gguf_tensors import TensorInfo, padded, read_tensors

MAX_ENTRIES = 8_192
MAX_TENSORS = 16_384  # llama.cpp takes 512 layers; no model has 32 tensors a layer
MAX_ALIGNMENT = 2**21  # the largest memory page in common use
DEFAULT_ALIGNMENT = 32

_MAGIC = b"GGUF"
_VERSION = struct.Struct("<I")
_COUNTS = struct.Struct("<QQ")
_START_BYTES = 512


@dataclass(frozen=True)
class GGUFHeader:
    """What a GGUF file says about itself; sizes and offsets in bytes.

    Metadata text that is not UTF-8 stays bytes. `data_offset` is where the weights begin. `file_size` is
    None for a remote file whose size nobody told.
    """

    path: Path
    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    file_size: int | None

    @property
    def required_size(self) -> int:
        """How long the file must be to hold its last tensor."""
        last = self.tensors[-1:]
        return self.data_offset + sum(tensor.offset + tensor.n_bytes for tensor in last)

    def text(self, key: str) -> str | None:
        """The text stored under `key`; None where it is missing or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """The integer stored under `key`; None where it is missing or something else."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def integers(self, key: str) -> tuple[int, ...] | None:
        """The short array of integers stored under `key`; None where it is missing or something else."""
        array = self.metadata.get(key)
        items = array.items if isinstance(array, ArrayValue) else None
        if items is None or not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            return None
        return tuple(int(item) for item in items)


def read_header(path: Path) -> GGUFHeader:
    """Read and check the header of `path`.

    Raises ModelFileError, naming the file and the cause, if it is missing, unreadable, not a GGUF
    file, damaged, or shorter than its own tensors need.
    """
    with _reader(path) as reader:
        return parse_header(path, reader)


def parse_header(path: Path, reader: ByteReader) -> GGUFHeader:
    """Read and check the header of `path` with a reader at its start.

    Raises ModelFileError; CutShort if bytes are missing.
    """
    header = _parse(path, reader)
    if reader.size is not None and reader.size < header.required_size:
        raise reader.cut_short(header.required_size, f"should have {header.required_size:,}")
    return header


def read_array(path: Path, array: ArrayValue) -> tuple[Scalar, ...]:
    """Read the items of an array that `read_header(path)` passed over.

    Raises ModelFileError where the file is no longer the one whose header was read.
    """
    with _reader(path) as reader:
        return tuple(read_items(reader, array))


@contextmanager
def _reader(path: Path) -> Iterator[ByteReader]:
    """A reader at the start of `path`; whatever the system objects to becomes a ModelFileError."""
    try:
        _check_is_file(path)
        with path.open("rb") as file:
            yield ByteReader(file, path.name, os.fstat(file.fileno()).st_size)
    except (FileNotFoundError, NotADirectoryError) as error:
        advice = "It may have been moved or deleted: choose another file."
        raise refusal(path.name, "is missing", advice) from error
    except PermissionError as error:
        advice = "Change the file's permissions, or choose another file."
        raise refusal(path.name, "may not be read by this user", advice) from error
    except OSError as error:
        raise refusal(path.name, f"cannot be read ({error.strerror or error})") from error


def _check_is_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL in the path
        raise refusal(path.name, "has a name that no file can have") from error
    if stat.S_ISDIR(mode):
        raise refusal(path.name, "is a folder, not a model file")
    # Opening a pipe would wait for ever for someone to write into it.
    if not stat.S_ISREG(mode):
        raise refusal(path.name, "is a device or a pipe, not a model file")


def _parse(path: Path, reader: ByteReader) -> GGUFHeader:
    version = _read_version(reader)
    n_tensors, n_entries = reader.unpack(_COUNTS)
    claims = (("tensors", n_tensors, MAX_TENSORS), ("metadata entries", n_entries, MAX_ENTRIES))
    for what, count, most in claims:
        if count > most:
            raise reader.damaged(f"it claims {count:,} {what}, more than any real model has")
    metadata = read_metadata(reader, n_entries)
    alignment = _alignment(reader, metadata)
    tensors = read_tensors(reader, n_tensors, alignment)
    # A file without tensors need not be padded.
    data_offset = padded(reader.position, alignment) if tensors else reader.position
    return GGUFHeader(path, version, MappingProxyType(metadata), tensors, alignment, data_offset, reader.size)


def _alignment(reader: ByteReader, metadata: Mapping[str, Value]) -> int:
    alignment = metadata.get(ALIGNMENT_KEY, DEFAULT_ALIGNMENT)
    assert isinstance(alignment, int)  # read_metadata's promise
    if not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise reader.damaged(f"its alignment of {alignment:,} bytes is no power of two up to 2 MiB")
    return alignment


def _read_version(reader: ByteReader) -> int:
    start = reader.peek(_START_BYTES)
    if not start.startswith(_MAGIC[: len(start)]) or reader.size == 0:
        raise _no_gguf(reader.file_name, start)
    reader.skip(len(_MAGIC))
    version = int(reader.unpack(_VERSION)[0])
    if version in (2, 3):
        return version
    if version and version % 2**16 == 0:
        cause = "is a GGUF file for big-endian machines, which this one is not"
    elif version == 1:
        cause = "is a GGUF file of version 1, which llama.cpp no longer reads"
    else:
        cause = f"is a GGUF file of the unknown version {version}"
    raise refusal(reader.file_name, cause, "It was not opened: download a current version of the model.")


def _no_gguf(name: str, start: bytes) -> ModelFileError:
    """The true cause, from what a failed download leaves behind (janhq/jan#5266)."""
    page = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        cause = "is empty"
    elif page.startswith((b"<!doctype html", b"<html")):
        cause = "is a web page (an error or sign-in page, perhaps), not a model"
    elif page.startswith(b"version https://git-lfs"):
        cause = "is a Git LFS pointer, a note in place of the model"
    elif not any(start):
        cause = "begins with zeros alone: its download was never finished"
    else:
        return refusal(name, "is not a GGUF model file")
    return refusal(name, cause, "It was not opened: download the model itself.")
