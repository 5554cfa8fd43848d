"""Is this file a chat model? Judged by what the file says about itself, never by its name.

A header goes in; nothing comes out if the file may be loaded, else a sentence with the reason. Refused
are the neighbours of chat models in a download folder (projectors, adapters, embedding models), models
with parts missing, and layer counts that make llama.cpp end the process. An architecture that is not
known here is left to llama.cpp to judge, and so is every other value: what cannot be known from the
header, the worker process finds out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.errors import ModelFileError
from engine.models.byte_reader import refusal
from engine.models.gguf_header import GGUFHeader
from engine.models.gguf_tensors import TensorInfo
from engine.models.kind_facts import kind_of
from engine.models.metadata_facts import MAX_LAYERS
from engine.models.model_parts import read_parts

_BLOCK_NAME = re.compile(r"blk\.(\d{1,9})\.")


def check_chat_model(header: GGUFHeader) -> None:
    """Judge the model whose first file has this `header`; reads the headers of its other parts, if any.

    Raises ModelFileError if it is no chat model, or if a part of it is missing or damaged.
    """
    # The parts come first: all but the first one name no architecture.
    parts = read_parts(header)
    tensors = [tensor for part in parts for tensor in part.tensors]
    _, cause = kind_of(header, bool(tensors))
    if cause:
        raise refusal(header.path.name, cause)
    check_layers(header, tensors)


def check_layers(header: GGUFHeader, tensors: Iterable[TensorInfo]) -> None:
    """Raises ModelFileError for a count of layers that makes llama.cpp end the process.

    `tensors` are those of all parts.
    """
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
