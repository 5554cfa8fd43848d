"""The rows of all downloads, one widget each, below one another.

A `DownloadsItemModel` and what makes a row go in. Promises that a row which moves or changes stays the same
widget, that the focus goes to a neighbour when its row is taken away, and that it is known whether rows have
just slid under the pointer. Knows nothing about downloads.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.item_models.downloads_item_model import DownloadsItemModel
from app.views.download_row import DownloadRow
from app.views.tokens import UNIT


class DownloadList(QScrollArea):
    """Scrolls up and down only."""

    def __init__(
        self, models: DownloadsItemModel, make_row: Callable[[], DownloadRow], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAccessibleName(self.tr("All downloads"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._models = models
        self._make_row = make_row
        self.rows: list[DownloadRow] = []
        self._slid_at = float("-inf")
        content = QWidget()
        content.setObjectName("pageContent")
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT)
        self._column.addStretch(1)
        self.setWidget(content)
        models.rowsInserted.connect(self._insert)
        models.rowsRemoved.connect(self._remove)
        models.rowsMoved.connect(self._move)
        models.dataChanged.connect(self._update)

    @property
    def has_just_slid(self) -> bool:
        """Whether rows have moved within the time of a double click: who presses meant what was there."""
        return (time.monotonic() - self._slid_at) * 1000 < QApplication.doubleClickInterval()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A row is what the keys are for."""
        super().focusInEvent(event)
        if self.rows:
            self.rows[0].setFocus()

    def _insert(self, _parent: QModelIndex, first: int, last: int) -> None:
        if first < len(self.rows):
            self._slid_at = time.monotonic()
        for number in range(first, last + 1):
            row = self._make_row()
            self.rows.insert(number, row)
            self._column.insertWidget(number, row)
            self._show(number)

    def _remove(self, _parent: QModelIndex, first: int, last: int) -> None:
        if last + 1 < len(self.rows):
            self._slid_at = time.monotonic()
        for number in reversed(range(first, last + 1)):
            row = self.rows.pop(number)
            focused = QApplication.focusWidget()
            had_focus = focused is not None and (focused is row or row.isAncestorOf(focused))
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
            if had_focus and self.rows:
                self.rows[min(number, len(self.rows) - 1)].setFocus()

    def _move(self, _parent: QModelIndex, first: int, _last: int, _to: QModelIndex, before: int) -> None:
        self._slid_at = time.monotonic()
        number = before - (before > first)
        row = self.rows.pop(first)
        self.rows.insert(number, row)
        self._column.removeWidget(row)
        self._column.insertWidget(number, row)
        for above, below in zip(self.rows, self.rows[1:], strict=False):
            QWidget.setTabOrder(above, below)

    def _update(self, first: QModelIndex, last: QModelIndex) -> None:
        for number in range(first.row(), last.row() + 1):
            self._show(number)

    def _show(self, number: int) -> None:
        if state := self._models.state_at(number):
            self.rows[number].show_state(state)
