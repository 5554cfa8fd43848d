"""The token that the Hub is asked with: where it comes from, entering another one, forgetting it.

A text goes in once, when it is saved; only the token's source comes out. Promises: keyrings and files are
asked off this object's thread. Knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.services.background import Background, Runner
from app.services.hub_access import HubAccess
from app.services.hub_problem import HubProblem, asked
from engine.hub.token_store import TokenSource, TokenStore


class HubToken(QObject):
    """Owns what is known of the token."""

    found = Signal(object)
    """The `TokenSource` of the token that is used, None without one."""

    failed = Signal(object)
    """A `HubProblem`: it could not be kept or deleted."""

    def __init__(
        self,
        store: TokenStore,
        access: HubAccess,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._access = access
        self._runner = make_runner("hub-token")

    def look(self) -> None:
        """Find out where the token comes from; answered by `found`."""
        self._runner.run(lambda: asked(self._source), self._tell)

    def save(self, text: str) -> None:
        """Keep an entered token, and ask with it from now on."""
        self._runner.run(lambda: asked(lambda: self._store.save(text)), self._on_changed)

    def delete(self) -> None:
        """Forget the entered token; another one may be found then."""

        def delete() -> TokenSource | None:
            self._store.delete()
            return self._source()

        self._runner.run(lambda: asked(delete), self._on_changed)

    def close(self) -> None:
        """Nothing is told any more."""
        self._runner.close()

    def _source(self) -> TokenSource | None:
        found = self._store.find()
        return found.source if found else None

    def _tell(self, answer: TokenSource | HubProblem | None) -> None:
        if isinstance(answer, HubProblem):
            self.failed.emit(answer)
        else:
            self.found.emit(answer)

    def _on_changed(self, answer: TokenSource | HubProblem | None) -> None:
        self._tell(answer)
        if not isinstance(answer, HubProblem):
            self._access.use_token()
