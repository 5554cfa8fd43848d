"""The byte pieces of tokens become text that may be shown at once.

Bytes go in, one token's piece at a time; text comes out. What is given out is final: it never ends
inside a character (the broken emoji of
abetlen/llama-cpp-python#372) and never holds any
part of a stop string. Which text comes out in all depends on the bytes alone, not on how they were
cut into pieces. The work for a piece depends on its length and the stop strings', not on the text
so far.

Nothing here knows tokens, the end-of-turn token or the limit of a reply.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """The text of one reply as it grows.

    `stop` holds the strings that end it; blank ones are ignored. The first stop string to become
    complete wins, and of two that end with the same character the longer one; the text ends before
    it. Bytes that are no UTF-8 become U+FFFD.

    `stopped` turns true once a stop string was complete; from then on there is no more text.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self.stopped = False
        self._stops = tuple(text for text in stop if text.strip())
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """All that was given out so far."""
        return "".join(self._shown)

    def push(self, piece: bytes) -> str:
        """Take the bytes of one more token; return the text that may be shown now, perhaps ""."""
        if self.stopped:
            return ""
        pending = self._held + self._decoder.decode(piece)
        found = self._first_stop(pending)
        if found is not None:
            self.stopped = True
            return self._show(pending, found)
        return self._show(pending, len(pending) - self._length_to_hold(pending))

    def finish(self) -> str:
        """No more bytes come: return what was held back, except an incomplete last character."""
        return self._show(self._held, len(self._held))

    def _show(self, pending: str, n_shown: int) -> str:
        shown = pending[:n_shown]
        self._held = "" if self.stopped else pending[n_shown:]
        self._shown.append(shown)
        return shown

    def _first_stop(self, pending: str) -> int | None:
        """Where the stop string starts that is the first to be complete in `pending`."""
        found = [(start + len(stop), start) for stop in self._stops if (start := pending.find(stop)) >= 0]
        return min(found)[1] if found else None

    def _length_to_hold(self, pending: str) -> int:
        """Length of the longest end of `pending` that is the beginning of a stop string."""
        longest = min(len(pending), max(map(len, self._stops), default=0))
        for length in range(longest, 0, -1):
            ending = pending[-length:]
            if any(stop.startswith(ending) for stop in self._stops):
                return length
        return 0
