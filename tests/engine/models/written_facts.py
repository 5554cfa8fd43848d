"""Facts of files written for one test: an architecture, a few settings, hardly any weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from engine.models.model_facts import LayerKind, ModelFacts, read_facts
from tests import model_files
from tests.model_files import TokenizerField, TokenizerFields
from tests.synthetic_models import Network, Tensor

STRING, UINT32 = gguf.GGUFValueType.STRING, gguf.GGUFValueType.UINT32


def zeros(*shape: int) -> Tensor:
    return np.zeros(shape, np.float16)


def facts(
    folder: Path,
    architecture: str,
    settings: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Tensor] | None = None,
    **general: str | int,
) -> ModelFacts:
    """Those of a file with these `settings` under its architecture; in `general`, "__" stands for a dot."""
    fields = [
        TokenizerField(key.replace("__", "."), value, STRING if isinstance(value, str) else UINT32)
        for key, value in general.items()
    ]
    network = Network(architecture, settings or {}, tensors or {"output_norm.weight": zeros(8)})
    name = f"{architecture}.gguf"
    return read_facts(model_files.write_network(folder / name, network, TokenizerFields(tuple(fields))))


def blocks(n_layers: int, **settings: Any) -> dict[str, Any]:
    """Settings of a model with 2 heads of 32; "__" in a name stands for a dot."""
    plain = {"block_count": n_layers, "embedding_length": 64, "attention.head_count": 2}
    return plain | {name.replace("__", "."): value for name, value in settings.items()}


def kinds(found: ModelFacts) -> list[LayerKind]:
    return [layer.kind for layer in found.layers]
