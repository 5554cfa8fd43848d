"""The messages of a chat in one column, of any length.

An item model with `MESSAGE_ROLE` goes in. Only messages near the viewport have widgets; the heights
of the others are estimates until they come near. Promises:
- a reply that grows costs the layout of its own widget only;
- what the reader looks at stays where it is, whatever grows above or below; only a reader who is at
  the very end is taken along (open-webui/open-webui#4310);
- opening a chat costs the same for ten messages as for ten thousand, but for the estimates;
- the line above which the model does not see takes its own space, and moves no text in sight.
It knows nothing about chats, stores or what a message looks like.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.item_models.transcript_item_model import TranscriptItemModel
from app.views.message_column import LineSlot, MessageColumn
from app.views.message_measure import widest_column
from app.views.message_views import MessageViews
from app.views.newest_button import NewestButton
from app.views.sight_line import SightLine
from app.views.tokens import UNIT

if TYPE_CHECKING:
    from app.views.message_view import MessageView
    from app.views.message_views import RowView

_EDGE = UNIT * 2
_MAX_PASSES = 6

Index = QModelIndex | QPersistentModelIndex


class TranscriptView(QAbstractScrollArea):
    """Shows a `TranscriptItemModel`."""

    def __init__(self, transcript: TranscriptItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Messages"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().setSingleStep(UNIT * 4)
        self._transcript = transcript
        self._column = MessageColumn(transcript)
        self._heights = self._column.heights
        self.messages = MessageViews(transcript, self.viewport())
        self._tab_order: list[object] = []
        self._following = True
        self._placing = False
        self._newest = NewestButton(self)
        self._newest.clicked.connect(self.scroll_to_end)
        self.line = SightLine(self.viewport())
        self.line.hide()
        self._relayout = QTimer(self)
        self._relayout.setSingleShot(True)
        self._relayout.timeout.connect(self._lay_out)
        self._connect()

    def scroll_to_end(self) -> None:
        """Show the newest message and stay there."""
        self._following = True
        self._lay_out()

    def scroll_to(self, message_id: int) -> None:
        """Let a message stand at the top, as far as the chat is long enough."""
        number = self._transcript.number_of(message_id)
        if number is not None:
            self._following = False
            self._placing = True
            self._scroll(self._heights.offset(number - 1) + _EDGE)
            self._placing = False
            self._lay_out()
            self._following = self.is_at_end()

    def widest_column(self) -> int:
        """How wide the column of messages is where there is room, in pixels."""
        return widest_column(self.fontMetrics())

    def message_view(self, row: int) -> MessageView | None:
        """The widget of a row, None if the row is far from the viewport."""
        return self.messages.message_view(self._transcript.message_at(row).id)

    def is_at_end(self) -> bool:
        """Whether the end of the newest message is in sight."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - UNIT

    # --- the item model ---------------------------------------------------------------------------

    def _connect(self) -> None:
        self._transcript.modelReset.connect(self._on_reset)
        self._transcript.rowsInserted.connect(self._on_inserted)
        self._transcript.rowsRemoved.connect(self._on_removed)
        self._transcript.dataChanged.connect(self._on_changed)
        self._transcript.sight_changed.connect(self._on_sight)
        self.messages.height_changed.connect(self._on_height_changed)

    def _on_reset(self) -> None:
        self.messages.keep(())
        self._column.slot = LineSlot()
        self._column.reset(self._column_width(), self.fontMetrics())
        self._move_line()
        self.scroll_to_end()

    def _on_inserted(self, _parent: Index, first: int, last: int) -> None:
        self._column.insert(first, last)
        self._on_rows()

    def _on_removed(self, _parent: Index, first: int, last: int) -> None:
        self._heights.remove(first, last)
        self._on_rows()

    def _on_rows(self) -> None:
        self.messages.show_last()
        self._tab_order = []  # a message may have another widget now
        self._move_line()
        self._lay_out()

    def _on_sight(self) -> None:
        self.line.show_sight(self._transcript.sight)
        self._move_line()
        self._lay_out()

    def _on_changed(self, first: Index, last: Index) -> None:
        for row in range(first.row(), last.row() + 1):
            if self.messages.show_message(self._transcript.message_at(row)):
                self._heights.expire(row)
            else:
                self._column.estimate(row)
            self._relayout_soon()

    # --- geometry ---------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width makes other heights; what was measured becomes an estimate."""
        super().resizeEvent(event)
        width = self._column_width()
        if width != self._column.width:
            # Not the reader, but the new estimates move the scroll bar now.
            was_placing, self._placing = self._placing, True
            with self._anchored(rescaled=True):
                self._column.reset(width, self.fontMetrics())
            self._placing = was_placing
        self.messages.expire_wide()
        self._lay_out()

    def scrollContentsBy(self, _dx: int, _dy: int) -> None:
        """The reader, or `_lay_out` itself, moved the scroll bar."""
        if not self._placing:
            self._following = self.is_at_end()
            self._lay_out()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home and End go to the oldest and newest message."""
        if event.key() == Qt.Key.Key_Home:
            self.verticalScrollBar().setValue(0)
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Bring what the Tab key reaches into sight."""
        moved = super().focusNextPrevChild(forward)
        focused = self.focusWidget()
        if moved and focused is not None and self.viewport().isAncestorOf(focused):
            top = focused.mapTo(self.viewport(), focused.rect().topLeft()).y()
            if not 0 <= top < self.viewport().height() - UNIT * 3:
                bar = self.verticalScrollBar()
                bar.setValue(bar.value() + top - UNIT * 3)
        return moved

    def _column_width(self) -> int:
        return max(UNIT * 20, min(self.widest_column(), self.viewport().width() - 2 * _EDGE))

    def _move_line(self) -> None:
        """Let the line stand where it belongs now, without moving what the reader looks at."""
        slot = self._column.line_slot(self.line.sizeHint().height())
        if slot == self._column.slot:
            return
        was_placing, self._placing = self._placing, True
        with self._anchored():
            self._column.move_line(slot)
        self._placing = was_placing

    @contextlib.contextmanager
    def _anchored(self, *, rescaled: bool = False) -> Iterator[None]:
        """Keep what is at the top of the viewport where it is while heights change."""
        anchor = self._column.anchor(self.verticalScrollBar().value() - _EDGE, rescaled=rescaled)
        yield
        y = self._column.y_of(anchor)
        if self._following:
            self._scroll(self._end())
        elif y is not None:
            self._scroll(y + _EDGE)

    def _end(self) -> int:
        return max(0, self._heights.total() + 2 * _EDGE - self.viewport().height())

    def _scroll(self, value: int) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(max(1, self.viewport().height() - UNIT * 4))
        bar.setRange(0, self._end())
        bar.setValue(value)

    # --- laying out -------------------------------------------------------------------------------

    def _relayout_soon(self) -> None:
        if not self._relayout.isActive():
            self._relayout.start(0)

    def _lay_out(self) -> None:
        """Give widgets to the rows near the viewport, measure them, and put everything in its place."""
        if self._placing:
            return
        self._relayout.stop()
        self._placing = True
        try:
            for _ in range(_MAX_PASSES):
                with self._anchored():
                    rows = self._rows_in_reach()
                    changed = self._measure(rows)
                # A scroll bar that came makes the column narrower, and all that was measured a guess.
                is_measured = all(self._heights.is_measured(row) for row in rows)
                if not changed and is_measured and rows == self._rows_in_reach():
                    break
            self._place(rows)
        finally:
            self._placing = False
        self._show_newest_button()

    def _rows_in_reach(self) -> range:
        reach = self.viewport().height() // 2
        top = self.verticalScrollBar().value() - _EDGE
        return self._heights.rows_between(top - reach, top + self.viewport().height() + reach)

    def _measure(self, rows: range) -> bool:
        """Measure the rows whose height is not known; whether any turned out different."""
        changed = False
        for row in rows:
            view = self._view_of(row)
            if not self._heights.is_measured(row):
                changed |= self._column.measure(row, view.fit(self._width_of(view)))
        return changed

    def _width_of(self, view: RowView) -> int:
        return self.viewport().width() - 2 * _EDGE if view.is_wide else self._column.width

    def _view_of(self, row: int) -> RowView:
        return self.messages.of(self._transcript.message_at(row), self._column.width)

    def _on_height_changed(self, message_id: int) -> None:
        number = self._transcript.number_of(message_id)
        if number is not None:
            self._heights.expire(number - 1)
            self._relayout_soon()

    def _place(self, rows: range) -> None:
        lines_left = max(_EDGE, (self.width() - self._column.width) // 2)
        top = self.verticalScrollBar().value() - _EDGE
        placed: list[int] = []
        for row in sorted({*rows, *self._focused_row()}):
            view = self._view_of(row)
            placed.append(view.message.id)
            place = self._column.place_of(row)
            width = self._width_of(view)
            view.setGeometry(max(_EDGE, (self.width() - width) // 2), place.top - top, width, place.height)
            view.show()
            if place.line_top is not None:
                line_top = place.line_top - top
                self.line.setGeometry(lines_left, line_top, self._column.width, self._column.slot.height)
        self.line.setVisible(self._column.slot.owner in placed)
        self.messages.keep(placed)
        if self._tab_order != [self._column.slot, *placed]:
            self._tab_order = [self._column.slot, *placed]
            self.messages.order_tabs(self, self.line, self._column.slot.owner, self._newest)

    def _focused_row(self) -> list[int]:
        """The row that has the keyboard focus: its widget stays, wherever the reader scrolls."""
        numbers = (self._transcript.number_of(key) for key in self.messages.focused())
        return [number - 1 for number in numbers if number is not None]

    def _show_newest_button(self) -> None:
        self._newest.setVisible(not self.is_at_end())
        self._newest.stand_in(self.viewport().geometry())
