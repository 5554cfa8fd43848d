"""How many prompt tokens one decode takes.

A slice has to be short enough for Stop to take effect and for the gauges to live, and long enough
to use the machine. The right size differs a thousandfold between machines, so it follows the
measured time of the last slice.
"""

from __future__ import annotations

_SMALLEST, _FIRST = 32, 64
_BESIDE_REPLIES = 64
_SHORT_SECONDS, _LONG_SECONDS = 0.15, 0.5


class SliceSize:
    """The present slice size, between 32 and the batch's capacity."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = min(_FIRST, capacity)

    def size(self, beside_replies: bool) -> int:
        """Tokens for the next slice; smaller while other chats wait for their next token."""
        return min(self._size, _BESIDE_REPLIES) if beside_replies else self._size

    def measured(self, tokens: int, seconds: float) -> None:
        """Follow the time that a slice took; shorter slices than asked for say nothing."""
        if tokens < self._size:
            return
        if seconds > _LONG_SECONDS:
            self._size = max(_SMALLEST, self._size // 2)
        elif seconds < _SHORT_SECONDS:
            self._size = min(self._capacity, self._size * 2)
