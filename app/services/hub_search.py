"""Searching the Hub while somebody types, and on while somebody scrolls.

Texts go in, pages of repositories come out, on this object's thread. Promises: typing never waits for the
network; nothing is asked before somebody searches, and nothing for a blank text; of several searches only
the newest is answered, the others are cancelled; a page is fetched when it is asked for, one at a time.
Knows nothing about widgets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.background import Background, Runner
from app.services.hub_access import HubAccess
from app.services.hub_problem import HubProblem, asked, unexpected
from app.services.hub_threads import HubThreads
from engine.hub.file_choice import searched_words
from engine.hub.hub import GGUF_ONLY
from engine.hub.hub_values import RepoSummary, Sort, WeightsFormat

DEBOUNCE_MS = 350
"""How long somebody must pause before the Hub is asked."""

PAGE = 100
ALL_FORMATS = frozenset(WeightsFormat) - {WeightsFormat.OTHER}


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for; with `versions_of`, a repository, its GGUF versions, and `text` is for people."""

    text: str
    sort: Sort = Sort.DOWNLOADS
    formats: frozenset[WeightsFormat] = GGUF_ONLY
    versions_of: str | None = None


@dataclass(frozen=True, slots=True)
class FoundPage:
    """One page of what was found. `is_first`: it takes the place of all before. `has_more`: it may go on."""

    question: Question
    repos: tuple[RepoSummary, ...]
    is_first: bool
    has_more: bool


@dataclass(slots=True)
class _Asked:
    """One search; `found` is made by the first job, and touched by one job at a time."""

    question: Question
    cancel: threading.Event = field(default_factory=threading.Event)
    found: Iterator[RepoSummary] | None = None
    is_running: bool = False
    n_pages: int = 0
    has_more: bool = True


class HubSearch(QObject):
    """Owns the newest search."""

    started = Signal(object)
    """The Hub is being asked this `Question`, from its first page on."""

    found = Signal(object)
    """A `FoundPage` of the newest search."""

    failed = Signal(object, bool)
    """A `HubProblem` of the newest search, and whether nothing of it was found yet."""

    ended = Signal()
    """Nothing is searched for any more: the text is blank."""

    def __init__(
        self,
        access: HubAccess,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._access = access
        self._threads = HubThreads("hub-search", make_runner)
        self._asked: _Asked | None = None
        self._question = Question("")
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(DEBOUNCE_MS)
        self._pause.timeout.connect(self._begin)

    @property
    def question(self) -> Question:
        """What was asked for last."""
        return self._question

    def find(self, text: str, sort: Sort, formats: frozenset[WeightsFormat] = GGUF_ONLY) -> None:
        """Search as soon as nothing else is asked for; a blank text ends the search."""
        self._set(Question(text.strip(), sort, formats))
        if self._question.text:
            self._pause.start()
        else:
            self.ended.emit()

    def find_versions(self, repo_id: str) -> None:
        """Search for repositories that hold the model of `repo_id` as GGUF."""
        self._set(Question(repo_id, versions_of=repo_id))
        self._begin()

    def again(self) -> None:
        """Ask the same once more, from the first page on."""
        self._set(self._question)
        if self._question.text:
            self._begin()

    def hurry(self) -> None:
        """Do not wait for more letters."""
        if self._pause.isActive():
            self._pause.stop()
            self._begin()

    def more(self) -> None:
        """Fetch the next page, unless there is none or it is on its way."""
        if self._asked and self._asked.has_more and not self._asked.is_running:
            self._fetch(self._asked)

    def close(self) -> None:
        """End what runs; nothing is found any more."""
        self._set(Question(""))
        self._threads.close()

    def _set(self, question: Question) -> None:
        self._pause.stop()
        self._question = question
        if self._asked:
            self._asked.cancel.set()
            self._asked = None

    def _begin(self) -> None:
        self._asked = _Asked(self._question)
        self.started.emit(self._question)
        self._fetch(self._asked)

    def _fetch(self, current: _Asked) -> None:
        current.is_running = True
        self._threads.run(
            lambda: asked(lambda: self._page(current)), lambda repos: self._on_page(current, repos)
        )

    def _on_page(self, current: _Asked, answer: tuple[RepoSummary, ...] | HubProblem | None) -> None:
        if current is not self._asked:
            return
        current.is_running = False
        if isinstance(answer, tuple):
            current.n_pages += 1
            current.has_more = len(answer) == PAGE
            page = FoundPage(current.question, answer, current.n_pages == 1, current.has_more)
            self.found.emit(page)
            return
        current.has_more = False  # an iterator that has raised is at its end
        self.failed.emit(answer or unexpected(), current.n_pages == 0)

    # --- in one of the threads --------------------------------------------------------------------

    def _page(self, current: _Asked) -> tuple[RepoSummary, ...]:
        current.found = current.found or self._search(current.question, current.cancel)
        return tuple(islice(current.found, PAGE))

    def _search(self, question: Question, cancel: threading.Event) -> Iterator[RepoSummary]:
        hub = self._access.hub()
        if question.versions_of is not None:
            return hub.gguf_versions(question.versions_of, cancel=cancel)
        words = searched_words(question.text)
        return hub.search(words, question.sort, formats=question.formats, cancel=cancel)
