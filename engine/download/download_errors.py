"""Why a file could not be fetched whole, as sentences that say what would help.

    DownloadError             engine.errors
    ├── DownloadStopped       it was told to stop; what was fetched is kept
    ├── AlreadyDownloading    another window or command writes the same partial file
    ├── RefusedByHub          terms, token, right or file are missing: `failure`, a HubFailure, says which
    ├── DiskFull              `missing_bytes` more are needed
    ├── CannotWrite           the disk or its permissions
    ├── WrongContent          what came twice is not what the Hub said it is
    ├── PartsMissing          the repository lacks parts of the model
    ├── UnsafeName            a name that this or another system cannot hold, or that would leave the folder
    └── NameTaken             another file has the final name

Faults that pass by themselves are none of these: they are waited out, see `engine.download.retry`. No
sentence holds a token, a header or a signed address.
"""

from __future__ import annotations

import math

from engine.download.space import RESERVE_IN_WORDS
from engine.errors import DownloadError
from engine.hub.hub_errors import HubFailure, Remedy
from engine.models.byte_reader import shown


class DownloadStopped(DownloadError):
    """Somebody asked for it."""

    def __init__(self) -> None:
        super().__init__("The download was stopped. What was fetched is kept.")


class AlreadyDownloading(DownloadError):
    """Two processes never write one partial file."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{shown(name)} is being downloaded by another window or command of Weir. Nothing was changed: "
            "wait for it, or stop it there."
        )


class RefusedByHub(DownloadError):
    """The Hub's own refusal, in its sentence. What was fetched before is kept."""

    def __init__(self, failure: HubFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What a person can do, the likeliest to help first."""
        return self.failure.remedies


class DiskFull(DownloadError):
    """Attribute: `missing_bytes`, what is needed beyond what is free."""

    def __init__(self, name: str, missing_bytes: int, *, has_kept: bool) -> None:
        super().__init__(
            f"The disk has too little space for {shown(name)}: {missing_in_words(missing_bytes)}. "
            f"{what_is_kept(has_kept)}: free some space, then try again."
        )
        self.missing_bytes = missing_bytes


class CannotWrite(DownloadError):
    """The system refused to write, for another reason than space."""

    def __init__(self, name: str, cause: str, *, has_kept: bool) -> None:
        super().__init__(
            f"{shown(name)} cannot be written ({cause}). {what_is_kept(has_kept)}: check the models folder, "
            "then try again."
        )


class WrongContent(DownloadError):
    """Twice in a row, so it is no accident of the way."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(
            f"{shown(name)} came twice with the wrong content ({cause}), and was not kept: look at the "
            "repository again, or try another network."
        )


class PartsMissing(DownloadError):
    """A model that could never be loaded is not begun."""

    def __init__(self, repo_id: str, missing: tuple[str, ...]) -> None:
        super().__init__(
            f"{shown(repo_id)} lacks {shown(missing[0])}, a part of this model. Nothing was fetched: choose "
            "another one."
        )


class UnsafeName(DownloadError):
    """The name is shown with what is odd in it made visible."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"The file name {shown(name)} {cause}. Nothing was fetched: choose another model.")


class NameTaken(DownloadError):
    """A file of the user's is never overwritten."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is another file named {shown(name)} in the models folder. Nothing was overwritten: move "
            "or delete it, then try again."
        )


def what_is_kept(has_kept: bool) -> str:
    """Whether anything is there to go on with, as the beginning of a sentence."""
    return "What was fetched is kept" if has_kept else "Nothing was fetched"


def missing_in_words(missing_bytes: int) -> str:
    """How much space is missing, by the rule of `engine.download.space`."""
    unit, divisor = ("GB", 1e9) if missing_bytes >= 1e9 else ("MB", 1e6)
    # Rounded up: who frees as much has enough.
    number = math.ceil(missing_bytes / divisor * 10) / 10
    return f"{number:,.1f} {unit} are missing ({RESERVE_IN_WORDS})"
