"""Several replies to one message side by side, to choose one.

The replies go in, as they grow; wishes come out with a reply's id. As many columns stand in a row as there
is room for, evenly spread; below a width they stand below each other. Promises: a reply that grows costs the
layout of its own column; all of them together take no more of the window's time than one does. It knows
nothing about stores or scrolling.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.data.stored_message import MessageState, StoredMessage
from app.item_models.sight import Presence
from app.views.leading_label import LeadingLabel
from app.views.message_measure import PADDING, widest_column
from app.views.tokens import UNIT
from app.views.variant_view import VariantView

_GAP = UNIT
_LEAST_SHARE = 0.45
"""Of the widest column of text: in less, lines are too short to be read."""


class VariantsView(QFrame):
    """Owns a column for each reply; `message` is the one that is taken if nobody chooses."""

    height_changed = Signal()
    """The content needs another height now."""

    choose_requested = Signal(int)
    """The id of the reply to go on with."""

    stop_requested = Signal(int)
    """The id of a reply that shall end here."""

    is_wide = True
    """See `MessageView`."""

    def __init__(
        self, message: StoredMessage, variants: Sequence[StoredMessage], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.message = message
        self.columns: list[VariantView] = []
        self._heights: dict[VariantView, int] = {}
        self._width = 0
        self.setAccessibleName(self.tr("Answers to choose from"))
        self.hint = LeadingLabel("", self)
        self.hint.setProperty("muted", True)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setWordWrap(True)
        for number, variant in enumerate(variants, start=1):
            self._add(VariantView(variant, number, len(variants), self))
        self.variant_ids = tuple(variant.id for variant in variants)
        self.show_row(message, variants)
        self._say_what_happens()

    def show_row(self, message: StoredMessage, variants: Sequence[StoredMessage]) -> None:
        """Show what the replies say now; they are the same ones as ever."""
        self.message = message
        n_streaming = sum(variant.state is MessageState.STREAMING for variant in variants)
        for column, variant in zip(self.columns, variants, strict=True):
            column.body.share_time(max(1, n_streaming))
            if column.message != variant:
                column.show_message(variant)
                self._heights.pop(column, None)

    def set_last(self, _is_last: bool) -> None:
        """It is the last row as long as it is there."""

    def show_presence(self, presence: Presence, *, refused: bool = False) -> None:
        """Show what the model has of the replies."""
        for column in self.columns:
            column.show_presence(presence, refused=refused)

    def fit(self, width: int) -> int:
        """Take `width` pixels and return the height in pixels that all columns need."""
        if width != self._width:
            self._width = width
            self._heights.clear()
        n_beside = self._n_beside(width)
        column_width = (width - _GAP * (n_beside - 1)) // n_beside
        for column in self.columns:
            if column not in self._heights:
                self._heights[column] = column.fit(column_width)
        top = 0
        for first in range(0, len(self.columns), n_beside):
            top += self._place_row(self.columns[first : first + n_beside], top, column_width) + _GAP
        height = self.hint.heightForWidth(width - 2 * PADDING)
        self.hint.setGeometry(PADDING, top, width - 2 * PADDING, height)
        return top + height

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach, column by column."""
        return [stop for column in self.columns for stop in column.tab_stops()]

    def _place_row(self, columns: Sequence[VariantView], top: int, width: int) -> int:
        height = max(self._heights[column] for column in columns)
        is_mirrored = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        for place, column in enumerate(columns):
            start = place * (width + _GAP)
            column.setGeometry(self._width - start - width if is_mirrored else start, top, width, height)
        return height

    def _n_beside(self, width: int) -> int:
        """How many columns stand in one row: as many as have room, spread evenly over the rows."""
        least = int(widest_column(self.fontMetrics()) * _LEAST_SHARE)
        n_fitting = max(1, min(len(self.columns), (width + _GAP) // (least + _GAP)))
        n_rows = -(-len(self.columns) // n_fitting)
        return -(-len(self.columns) // n_rows)

    def _say_what_happens(self) -> None:
        number = next((n for n, c in enumerate(self.columns, 1) if c.message.id == self.message.id), 1)
        self.hint.setText(
            self.tr(
                "Choose the answer to go on with; the others stay as its versions. If you write on without "
                "choosing, variant {0} is taken."
            ).format(number)
        )

    def _add(self, column: VariantView) -> None:
        key = column.message.id
        column.height_changed.connect(partial(self._on_height_changed, column))
        column.choose_requested.connect(partial(self.choose_requested.emit, key))
        column.stop_requested.connect(partial(self.stop_requested.emit, key))
        column.step_requested.connect(partial(self._step, column))
        self.columns.append(column)
        column.show()

    def _on_height_changed(self, column: VariantView) -> None:
        self._heights.pop(column, None)
        self.height_changed.emit()

    def _step(self, column: VariantView, step: int) -> None:
        place = self.columns.index(column) + step
        if 0 <= place < len(self.columns):
            self.columns[place].setFocus(Qt.FocusReason.TabFocusReason)
