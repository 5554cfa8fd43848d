"""The curated models that suit this machine, and what to download for one that was chosen.

A wish goes in, `Proposal`s come out, without a question to anybody; a chosen one goes in, the file that its
repository has now comes out. Promises: counting and asking happen off this object's thread; how fast the
machine is, is measured before anything is proposed, but tried once only. Knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Signal

from app.data.catalogue import CatalogueModel, model_for
from app.data.proposals import Proposal, proposals
from app.services.background import Background, Runner
from app.services.hub_access import HubAccess
from app.services.hub_problem import asked, unexpected
from app.services.hub_threads import HubThreads
from app.services.machine_plans import MachinePlans
from engine.hub.hub_values import RemoteModel


class ModelProposals(QObject):
    """Owns the threads, and whether the machine was measured."""

    proposed = Signal(object)
    """A tuple of `Proposal`s, the best first, or a `HubProblem` if there is no catalogue."""

    resolved = Signal(object, object)
    """A `CatalogueModel` that was chosen, and its `RemoteModel`, or a `HubProblem` if there is none."""

    def __init__(
        self,
        access: HubAccess,
        plans: MachinePlans,
        read: Callable[[], Iterable[CatalogueModel]],
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """`read` gives the catalogue; it may raise KnownError."""
        super().__init__(parent)
        self._access = access
        self._plans = plans
        self._read = read
        self._has_measured = False
        self._counting = make_runner("proposals")
        self._asking = HubThreads("proposed-model", make_runner)

    def propose(self) -> None:
        """Count what suits the memory that is free now; answered by `proposed`, the first time in seconds."""
        machine = self._plans.now()
        measures, self._has_measured = not self._has_measured, True

        def job() -> tuple[Proposal, ...]:
            return proposals(self._read(), machine.plan(measures=measures))

        self._counting.run(lambda: asked(job), lambda found: self.proposed.emit(_or_unexpected(found)))

    def resolve(self, entry: CatalogueModel) -> None:
        """Ask its repository which file it is now; answered by `resolved`."""

        def job() -> RemoteModel:
            return model_for(entry, self._access.hub().details(entry.repo_id))

        self._asking.run(lambda: asked(job), lambda found: self.resolved.emit(entry, _or_unexpected(found)))

    def close(self) -> None:
        """Nothing is told any more."""
        self._counting.close()
        self._asking.close()


def _or_unexpected(found: object) -> object:
    return unexpected() if found is None else found
