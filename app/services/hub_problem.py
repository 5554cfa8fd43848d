"""What the Hub refused or could not tell, as a value that a view can show with buttons.

Errors go in, `HubProblem`s come out. Knows nothing about who asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QCoreApplication

from engine.errors import KnownError
from engine.hub.hub_errors import HubFailure, Remedy

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class HubProblem:
    """`sentence` says what happened and what to do; `url` is the page that belongs to `ACCEPT_TERMS`."""

    sentence: str
    remedies: tuple[Remedy, ...] = ()
    url: str | None = None


def asked(question: Callable[[], Answer]) -> Answer | HubProblem:
    """The answer to `question`, or what went wrong."""
    try:
        return question()
    except KnownError as error:
        return problem_of(error)


def problem_of(error: KnownError) -> HubProblem:
    """The error as a value."""
    if isinstance(error, HubFailure):
        return HubProblem(str(error), error.remedies, error.url)
    return HubProblem(str(error))


def unexpected() -> HubProblem:
    """For a job that failed in a way that nobody foresaw."""
    sentence = QCoreApplication.translate(
        "HubProblem", "The Hub's answer could not be used. Nothing was changed: try again."
    )
    return HubProblem(sentence, (Remedy.TRY_AGAIN,))
