"""Is this file a chat model? Judged by what the file says about itself, never by its name.

A header goes in; nothing comes out if the file may be loaded, else a sentence with the reason. Refused
are the neighbours of chat models in a download folder (projectors, adapters, embedding models), models
with parts missing, and layer counts that make llama.cpp end the process. An architecture that is not
known here is left to llama.cpp to judge, and so is every other value: what cannot be known from the
header, the worker process finds out.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelFileError
from engine.models.byte_reader import refusal, shown
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.gguf_tensors import TensorInfo

MAX_LAYERS = 512  # LLAMA_MAX_LAYERS: above it llama.cpp aborts

_PROJECTOR = "is a projector, the image or sound part of another model, and cannot chat by itself"
_EMBEDDING = "is an embedding or reranking model, which compares texts and writes none"

_CAUSE_BY_TYPE = {
    "mmproj": _PROJECTOR,
    "adapter": "is a LoRA adapter, a small change to another model, and cannot chat by itself",
    "imatrix": "is an importance matrix, which helps to quantize models and cannot chat",
}
_CAUSE_BY_ARCHITECTURE = {
    "clip": _PROJECTOR,
    "controlvector": "is a control vector, a small change to another model, and cannot chat by itself",
    "gemma-embedding": _EMBEDDING,
    "llama-embed": _EMBEDDING,
    "t5encoder": _EMBEDDING,
}

_PART_NAME = re.compile(r"(?P<prefix>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)
_BLOCK_NAME = re.compile(r"blk\.(\d{1,9})\.")


def check_chat_model(header: GGUFHeader) -> None:
    """Judge the model whose first file has this `header`; reads the headers of its other parts, if any.

    Raises ModelFileError if it is no chat model, or if a part of it is missing or damaged.
    """
    # The parts come first: all but the first one name no architecture.
    others = [read_header(part) for part in part_paths(header)[1:]]
    _check_kind(header)
    tensors = [tensor for part in (header, *others) for tensor in part.tensors]
    if not tensors:
        raise refusal(header.path.name, "holds a vocabulary without a model's weights and cannot chat")
    _check_layers(header, tensors)


def part_paths(header: GGUFHeader) -> tuple[Path, ...]:
    """The files of a model, the first one first: one, or all the parts of a split model.

    Raises ModelFileError if `header` is not the first part's, or a part is missing.
    """
    n_parts = header.integer("split.count") or 1
    if n_parts <= 1:
        return (header.path,)
    number = (header.integer("split.no") or 0) + 1
    name = _PART_NAME.fullmatch(header.path.name)
    # llama.cpp finds the other parts by their names alone.
    if name is None or (int(name["number"]), int(name["count"])) != (number, n_parts):
        cause = f"is part {number} of a model in {n_parts} parts, but its name does not say so"
        advice = f"Give it back its name, which ends in -{number:05d}-of-{n_parts:05d}.gguf."
        raise refusal(header.path.name, cause, advice)
    if number != 1:
        first = _part_path(header, name["prefix"], 1, n_parts)
        advice = f"Choose the first part, {shown(first.name)}, instead."
        raise refusal(header.path.name, f"is part {number} of a model in {n_parts} parts", advice)
    return (header.path, *_other_parts(header, name["prefix"], n_parts))


def _other_parts(header: GGUFHeader, prefix: str, n_parts: int) -> list[Path]:
    """Parts 2 to `n_parts`; ends at the first one missing, so a false `n_parts` costs nothing."""
    paths = []
    for number in range(2, n_parts + 1):
        path = _part_path(header, prefix, number, n_parts)
        if not path.is_file():
            cause = f"is one of {n_parts} parts of a model, but its part {shown(path.name)} is missing"
            advice = "Nothing was loaded: download the missing part into the same folder."
            raise refusal(header.path.name, cause, advice)
        paths.append(path)
    return paths


def _part_path(header: GGUFHeader, prefix: str, number: int, n_parts: int) -> Path:
    return header.path.with_name(f"{prefix}-{number:05d}-of-{n_parts:05d}.gguf")


def _check_kind(header: GGUFHeader) -> None:
    architecture = header.text("general.architecture")
    if not architecture:
        raise refusal(header.path.name, "does not say which architecture it has, so it cannot be loaded")
    cause = _CAUSE_BY_TYPE.get(header.text("general.type") or "") or _CAUSE_BY_ARCHITECTURE.get(architecture)
    # Pooling turns a text into one vector: 0 is none, 1 to 3 embed, 4 ranks.
    if "bert" in architecture or header.integer(f"{architecture}.pooling_type"):
        cause = cause or _EMBEDDING
    if cause:
        raise refusal(header.path.name, cause)


def _check_layers(header: GGUFHeader, tensors: list[TensorInfo]) -> None:
    architecture = header.text("general.architecture")
    n_layers = header.integer(f"{architecture}.block_count")
    if n_layers is None:
        return
    # llama.cpp ends the whole process on such a count (ggml-org/llama.cpp#25821).
    if not 0 < n_layers <= MAX_LAYERS:
        raise _damaged(header, f"it claims {n_layers:,} layers, and 1 to {MAX_LAYERS} are possible")
    blocks = [int(block[1]) for tensor in tensors if (block := _BLOCK_NAME.match(tensor.name))]
    # Layers that predict further tokens are counted, but some files leave their weights out.
    n_optional = header.integer(f"{architecture}.nextn_predict_layers") or 0
    if blocks and n_layers > max(blocks) + 1 + n_optional:
        raise _damaged(header, f"it claims {n_layers} layers but holds {max(blocks) + 1}")


def _damaged(header: GGUFHeader, cause: str) -> ModelFileError:
    return refusal(header.path.name, f"is damaged: {cause}", "It was not loaded: download it again.")
