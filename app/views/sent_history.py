"""What was sent before in a chat, to be brought back with Up and Down.

The text that stands in the composer goes in, the one to show instead comes out. Promises: what was begun
and not sent comes back last. Knows nothing about widgets and keys.
"""

from __future__ import annotations

from collections.abc import Sequence


class SentHistory:
    """Owns the texts of one chat, oldest first, and which of them is shown."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()
        self._shown: int | None = None
        self._draft = ""

    def set_texts(self, texts: Sequence[str]) -> None:
        """Another chat is open, or something was sent."""
        if tuple(texts) != self._texts:
            self._texts = tuple(texts)
            self._shown = None

    def older(self, current: str) -> str | None:
        """What to show in place of `current`; None where that must stay, because it was written anew."""
        if not self._shows(current):
            if current.strip():
                return None
            self._shown, self._draft = len(self._texts), current
        if not self._shown:
            return None
        self._shown -= 1
        return self._texts[self._shown]

    def newer(self, current: str) -> str | None:
        """What to show in place of `current`, at last the draft; None where `current` must stay."""
        if self._shown is None or not self._shows(current):
            return None
        self._shown += 1
        if self._shown < len(self._texts):
            return self._texts[self._shown]
        self._shown = None
        return self._draft

    def _shows(self, current: str) -> bool:
        """Whether `current` is the text that was brought back last, unchanged."""
        return self._shown is not None and self._texts[self._shown : self._shown + 1] == (current,)
