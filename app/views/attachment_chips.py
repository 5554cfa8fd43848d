"""The files of a message that is being written, one chip each: name, tokens, and a button to remove it.

`DraftAttachment`s go in, the wish to remove one comes out. Promises: names are shown as text; however many
files there are, three rows are enough, and the rest scrolls. It knows nothing about reading and counting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QStyle, QToolButton, QWidget

from app.services.attachments import AttachmentState, DraftAttachment
from app.views.number_format import NOT_AVAILABLE
from app.views.theme import set_style
from app.views.tokens import UNIT

MAX_ROWS = 3
_WIDEST_NAME = UNIT * 24


class AttachmentChip(QFrame):
    """One file."""

    def __init__(self, item: DraftAttachment, remove: Callable[[str], None], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self.item_id = item.id
        self.name = QLabel()
        self.name.setTextFormat(Qt.TextFormat.PlainText)
        self.state = QLabel()
        self.state.setProperty("muted", True)
        self.remove = QToolButton()
        self.remove.setObjectName("removeChip")
        self.remove.setText("×")
        self.remove.setFixedSize(UNIT * 5 // 2, UNIT * 5 // 2)
        self.remove.clicked.connect(lambda: remove(item.id))
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT, UNIT // 2, UNIT, UNIT // 2)
        row.setSpacing(UNIT)
        for part in (self.name, self.state, self.remove):
            row.addWidget(part)

    def show_item(self, item: DraftAttachment, n_tokens: int | None) -> None:
        """Say what is known of the file."""
        state = self._state_of(item, n_tokens)
        elide = Qt.TextElideMode.ElideMiddle
        self.name.setText(self.fontMetrics().elidedText(item.name, elide, _WIDEST_NAME))
        self.state.setText(state)
        self.setAccessibleName(f"{item.name}, {state}")
        self.setToolTip(item.problem or item.name)
        remove = self.tr("Remove {0}").format(item.name)
        self.remove.setAccessibleName(remove)
        self.remove.setAccessibleDescription(item.problem or state)
        self.remove.setToolTip(remove)
        for widget in (self, self.name, self.state, self.remove):
            set_style(widget, "refused", item.state is AttachmentState.REFUSED)

    def _state_of(self, item: DraftAttachment, n_tokens: int | None) -> str:
        match item.state:
            case AttachmentState.READING:
                return self.tr("reading …")
            case AttachmentState.REFUSED:
                return self.tr("not attached")
        if n_tokens == 1:
            return self.tr("1 token")
        return self.tr("{0} tokens").format(NOT_AVAILABLE if n_tokens is None else f"{n_tokens:,}")


class AttachmentChips(QScrollArea):
    """All files, in rows as wide as there is room; hidden while there is none."""

    remove_requested = Signal(str)
    """The id of a `DraftAttachment`."""

    emptied = Signal()
    """The chip that had the focus is gone, and there is no other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chips")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Attached files"))
        self.chips: list[AttachmentChip] = []
        self._room = QWidget()
        self._room.setObjectName("chipRoom")
        self.setWidget(self._room)
        self.hide()

    def show_items(self, items: Sequence[DraftAttachment], tokens_of: Callable[[str], int | None]) -> None:
        """Show these files, with the tokens that are known of each by its id."""
        former = {chip.item_id: chip for chip in self.chips}
        focused = next((n for n, chip in enumerate(self.chips) if chip.remove.hasFocus()), None)
        self.chips = [former.pop(item.id) if item.id in former else self._new(item) for item in items]
        for chip, item in zip(self.chips, items, strict=True):
            chip.show_item(item, tokens_of(item.id))
        self._move_focus(focused, set(former.values()))
        for chip in former.values():
            chip.hide()
            chip.deleteLater()
        self.setVisible(bool(items))
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width needs other rows."""
        super().resizeEvent(event)
        self._place()

    def sizeHint(self) -> QSize:
        """As high as the rows."""
        return QSize(UNIT * 30, self.maximumHeight())

    def minimumSizeHint(self) -> QSize:
        """One row, where a small window has no room for more."""
        return QSize(UNIT * 30, self.chips[0].sizeHint().height() if self.chips else 0)

    def _new(self, item: DraftAttachment) -> AttachmentChip:
        chip = AttachmentChip(item, self.remove_requested.emit, self._room)
        chip.show()
        return chip

    def _move_focus(self, focused: int | None, gone: set[AttachmentChip]) -> None:
        """To the chip that stands where the removed one stood."""
        if focused is None or not any(chip.remove.hasFocus() for chip in gone):
            return
        if self.chips:
            self.chips[min(focused, len(self.chips) - 1)].remove.setFocus()
        else:
            self.emptied.emit()

    def _place(self) -> None:
        width, gap = self.viewport().width(), UNIT // 2
        corner, row_height = QPoint(0, 0), 0
        for chip in self.chips:
            size = chip.sizeHint().boundedTo(QSize(width, UNIT * 100))
            if corner.x() and corner.x() + size.width() > width:
                corner = QPoint(0, corner.y() + row_height + gap)
            place = QRect(corner, size)
            chip.setGeometry(QStyle.visualRect(self.layoutDirection(), QRect(0, 0, width, 0), place))
            corner.setX(corner.x() + size.width() + gap)
            row_height = size.height()
        self._room.resize(width, corner.y() + row_height)
        self.setMaximumHeight(min(self._room.height(), MAX_ROWS * (row_height + gap)))
        self.updateGeometry()
