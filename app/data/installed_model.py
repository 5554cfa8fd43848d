"""One model of the library as it is shown: what its file holds, where it comes from, whether it fits here.

Frozen values, made by `app.services.library` and by the terminal's commands. Knows nothing about widgets.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from engine.memory.memory_plan import Verdict, said_n_ctx_train
from engine.models.known_folders import OTHER_PROGRAMS, ModelSource
from engine.models.scanned_model import ScannedModel

_READ_ONLY = OTHER_PROGRAMS | {ModelSource.STARTER, ModelSource.LINKED}
_NAMES_OF_NO_MODEL = ("model", "ggml-model")
_NO_LIMIT = 2**31 - 1  # the largest number of llama.cpp's: nobody has trained a model for it


class Verification(enum.StrEnum):
    """Whether the bytes are those that the repository has."""

    VERIFIED = "verified"  # their hash agreed, and the file was not changed since
    UNVERIFIED = "unverified"  # nobody has told Weir their hash
    MADE_HERE = "made_here"  # Weir has quantized them itself, and they were not changed since
    CHANGED = "changed"  # their hash agreed once, but the file is another one by now


@dataclass(frozen=True, slots=True)
class Provenance:
    """What is known of a file that Weir has downloaded, or made of the model called `quantized_from`."""

    repo_id: str
    verification: Verification
    quantized_from: str | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """What the plan says about a model here: `sentence` is its first reason, `predicted_tps` as there.

    `CANNOT_CHAT` stands for a model that llama.cpp refuses, whatever its header says.
    """

    verdict: Verdict
    sentence: str
    predicted_tps: float | None = None


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model in the library; `label` is the user's name for it, `fit` None while it is not counted.

    `subfolder`: the folders between it and its repository's folder, or the one that was searched.
    `quantized_from`: the name of the model that Weir has made it of.
    `real_path`: where it lies if only a link leads there, out of the folder that was searched.
    """

    scanned: ScannedModel
    source: ModelSource
    label: str | None = None
    repo_id: str | None = None
    verification: Verification = Verification.UNVERIFIED
    fit: Fit | None = None
    subfolder: str = ""
    real_path: Path | None = None
    quantized_from: str | None = None

    @property
    def path(self) -> Path:
        """Its first file."""
        return self.scanned.path

    @property
    def name(self) -> str:
        """What it is called: the user's label, or else as its file is named."""
        if self.label:
            return self.label
        # Jan calls each file model.gguf; the folder has the name.
        is_nameless = self.scanned.name in _NAMES_OF_NO_MODEL and self._has_own_folder
        return self.path.parent.name if is_nameless else self.scanned.name

    @property
    def place(self) -> str:
        """What tells it from another one of the same name: the repository and the folders that it lies in."""
        parts = (self.repo_id, self.subfolder)
        return "/".join(part for part in parts if part) or self.path.parent.name

    @property
    def n_ctx_train(self) -> int | None:
        """The tokens that it was trained for; None where its file says none, or what cannot be."""
        said = said_n_ctx_train(self.scanned.n_ctx_train)
        return None if said == _NO_LIMIT else said

    @property
    def can_be_chosen(self) -> bool:
        """Whether it can be loaded for a chat, as far as is known."""
        return self.scanned.is_chat_model and not self._is_refused

    @property
    def reason(self) -> str | None:
        """A sentence why it cannot be chosen, or about one that can; None where there is nothing to say."""
        return self.fit.sentence if self.fit and self._is_refused else self.scanned.reason

    @property
    def _is_refused(self) -> bool:
        """Whether llama.cpp was asked, and does not take it."""
        return self.fit is not None and self.fit.verdict is Verdict.CANNOT_CHAT

    @property
    def can_be_deleted(self) -> bool:
        """Whether its files are the user's: other programs' are read only, the starter comes with Weir."""
        return self.source not in _READ_ONLY

    @property
    def _has_own_folder(self) -> bool:
        """Whether its folder may be named after it: one that holds all models of Weir or Jan is not."""
        return bool(self.subfolder or self.repo_id) or self.source in (ModelSource.FOLDER, ModelSource.FILE)
