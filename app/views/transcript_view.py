"""The messages of a chat in one column, of any length.

An item model with `MESSAGE_ROLE` goes in. Only messages near the viewport have widgets; the heights
of the others are estimates until they come near. Promises:
- a reply that grows costs the layout of its own widget only;
- what the reader looks at stays where it is, whatever grows above or below; only a reader who is at
  the very end is taken along (open-webui/open-webui#4310);
- opening a chat costs the same for ten messages as for ten thousand, but for the estimates.
It knows nothing about chats, stores or what a message looks like.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QPushButton, QWidget

from app.data.chat_store import StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel
from app.views.height_table import HeightTable
from app.views.message_measure import estimated_height, widest_column
from app.views.message_view import MessageView
from app.views.theme import UNIT

_GAP = UNIT
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
        self._heights = HeightTable()
        self._views: dict[int, MessageView] = {}
        self._tab_order: list[int] = []
        self._following = True
        self._placing = False
        self._width = 0
        self._newest = QPushButton(self.tr("\N{DOWNWARDS ARROW} Newest"), self)
        self._newest.setObjectName("newest")
        self._newest.setAccessibleName(self.tr("Go to the newest message"))
        self._newest.clicked.connect(self.scroll_to_end)
        self._newest.hide()
        self._relayout = QTimer(self)
        self._relayout.setSingleShot(True)
        self._relayout.timeout.connect(self._lay_out)
        self._connect()

    def scroll_to_end(self) -> None:
        """Show the newest message and stay there."""
        self._following = True
        self._lay_out()

    def widest_column(self) -> int:
        """How wide the column of messages is where there is room, in pixels."""
        return widest_column(self.fontMetrics())

    def message_view(self, row: int) -> MessageView | None:
        """The widget of a row, None if the row is far from the viewport."""
        return self._views.get(self._transcript.message_at(row).id)

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

    def _on_reset(self) -> None:
        for view in self._views.values():
            view.hide()
            view.deleteLater()
        self._views.clear()
        self._width = self._column_width()
        self._heights.reset(self._estimate(message) for message in self._messages())
        self.scroll_to_end()

    def _on_inserted(self, _parent: Index, first: int, last: int) -> None:
        rows = range(first, last + 1)
        self._heights.insert(first, [self._estimate(self._transcript.message_at(row)) for row in rows])
        self._lay_out()

    def _on_removed(self, _parent: Index, first: int, last: int) -> None:
        self._heights.remove(first, last)
        self._lay_out()

    def _on_changed(self, first: Index, last: Index) -> None:
        for row in range(first.row(), last.row() + 1):
            message = self._transcript.message_at(row)
            view = self._views.get(message.id)
            if view:
                view.show_message(message)
                self._heights.expire(row)
            else:
                self._heights.estimate(row, self._estimate(message))
            self._relayout_soon()

    def _messages(self) -> Iterator[StoredMessage]:
        return (self._transcript.message_at(row) for row in range(self._transcript.rowCount()))

    # --- geometry ---------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width makes other heights; what was measured becomes an estimate."""
        super().resizeEvent(event)
        width = self._column_width()
        if width != self._width:
            with self._anchored(rescaled=True):
                self._width = width
                self._heights.reset(self._estimate(message) for message in self._messages())
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

    def _estimate(self, message: StoredMessage) -> int:
        return estimated_height(message, self._width, self.fontMetrics()) + _GAP

    @contextlib.contextmanager
    def _anchored(self, *, rescaled: bool = False) -> Iterator[None]:
        """Keep what is at the top of the viewport where it is while heights change.

        Where the height of that row itself was a guess, or all were `rescaled`, its share counts.
        """
        top = self.verticalScrollBar().value() - _EDGE
        row = self._heights.row_at(top)
        before = self._heights.height(row) if len(self._heights) else 0
        inside = top - self._heights.offset(row)
        in_proportion = before > 0 and inside > 0 and (rescaled or self._heights.is_guess(row))
        yield
        if self._following:
            self._scroll(self._end())
        elif row < len(self._heights):
            if in_proportion:
                inside = inside * self._heights.height(row) // before
            self._scroll(self._heights.offset(row) + inside + _EDGE)

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
                if not changed and rows == self._rows_in_reach():
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
                before = self._heights.height(row)
                self._heights.measure(row, view.fit(self._width) + _GAP)
                changed |= self._heights.height(row) != before
        return changed

    def _view_of(self, row: int) -> MessageView:
        message = self._transcript.message_at(row)
        view = self._views.get(message.id)
        if view is None:
            view = MessageView(message, self.viewport())
            self._views[message.id] = view
            view.fit(self._width)
            view.height_changed.connect(lambda: self._on_height_changed(view))
        return view

    def _on_height_changed(self, view: MessageView) -> None:
        row = self._row_of(view)
        if row is not None:
            self._heights.expire(row)
            self._relayout_soon()

    def _row_of(self, view: MessageView) -> int | None:
        # From the end: it is nearly always the last message that changes.
        rows = range(self._transcript.rowCount() - 1, -1, -1)
        return next((row for row in rows if self._transcript.message_at(row).id == view.message.id), None)

    def _place(self, rows: range) -> None:
        left = max(_EDGE, (self.width() - self._width) // 2)
        top = self.verticalScrollBar().value() - _EDGE
        placed: dict[int, MessageView] = {}
        for row in sorted({*rows, *self._focused_row()}):
            view = self._view_of(row)
            placed[view.message.id] = view
            y = self._heights.offset(row) - top
            view.setGeometry(left, y, self._width, self._heights.height(row) - _GAP)
            view.show()
        for key in self._views.keys() - placed.keys():
            self._views[key].hide()
            self._views[key].deleteLater()
        same = list(placed) == self._tab_order
        self._views = placed
        if not same:
            self._order_tabs()

    def _focused_row(self) -> list[int]:
        """The row that has the keyboard focus: its widget stays, wherever the reader scrolls."""
        focused = self.window().focusWidget()
        views = [view for view in self._views.values() if focused and view.isAncestorOf(focused)]
        return [row for view in views if (row := self._row_of(view)) is not None]

    def _order_tabs(self) -> None:
        self._tab_order = list(self._views)
        before: QWidget = self
        for view in self._views.values():
            for stop in view.tab_stops():
                QWidget.setTabOrder(before, stop)
                before = stop
        QWidget.setTabOrder(before, self._newest)

    def _show_newest_button(self) -> None:
        self._newest.setVisible(not self.is_at_end())
        size = self._newest.sizeHint()
        area = self.viewport().geometry()
        self._newest.setGeometry(
            area.center().x() - size.width() // 2,
            area.bottom() - size.height() - UNIT,
            size.width(),
            size.height(),
        )
        self._newest.raise_()
