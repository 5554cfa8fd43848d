"""The tensor list of a GGUF file: names, shapes and places, never the weights.

As llama.cpp does, this takes nothing but tensors that lie one behind the other, each padded to the
file's alignment; so no tensor can overlap another or point far out of the file. What a tensor is for
is not known here.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from engine.models.byte_reader import ByteReader, shown
from engine.models.gguf_constants import gguf_constants

MAX_NAME_BYTES = 63  # GGML_MAX_NAME, which counts a closing NUL
MAX_DIMENSIONS = 4  # GGML_MAX_DIMS
MAX_DATA_BYTES = 2**44

_UINT32 = struct.Struct("<I")
_TYPE_AND_OFFSET = struct.Struct("<IQ")
_SHAPES = tuple(struct.Struct(f"<{n}Q") for n in range(MAX_DIMENSIONS + 1))


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: `shape` fastest axis first as in ggml, `offset` in bytes from where the data begins."""

    name: str
    shape: tuple[int, ...]
    ggml_type: str
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class _Quantization:
    """`block_bytes` bytes hold `block_length` weights of a row."""

    name: str
    block_length: int
    block_bytes: int


def padded(n_bytes: int, alignment: int) -> int:
    """`n_bytes` rounded up to a multiple of `alignment`."""
    return (n_bytes + alignment - 1) // alignment * alignment


def read_tensors(reader: ByteReader, n_tensors: int, alignment: int) -> tuple[TensorInfo, ...]:
    """Read what the header says about `n_tensors` tensors.

    Raises ModelFileError for a repeated name and for a shape, type or offset that cannot be.
    """
    tensors: dict[str, TensorInfo] = {}
    end = 0
    for _ in range(n_tensors):
        tensor = _read_tensor(reader)
        if tensor.name in tensors:
            raise reader.damaged(f"the tensor {shown(tensor.name)} is there twice")
        if tensor.offset != end:
            cause = f"the tensor {shown(tensor.name)} lies at byte {tensor.offset:,} instead of {end:,}"
            raise reader.damaged(cause)
        tensors[tensor.name] = tensor
        end = padded(end + tensor.n_bytes, alignment)
    return tuple(tensors.values())


def _read_tensor(reader: ByteReader) -> TensorInfo:
    name = reader.name("a tensor name", MAX_NAME_BYTES)
    (n_dimensions,) = reader.unpack(_UINT32)
    if n_dimensions > MAX_DIMENSIONS:
        raise reader.damaged(f"the tensor {shown(name)} has {n_dimensions:,} dimensions, more than 4")
    shape = reader.unpack(_SHAPES[n_dimensions])
    number, offset = reader.unpack(_TYPE_AND_OFFSET)
    quantization = _quantizations().get(number)
    if quantization is None:
        raise reader.damaged(f"the tensor {shown(name)} has the unknown type {number:,}")
    n_bytes = _n_bytes(reader, name, shape, quantization)
    return TensorInfo(name, shape, quantization.name, offset, n_bytes)


def _n_bytes(reader: ByteReader, name: str, shape: tuple[int, ...], quantization: _Quantization) -> int:
    row_length = shape[0] if shape else 1
    if 0 in shape:
        raise reader.damaged(f"the tensor {shown(name)} has a dimension of 0")
    if row_length % quantization.block_length:
        cause = f"a row of the tensor {shown(name)} has {row_length:,} weights, no multiple of a block"
        raise reader.damaged(cause)
    n_bytes = math.prod(shape) // quantization.block_length * quantization.block_bytes
    if n_bytes > MAX_DATA_BYTES:
        raise reader.damaged(f"the tensor {shown(name)} is larger than any real model")
    return n_bytes


@functools.cache
def _quantizations() -> Mapping[int, _Quantization]:
    """The tensor types by their number in the file."""
    known = {
        int(ggml_type): _Quantization(ggml_type.name, block_length, block_bytes)
        for ggml_type, (block_length, block_bytes) in gguf_constants().GGML_QUANT_SIZES.items()
    }
    # llama.cpp reads Q2_0, gguf 0.19 does not know it yet.
    return {42: _Quantization("Q2_0", 64, 18)} | known
