"""The curated models: a small list that comes with Weir, read without asking anybody.

The file `assets/catalogue.json` goes in, `CatalogueModel`s come out, the least capable first. What is written
there was looked at when it was written: a repository may have changed its files since, so that a model is
looked up again, by `model_for`, before anything is downloaded. Knows nothing about this machine.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.data.json_file import read_object
from engine.errors import KnownError
from engine.hub.file_choice import choose
from engine.hub.hub_values import RemoteModel, RepoDetails
from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts, ModelKind

CATALOGUE_PATH = Path(__file__).parents[2] / "assets" / "catalogue.json"

_KV_NUMBER_BYTES = 2  # the sizes of caches are written for 16-bit numbers
_VERSION = 1


class Strength(enum.StrEnum):
    """What a model is good for."""

    FAST = "fast"  # few weights are read for each token
    EVERYDAY = "everyday"
    WRITING = "writing"
    LANGUAGES = "languages"
    REASONING = "reasoning"
    PROGRAMMING = "programming"
    LONG_CONTEXT = "long_context"
    OPEN = "open"  # data and training are published, too


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One file of a repository; `file` is a pattern of its name, `size` its bytes.

    `n_active_params`: of a mixture of experts, what one token uses. `kv_bytes_per_token`: of all layers, for
    16-bit numbers. `position`: a later one is more capable.
    """

    position: int
    name: str
    repo_id: str
    file: str
    size: int
    quantization: str
    license: str
    n_params: int
    n_active_params: int
    n_layers: int
    n_embd: int
    n_vocab: int
    kv_bytes_per_token: int
    n_ctx_train: int
    architecture: str
    good_at: tuple[Strength, ...]

    @property
    def id(self) -> str:
        """As `RemoteModel.id`, if the file is still called so."""
        return f"{self.repo_id}/{self.file}"

    @property
    def facts(self) -> ModelFacts:
        """What a plan needs to know of it, without its header: the layers are taken for equal."""
        values = self.kv_bytes_per_token // _KV_NUMBER_BYTES // self.n_layers // 2
        layer = LayerFacts(LayerKind.FULL, 1, values, values)
        return ModelFacts(
            name=self.name,
            architecture=self.architecture,
            kind=ModelKind.CHAT,
            n_params=self.n_params,
            n_active_params=self.n_active_params,
            weights_bytes=self.size,
            active_bytes=self.size * self.n_active_params // self.n_params,
            tensor_bytes={self.quantization: self.size},
            quantization=self.quantization,
            n_layers=self.n_layers,
            n_heads=None,
            n_embd=self.n_embd,
            n_vocab=self.n_vocab,
            n_ctx_train=self.n_ctx_train,
            layers=(layer,) * self.n_layers,
            sliding_window=None,
            rope_scaling=None,
            n_experts=None,
            n_experts_used=None,
            kv_lora_rank=None,
            tokenizer=None,
            has_chat_template=True,
            license=self.license,
            can_shift=True,
            reason=None,
            is_cache_exact=False,
            layer_bytes=(self.size // (self.n_layers + 1),) * self.n_layers,
            output_bytes=self.size // (self.n_layers + 1),
            inner_width=4 * self.n_embd,
        )


def read_catalogue(path: Path = CATALOGUE_PATH) -> tuple[CatalogueModel, ...]:
    """The models of the file. Raises KnownError for one that is missing or damaged."""
    try:
        stored = read_object(path)
        if stored["version"] != _VERSION:
            raise ValueError("another version")
        return tuple(_model(position, entry) for position, entry in enumerate(stored["models"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise KnownError(
            f"The list of proposed models cannot be read: {path}. Nothing was lost: search the Hub instead, "
            "or install Weir again."
        ) from error


def model_for(entry: CatalogueModel, details: RepoDetails) -> RemoteModel:
    """The model of the repository that `entry` means, whatever it is called by now.

    Raises BadRequest, with a list of what there is, if that cannot be told.
    """
    pattern = entry.file.lower()
    named = [model for model in details.models if fnmatchcase(_file_name(model).lower(), pattern)]
    return named[0] if len(named) == 1 else choose(details, entry.quantization)


def _file_name(model: RemoteModel) -> str:
    return model.parts[0].path.rpartition("/")[2]


def _model(position: int, entry: Mapping[str, Any]) -> CatalogueModel:
    strengths = tuple(Strength(name) for name in entry["good_at"])
    model = CatalogueModel(position=position, **{**entry, "good_at": strengths})
    if not 0 < model.n_active_params <= model.n_params or min(model.size, model.n_layers) <= 0:
        raise ValueError(f"{model.name} has impossible sizes")
    return model
