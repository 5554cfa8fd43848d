"""Where each message of a chat stands in a column, and where the line stands that cuts it.

The item model's rows go in, with real heights as they are measured; places in pixels come out, from
the top of the column. Rows that nobody has seen are estimated. The line takes space above the first
message that the model sees, or below the last one. Knows nothing about widgets and scrolling.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFontMetrics

from app.data.stored_message import StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.views.height_table import HeightTable
from app.views.message_measure import estimated_height
from app.views.tokens import UNIT

_GAP = UNIT


@dataclass(frozen=True, slots=True)
class LineSlot:
    """The line stands above message `owner`, or below it if `is_below`; without an owner nowhere."""

    height: int = 0
    owner: int | None = None
    is_below: bool = False

    def space(self, message_id: int) -> int:
        """What the line adds to the row of a message."""
        return self.height if message_id == self.owner else 0


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in a message: `inside` pixels below its top, of a row that was `height` pixels high.

    `in_proportion`: that height was not real, so that the share of it counts.
    """

    row: int
    inside: int
    height: int
    in_proportion: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands, and where the line beside it, if it has one."""

    top: int
    height: int
    line_top: int | None


class MessageColumn:
    """The rows of a `TranscriptItemModel` with their heights."""

    def __init__(self, transcript: TranscriptItemModel) -> None:
        self._transcript = transcript
        self._metrics: QFontMetrics | None = None
        self.heights = HeightTable()
        self.slot = LineSlot()
        self.width = 0

    def reset(self, width: int, metrics: QFontMetrics) -> None:
        """Estimate all rows anew, at another width or for other messages."""
        self.width, self._metrics = width, metrics
        self.heights.reset(self._estimate(row) for row in range(self._transcript.rowCount()))

    def insert(self, first: int, last: int) -> None:
        """Rows came."""
        self.heights.insert(first, [self._estimate(row) for row in range(first, last + 1)])

    def estimate(self, row: int) -> None:
        """A message that nobody sees has changed."""
        self.heights.estimate(row, self._estimate(row))

    def measure(self, row: int, height: int) -> bool:
        """The real height of a message; whether the row turned out different."""
        before = self.heights.height(row)
        self.heights.measure(row, height + _GAP + self._space(row))
        return self.heights.height(row) != before

    def line_slot(self, line_height: int) -> LineSlot:
        """Where the line belongs now."""
        row, n_rows = self._transcript.line_row, self._transcript.rowCount()
        if row is None:
            return LineSlot()
        return LineSlot(line_height, self._message(min(row, n_rows - 1)).id, row == n_rows)

    def move_line(self, slot: LineSlot) -> None:
        """Take the line's space from where it stood and give it where it stands now."""
        self._grow(-1)
        self.slot = slot
        self._grow(1)

    def place_of(self, row: int) -> Place:
        """Where the message of a row stands."""
        top, space = self.heights.offset(row), self._space(row)
        height = self.heights.height(row) - _GAP - space
        if not space:
            return Place(top, height, None)
        line_top = top + height + _GAP if self.slot.is_below else top
        return Place(top + self._lead(row), height, line_top)

    def anchor(self, y: int, *, rescaled: bool) -> Anchor:
        """The place in a message that stands at `y` now; `rescaled` if all heights are to change."""
        row = self.heights.row_at(y)
        height = self.heights.height(row) if len(self.heights) else 0
        inside = y - self.heights.offset(row) - self._lead(row)
        in_proportion = height > 0 and inside > 0 and (rescaled or self.heights.is_guess(row))
        return Anchor(row, inside, height, in_proportion)

    def y_of(self, anchor: Anchor) -> int | None:
        """Where an anchor stands now; None if its row is gone."""
        if anchor.row >= len(self.heights):
            return None
        inside = anchor.inside
        if anchor.in_proportion:
            inside = inside * self.heights.height(anchor.row) // anchor.height
        return self.heights.offset(anchor.row) + self._lead(anchor.row) + inside

    def _message(self, row: int) -> StoredMessage:
        return self._transcript.message_at(row)

    def _estimate(self, row: int) -> int:
        assert self._metrics is not None  # given with the first reset
        return estimated_height(self._message(row), self.width, self._metrics) + _GAP + self._space(row)

    def _space(self, row: int) -> int:
        return self.slot.space(self._message(row).id)

    def _lead(self, row: int) -> int:
        """How far below the top of its row a message begins; 0 where there is no row."""
        return self._space(row) if row < len(self.heights) and not self.slot.is_below else 0

    def _grow(self, sign: int) -> None:
        number = None if self.slot.owner is None else self._transcript.number_of(self.slot.owner)
        if number is not None:
            self.heights.grow(number - 1, sign * self.slot.height)
