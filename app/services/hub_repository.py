"""One repository of the Hub, opened: its files, and how each would fit into this machine.

A repository's name goes in; its details come out, then the fits of its files as they become known. Promises:
nothing is asked before a repository is opened; of several only the newest is answered, the others are
cancelled; each header is read once for each commit. Knows nothing about widgets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from PySide6.QtCore import QObject, Signal

from app.services.background import Background, Runner
from app.services.hub_access import HubAccess
from app.services.hub_fits import HeaderCache, RemoteFit, fits
from app.services.hub_problem import HubProblem, asked, unexpected
from app.services.hub_threads import HubThreads
from app.services.machine_plans import MachineNow, MachinePlans
from engine.hub.hub_values import RemoteModel, RepoDetails
from engine.models.model_facts import ModelFacts

_Step = Mapping[str, RemoteFit]


class HubRepository(QObject):
    """Owns what is known of the repository that was opened last."""

    opened = Signal(object)
    """The `RepoDetails` of the newest repository."""

    fitted = Signal(str, object)
    """The repository's name, and a mapping of `RemoteModel.id` to `RemoteFit`, of models known now."""

    failed = Signal(str, object)
    """The repository's name, and the `HubProblem` for which there are no details."""

    def __init__(
        self,
        access: HubAccess,
        plans: MachinePlans | None,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """Without `plans` nobody says how a file fits."""
        super().__init__(parent)
        self._access = access
        self._plans = plans
        self._threads = HubThreads("hub-repository", make_runner)
        self._cache = HeaderCache()
        self._cancel: threading.Event | None = None

    def open(self, repo_id: str) -> None:
        """Ask for it; what was opened before is given up."""
        cancel = self.leave()
        self._threads.run(
            lambda: asked(lambda: self._access.hub().details(repo_id, cancel=cancel)),
            lambda details: self._on_details(repo_id, details, cancel),
        )

    def leave(self) -> threading.Event:
        """Give up what was opened; the event is that of what is opened next."""
        if self._cancel:
            self._cancel.set()
        self._cancel = threading.Event()
        return self._cancel

    def close(self) -> None:
        """End what runs; nothing is told any more."""
        self.leave()
        self._threads.close()

    def _on_details(
        self, repo_id: str, details: RepoDetails | HubProblem | None, cancel: threading.Event
    ) -> None:
        if cancel is not self._cancel:
            return
        if not isinstance(details, RepoDetails):
            self.failed.emit(repo_id, details or unexpected())
            return
        self.opened.emit(details)
        if self._plans and details.models:
            self._go_on(repo_id, self._steps(details, self._plans.now(), cancel), cancel)

    def _go_on(self, repo_id: str, steps: Iterator[_Step], cancel: threading.Event) -> None:
        """Tell of one step after the other, each made in a thread."""

        def done(step: _Step | None) -> None:
            if cancel is not self._cancel or not step:
                return
            self.fitted.emit(repo_id, step)
            self._go_on(repo_id, steps, cancel)

        self._threads.run(lambda: next(steps, None), done)

    # --- in one of the threads --------------------------------------------------------------------

    def _steps(self, details: RepoDetails, machine: MachineNow, cancel: threading.Event) -> Iterator[_Step]:
        def read(model: RemoteModel) -> ModelFacts:
            return self._access.hub().facts(model, cancel=cancel)

        # In a generator, so that the machine is read in the thread that makes the first step.
        yield from filter(None, fits(details, self._cache, read, machine.plan()))
