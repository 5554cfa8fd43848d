"""Where each row of a long column stands, when most heights are only guessed.

Heights in pixels go in row by row, measured or guessed; offsets and the rows of a stretch come out.
Pure arithmetic; knows nothing about widgets.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable


class HeightTable:
    """Heights of rows, in order."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._measured: list[bool] = []
        self._guessed: list[bool] = []
        self._offsets: list[int] | None = None

    def __len__(self) -> int:
        return len(self._heights)

    def reset(self, estimates: Iterable[int]) -> None:
        """Start anew with estimated heights."""
        self._heights = list(estimates)
        self._measured = [False] * len(self._heights)
        self._guessed = [True] * len(self._heights)
        self._offsets = None

    def insert(self, row: int, estimates: list[int]) -> None:
        """New rows before `row`."""
        self._heights[row:row] = estimates
        self._measured[row:row] = [False] * len(estimates)
        self._guessed[row:row] = [True] * len(estimates)
        self._offsets = None

    def remove(self, first: int, last: int) -> None:
        """Take the rows from `first` to `last`, both included, away."""
        del self._heights[first : last + 1]
        del self._measured[first : last + 1]
        del self._guessed[first : last + 1]
        self._offsets = None

    def estimate(self, row: int, height: int) -> None:
        """The content of a row that nobody sees has changed."""
        self._set(row, height, measured=False)

    def expire(self, row: int) -> None:
        """The content of a row has changed; its height was real and is to be measured again."""
        self._measured[row] = False

    def measure(self, row: int, height: int) -> None:
        """The real height of a row."""
        self._set(row, height, measured=True)

    def grow(self, row: int, pixels: int) -> None:
        """Something beside its content was added to a row, or taken away from it."""
        self._heights[row] += pixels
        self._offsets = None

    def is_measured(self, row: int) -> bool:
        """Whether the height of `row` is real and up to date."""
        return self._measured[row]

    def is_guess(self, row: int) -> bool:
        """Whether the height of `row` was never real for its present width."""
        return self._guessed[row]

    def height(self, row: int) -> int:
        """The height of a row."""
        return self._heights[row]

    def offset(self, row: int) -> int:
        """Where `row` begins; for one row after the last, where the last ends."""
        if self._offsets is None:
            self._offsets = list(itertools.accumulate(self._heights, initial=0))
        return self._offsets[row]

    def total(self) -> int:
        """The height of all rows together."""
        return self.offset(len(self._heights))

    def row_at(self, y: int) -> int:
        """The row that covers `y`, the nearest one outside; 0 when there is none at all."""
        self.offset(0)
        assert self._offsets is not None  # just filled
        return max(0, min(bisect_right(self._offsets, y) - 1, len(self._heights) - 1))

    def rows_between(self, top: int, bottom: int) -> range:
        """All rows that touch the stretch from `top` to `bottom`."""
        return range(self.row_at(top), self.row_at(bottom) + 1) if self._heights else range(0)

    def _set(self, row: int, height: int, *, measured: bool) -> None:
        self._measured[row] = measured
        self._guessed[row] = not measured
        if self._heights[row] != height:
            self._heights[row] = height
            self._offsets = None
