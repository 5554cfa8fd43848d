"""A model as it will be once it is quantized, told before it is: its header, and so its size and its facts.

The headers of the source's parts and a kind go in; out comes the header that the new file will have, with
the tensors that llama.cpp will write, or the reason why this is not to be done. `model_facts.facts_of` makes
facts of it as of any other. Knows nothing about where files are written.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType

from engine.errors import ModelFileError
from engine.models.byte_reader import refusal, shown
from engine.models.gguf_constants import gguf_constants
from engine.models.gguf_header import DEFAULT_ALIGNMENT, GGUFHeader
from engine.models.gguf_metadata import Value
from engine.models.gguf_tensors import TensorInfo, padded
from engine.models.model_facts import ModelFacts, facts_of
from engine.models.quantization_mix import MixFacts, allows_quantization, in_order, mixed_types, row_bytes
from engine.protocol import QuantKind

SOURCE_TYPES = frozenset({"F32", "F16", "BF16", "Q8_0"})
"""What can be quantized without losing quality twice, or nearly so."""

_SPLIT_KEYS = ("split.no", "split.count", "split.tensors.count")
_TYPE_IN_NAME = re.compile(r"(?<![A-Za-z0-9])(?:bf16|fp?16|fp?32|q8_0)(?![A-Za-z0-9_])", re.IGNORECASE)
_LONGEST_NAME = 200  # bytes: 255 is what file systems take, and a suffix comes behind it


def quantized_header(headers: Sequence[GGUFHeader], kind: QuantKind, path: Path) -> GGUFHeader:
    """The header of the file that llama.cpp will write to `path`; its size is right to some hundred bytes.

    Raises ModelFileError, with the reason, for what is not to be quantized, or not to this kind.
    """
    facts = facts_of(headers)
    _check_source(headers, facts)
    tensors = in_order([tensor for header in headers for tensor in header.tensors])
    types = mixed_types(tensors, _mix_facts(facts), kind)
    quantized = tuple(_laid_out(tensors, types))
    header = dataclasses.replace(
        headers[0],
        path=path,
        metadata=MappingProxyType(_metadata(headers[0], kind)),
        tensors=quantized,
        alignment=DEFAULT_ALIGNMENT,
        data_offset=headers[0].data_offset + sum(_entry_bytes(header) for header in headers[1:]),
        file_size=None,
    )
    if _total(quantized) >= _total(tensors):
        raise refusal(headers[0].path.name, f"would not become smaller as {kind}", "Nothing was written.")
    return header


def may_be_source(label: str | None) -> bool:
    """Whether smaller ones may be made of a model with this label; its header has the last word."""
    return label in SOURCE_TYPES


def quantized_name(name: str, kind: QuantKind) -> str:
    """The file name of the model called `name` as `kind`: its type is replaced, or else put behind it."""
    found = list(_TYPE_IN_NAME.finditer(name))
    if found:
        last = found[-1]
        stem = name[: last.start()] + kind + name[last.end() :]
    else:
        stem = f"{name}-{kind}"
    while len(stem.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        cut = len(stem) - len(kind) - 1
        stem = f"{stem[: cut - 1]}-{kind}"
    return f"{stem}.gguf"


def _check_source(headers: Sequence[GGUFHeader], facts: ModelFacts) -> None:
    name = headers[0].path.name
    if not facts.is_chat_model:
        raise ModelFileError(f"{facts.reason or shown(name)} Only chat models are quantized here.")
    matrices = [tensor for header in headers for tensor in header.tensors if allows_quantization(tensor)]
    others = {tensor.ggml_type for tensor in matrices} - SOURCE_TYPES
    if others:
        cause = f"is quantized already ({facts.quantization})"
        advice = "Doing it again would lose quality twice: take the model in F16, BF16, F32 or Q8_0."
        raise refusal(name, cause, advice)
    if not matrices:
        raise refusal(name, "holds nothing that could be quantized", "Nothing was written.")


def _mix_facts(facts: ModelFacts) -> MixFacts:
    n_kv_heads = facts.layers[0].n_kv_heads if facts.layers else 0
    n_gqa = (facts.n_heads or 0) // n_kv_heads if n_kv_heads else 0
    return MixFacts(facts.architecture, facts.n_layers, n_gqa, facts.n_experts or 0)


def _laid_out(tensors: Sequence[TensorInfo], types: Sequence[str]) -> list[TensorInfo]:
    """The tensors with these types, one behind the other."""
    sizes = [
        tensor.n_bytes if ggml_type == tensor.ggml_type else row_bytes(ggml_type, prod(tensor.shape))
        for tensor, ggml_type in zip(tensors, types, strict=True)
    ]
    offsets = itertools.accumulate((padded(size, DEFAULT_ALIGNMENT) for size in sizes), initial=0)
    return [
        TensorInfo(tensor.name, tensor.shape, ggml_type, offset, size)
        for tensor, ggml_type, offset, size in zip(tensors, types, offsets, sizes, strict=False)
    ]


def _metadata(header: GGUFHeader, kind: QuantKind) -> dict[str, Value]:
    kept = {key: value for key, value in header.metadata.items() if key not in _SPLIT_KEYS}
    return {**kept, "general.file_type": int(gguf_constants().LlamaFileType[f"MOSTLY_{kind}"])}


def _entry_bytes(header: GGUFHeader) -> int:
    """What the list of a part's tensors takes: a name, its length, dimensions, type and offset for each."""
    return sum(24 + len(tensor.name) + 8 * len(tensor.shape) for tensor in header.tensors)


def _total(tensors: Sequence[TensorInfo]) -> int:
    return sum(tensor.n_bytes for tensor in tensors)
