"""The Hub as the window asks it: with the user's token, or without it where that was rejected.

One `Hub` goes in, the one to ask now comes out. Making it takes no connection. Knows nothing about questions.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from engine.hub.hub import Hub


class HubAccess(QObject):
    """Owns which Hub is asked."""

    changed = Signal()
    """It is asked otherwise from now on: what was refused may be answered now."""

    def __init__(self, make_hub: Callable[[], Hub], parent: QObject | None = None) -> None:
        """`make_hub` is called when the Hub is first wanted, on any thread; it may raise BadEndpoint."""
        super().__init__(parent)
        self._make_hub = make_hub
        self._hub: Hub | None = None
        self._without_token = False

    def hub(self) -> Hub:
        """The one to ask now; for any thread. Raises BadEndpoint."""
        made = self._hub = self._hub or self._make_hub()
        return made.without_token() if self._without_token else made

    def leave_token_out(self) -> None:
        """Ask without the token until another one is entered."""
        self._use_token(False)

    def use_token(self) -> None:
        """Ask with the token again."""
        self._use_token(True)

    def _use_token(self, use: bool) -> None:
        self._without_token = not use
        self.changed.emit()
