"""One of several replies that stand side by side: what it says so far, with Stop and Choose.

A reply's `StoredMessage` and its number go in, wishes come out. Arrow keys ask for a neighbour, Enter
chooses. It knows nothing about the others.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu, QWidget

from app.data.stored_message import MessageState, StoredMessage
from app.views.message_actions import MessageActions
from app.views.message_view import MessageView
from app.views.theme import set_style

_STEPS = {
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
}
_FRAME = 1
_ACROSS = frozenset({Qt.Key.Key_Left, Qt.Key.Key_Right})


class VariantActions(MessageActions):
    """Stop while it is being written, copy, choose; everything else can be done once it was chosen."""

    stop_requested = Signal()
    choose_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stop = self._button(self.stop_requested.emit)
        self.choose = self._button(self.choose_requested.emit)
        self._name(self.stop, self.tr("Stop"), self.tr("Stop this answer; the others go on"))
        self._name(self.choose, self.tr("Choose"), self.tr("Go on with this answer (Enter)"))
        set_style(self.choose, "choose", True)
        row = self.layout()
        assert row is not None  # made by MessageActions
        row.addWidget(self.stop)
        row.addWidget(self.choose)

    def show_message(self, message: StoredMessage, *, is_last: bool) -> None:  # noqa: ARG002 -- as others have it
        """Offer what makes sense while nobody has chosen."""
        is_written = message.state is MessageState.STREAMING
        wanted: dict[QWidget, bool] = {
            self.stop: is_written,
            self.choose: bool(message.content),
            self.copy: bool(message.content) and not is_written,  # a column is narrow
        }
        for widget in (self.versions, *self._buttons(), self.stop, self.choose):
            widget.setVisible(wanted.get(widget, False))

    def tab_stops(self) -> list[QWidget]:
        """What the keyboard can reach in reading order."""
        return [self.copy, self.stop, self.choose]

    def add_to(self, menu: QMenu) -> None:
        """Offer the same in `menu`."""
        for button in (self.copy, self.stop, self.choose):
            if not button.isHidden():
                menu.addAction(button.accessibleName(), button.click)
        self._add_more(menu)


class VariantView(MessageView):
    """A column with its own frame."""

    stop_requested = Signal()
    choose_requested = Signal()

    step_requested = Signal(int)
    """Which neighbour shall have the focus: 1 the next one, -1 the one before."""

    def __init__(
        self, message: StoredMessage, number: int, n_variants: int, parent: QWidget | None = None
    ) -> None:
        """`number` counts from 1."""
        words = QCoreApplication.translate("VariantView", "Variant {0} of {1}")
        self._title = words.format(number, n_variants)
        actions = VariantActions()
        super().__init__(message, parent, actions=actions)
        self.actions_of_variant = actions
        self.setObjectName("variant")
        self.setAccessibleName(self._title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        actions.stop_requested.connect(self.stop_requested)
        actions.choose_requested.connect(self.choose_requested)

    def author(self, _message: StoredMessage) -> str:
        """Its number stands where a name stands otherwise."""
        return self._title

    def fit(self, width: int) -> int:
        """The frame takes a pixel on each side."""
        return super().fit(width - 2 * _FRAME) + 2 * _FRAME

    def tab_stops(self) -> list[QWidget]:
        """The column itself comes first."""
        return [self, *super().tab_stops()]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go to a neighbour, Enter chooses."""
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.actions_of_variant.choose.isHidden():
            self.choose_requested.emit()
        elif key in _STEPS and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            is_mirrored = key in _ACROSS and self.layoutDirection() is Qt.LayoutDirection.RightToLeft
            self.step_requested.emit(-_STEPS[key] if is_mirrored else _STEPS[key])
        else:
            super().keyPressEvent(event)
