"""How many prompt tokens one decode takes, and when.

A slice has to be short enough for Stop to take effect and for the gauges to live, and long enough
to use the machine. The right size differs a thousandfold between machines, so it follows the
measured time of the last slice. Beside replies that are being written, slices are shorter, and after each one
the replies go on alone until they have had half of the time.
"""

from __future__ import annotations

_SMALLEST, _FIRST = 32, 64
_SMALLEST_BESIDE = 16
_SHORT_SECONDS, _LONG_SECONDS = 0.15, 0.5
_BESIDE_SECONDS = 0.1
_SHARE_OF_NEWEST = 0.2  # how quickly the usual time of a step follows


class SliceSize:
    """The present slice size, between 32 and the batch's capacity."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = min(_FIRST, capacity)
        self._rate: float | None = None  # prompt tokens a second
        self._step: float | None = None  # seconds of a decode without any prompt
        self._owed = 0.0  # seconds that the replies have to themselves before the next slice

    @property
    def is_owed(self) -> bool:
        """True while the replies have waited more for slices than they were decoded."""
        return self._owed > 0

    def size(self, beside_replies: bool) -> int:
        """Tokens for the next slice; smaller while other chats wait for their next token."""
        if not beside_replies:
            return self._size
        n_quick = _SMALLEST_BESIDE if self._rate is None else int(self._rate * _BESIDE_SECONDS)
        return min(self._size, max(_SMALLEST_BESIDE, n_quick))

    def measured(self, n_prompt: int, n_replies: int, seconds: float) -> None:
        """A decode of so many prompt tokens and of a token for each of `n_replies` took `seconds`."""
        if not n_prompt:
            self._step = seconds if self._step is None else self._mixed(self._step, seconds)
            self._owed = max(0.0, self._owed - seconds)
        elif n_replies:
            # In n more steps of s the replies have half of their speed: (n + 1) tokens in n s + seconds.
            self._owed = max(0.0, seconds - 2 * (self._step or 0.0))
        else:
            self._owed = 0.0
            self._follow(n_prompt, seconds)

    def _follow(self, n_prompt: int, seconds: float) -> None:
        """Follow the time that a slice took; shorter slices than asked for say nothing."""
        if n_prompt < self._size:
            return
        self._rate = n_prompt / seconds if seconds > 0 else None
        if seconds > _LONG_SECONDS:
            self._size = max(_SMALLEST, self._size // 2)
        elif seconds < _SHORT_SECONDS:
            self._size = min(self._capacity, self._size * 2)

    def _mixed(self, usual: float, newest: float) -> float:
        return usual + _SHARE_OF_NEWEST * (newest - usual)
