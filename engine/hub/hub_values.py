"""What the Hub says about repositories and their models.

Plain values: `engine.hub.hub` makes them, downloads and the window use them. All sizes in bytes. What the
Hub does not tell is None.
"""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass


class Sort(enum.StrEnum):
    """How found repositories are ordered, the largest or newest first."""

    DOWNLOADS = "downloads"
    LIKES = "likes"
    DATE = "date"


class Gating(enum.StrEnum):
    """Whether a repository's files need its owner's consent."""

    NONE = "none"
    AUTO = "auto"  # accepting the terms on its page suffices
    MANUAL = "manual"  # somebody has to let the user in


class WeightsFormat(enum.StrEnum):
    """What the weights of a repository are stored as; Weir loads GGUF only."""

    GGUF = "gguf"
    SAFETENSORS = "safetensors"
    AWQ = "awq"
    GPTQ = "gptq"
    EXL2 = "exl2"
    MLX = "mlx"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RepoSummary:
    """One repository as a search finds it; `downloads` are those of the last 30 days."""

    repo_id: str
    weights_format: WeightsFormat
    downloads: int | None = None
    likes: int | None = None
    last_modified: datetime.datetime | None = None
    license: str | None = None
    gating: Gating = Gating.NONE


@dataclass(frozen=True, slots=True)
class RemotePart:
    """One file of a repository; `path` is relative to the repository, with slashes.

    `sha256` is what its bytes must hash to; None for the small files that the Hub keeps without one.
    """

    path: str
    size: int
    sha256: str | None


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """One model of a repository: a file, or all the parts of a split one, the first one first.

    `revision` is a commit, so that what is fetched is what was looked at. `quantization` is read from the
    name, as in `Q4_K_M`. `missing`: names of parts that the repository lacks; it cannot be downloaded then.
    """

    repo_id: str
    revision: str
    parts: tuple[RemotePart, ...]
    quantization: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Names it whatever its revision, as in `org/repo/model-Q4_K_M.gguf`."""
        return f"{self.repo_id}/{self.parts[0].path}"

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class RepoDetails:
    """A repository at one commit, with its GGUF models by size. `based_on`: repositories it was made from."""

    summary: RepoSummary
    revision: str
    models: tuple[RemoteModel, ...]
    based_on: tuple[str, ...] = ()
