"""What a list of models shows of each one, and how it is kept as JSON between two scans.

A kept value stands for a file as long as the file's size and time are the same. One that was written by
another version of Weir, or by no Weir at all, is not taken back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from engine.models.model_facts import ModelKind
from engine.version import VERSION

_TYPES: dict[str, type | UnionType] = {
    "path": str,
    "size": int,
    "mtime_ns": int,
    "name": str,
    "kind": str,
    "architecture": str | None,
    "quantization": str | None,
    "n_params": int | None,
    "n_ctx_train": int | None,
    "reason": str | None,
}


@dataclass(frozen=True, slots=True)
class ScannedModel:
    """One model in a folder, or a file that claims to be one; None for what its header does not tell.

    `size`: bytes of all parts. `mtime_ns`: when the newest part was changed; 0 where the system refused
    to read it, so that it is tried again. `reason`: a sentence why it cannot be loaded or chat, or why its
    cache cannot shift; None where all is well.
    """

    path: Path
    size: int
    mtime_ns: int
    name: str
    kind: ModelKind
    architecture: str | None = None
    quantization: str | None = None
    n_params: int | None = None
    n_ctx_train: int | None = None
    reason: str | None = None

    @property
    def is_chat_model(self) -> bool:
        """Whether it can be chosen for a chat."""
        return self.kind in (ModelKind.CHAT, ModelKind.TEXT)


def to_json(model: ScannedModel) -> dict[str, str | int | None]:
    """`model` as a JSON object."""
    return {**dataclasses.asdict(model), "path": str(model.path), "kind": model.kind.value, "weir": VERSION}


def from_json(stored: object) -> ScannedModel | None:
    """The model that `to_json` turned into `stored`; None if this version of Weir did not write it."""
    if not isinstance(stored, Mapping) or stored.get("weir") != VERSION:
        return None
    values: dict[str, Any] = {key: stored.get(key) for key in _TYPES}
    if not all(isinstance(values[key], kinds) for key, kinds in _TYPES.items()):
        return None
    if values["kind"] not in tuple(ModelKind):
        return None
    return ScannedModel(**values | {"path": Path(values["path"]), "kind": ModelKind(values["kind"])})
