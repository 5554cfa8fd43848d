"""The controls of settings: numbers and choices, each shown and chosen as a plain value.

`show_value` takes the value in force, `chosen` gives the one that the user chose; showing never counts as
choosing. They know nothing about what the values mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QLocale, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QWidget

from app.views.leading_side import leading_side
from app.views.tokens import UNIT, current_tokens

_NOTHING = object()
_MARKS = str.maketrans({",": ".", "\N{ARABIC DECIMAL SEPARATOR}": "."})


class NumberBox(QDoubleSpinBox):
    """A number from `low` to `high`, whole if `decimals` is 0.

    One step below `low` stands `below`, a text, where there is one: its value is `unset`.
    """

    chosen = Signal(object)
    """An int, a float or `unset`."""

    def __init__(
        self,
        low: float,
        high: float,
        *,
        decimals: int = 0,
        step: float = 1,
        below: str | None = None,
        unset: float | None = None,
        doubling: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """`doubling`: the arrows go from one power of two to the next."""
        super().__init__(parent)
        self._low, self._high, self._unset, self._doubling = low, high, unset, doubling
        self._shown: object = _NOTHING
        # The numbers of the whole window are written so; a number that reads otherwise here would mislead.
        self.setLocale(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
        self.setGroupSeparatorShown(decimals == 0)
        self.setDecimals(decimals)
        self.setSingleStep(step)
        self.setRange(low - (10**-decimals if below else 0), high)
        self.setSpecialValueText(below or "")
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.valueChanged.connect(self._choose)
        self._align()

    def show_value(self, value: float | None) -> None:
        """Show what holds; what is being typed stays if that is nothing new."""
        if value == self._shown:
            return
        self._shown = value
        self._put(value)

    def limit(self, highest: float | None) -> None:
        """Nothing above `highest` can be chosen, and what holds above it reads as that; None lifts it."""
        most = self._high if highest is None else min(max(highest, self._low), self._high)
        if most == self.maximum():
            return
        blocked = self.blockSignals(True)
        self.setMaximum(most)
        self.blockSignals(blocked)
        if self._shown is None or isinstance(self._shown, int | float):
            self._put(self._shown)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Digits of any script and a decimal comma are taken as well."""
        typed = "".join(_western(character) for character in text)
        checked = super().validate(typed.translate(_MARKS) if self.decimals() else typed, position)
        number = _number(typed)
        if number is not None and number < self._low and number != self._unset:
            return (QValidator.State.Intermediate, typed, position)  # it would be taken for `below`
        if number is not None and number > self.maximum() and not self.decimals():
            return (QValidator.State.Intermediate, typed, position)  # dropping digits would hide the limit
        return checked

    def fixup(self, text: str) -> str:
        """A number out of range becomes the nearest one, nothing becomes `below`, the rest what held."""
        number = _number(text)
        if number is not None:
            return self.textFromValue(min(max(number, self._low), self.maximum()))
        if self.specialValueText() and not text.strip():
            self.setValue(self.minimum())  # its text is no number, so it cannot be given back
        return text

    def stepBy(self, steps: int) -> None:
        """To the next value, or power of two."""
        if not self._doubling:
            super().stepBy(steps)
            return
        self.interpretText()
        now = int(self.value())
        if steps > 0:
            self.setValue(max(self._low, 2 ** now.bit_length()))
        else:
            smaller = 2 ** ((now - 1).bit_length() - 1) if now > 1 else 0
            self.setValue(smaller if smaller >= self._low else self.minimum())

    def sizeHint(self) -> QSize:
        """As high as a `QuietComboBox`, and wide enough for what is likely."""
        return QSize(self.fontMetrics().averageCharWidth() * 16, _height(self))

    def minimumSizeHint(self) -> QSize:
        """The longest numbers may be cut: nearly all are short."""
        return QSize(self.fontMetrics().averageCharWidth() * 12, _height(self))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel scrolls the page, unless one is at work here."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        """In a window from right to left it begins on the right."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LayoutDirectionChange:
            self._align()

    def paintEvent(self, event: QPaintEvent) -> None:
        """With a border that can be seen."""
        super().paintEvent(event)
        _paint_border(self)

    def _align(self) -> None:
        self.setAlignment(leading_side(self) | Qt.AlignmentFlag.AlignVCenter)

    def _put(self, value: float | None) -> None:
        blocked = self.blockSignals(True)
        self.setValue(self.minimum() if value is None or value == self._unset else value)
        self.blockSignals(blocked)

    def _choose(self, value: float) -> None:
        if self.specialValueText() and value < self._low:
            self._shown = self._unset
        else:
            self._shown = value if self.decimals() else round(value)
        self.chosen.emit(self._shown)


class QuietComboBox(QComboBox):
    """As wide as there is room; the wheel scrolls the page, unless one is at work here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(14)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:
        """As high as a `NumberBox`."""
        return QSize(super().sizeHint().width(), _height(self))

    def paintEvent(self, event: QPaintEvent) -> None:
        """With a border that can be seen."""
        super().paintEvent(event)
        _paint_border(self)

    def showPopup(self) -> None:
        """The list is as wide as its texts, however narrow the box is."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + UNIT * 2)
        super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Turn the choice only with the focus."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class ChoiceBox(QuietComboBox):
    """One of a few values, each with its text."""

    chosen = Signal(object)
    """The value."""

    def __init__(self, choices: Sequence[tuple[str, object]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = [value for _text, value in choices]
        self.addItems([text for text, _value in choices])
        self.activated.connect(lambda index: self.chosen.emit(self._values[index]))

    def show_value(self, value: object) -> None:
        """Show what holds."""
        self.setCurrentIndex(self._values.index(value))

    def offer(self, choices: Sequence[tuple[str, object]]) -> None:
        """Other values are to choose from; one of them must be shown then."""
        values = [value for _text, value in choices]
        if values != self._values:
            self._values = values
            self.clear()
            self.addItems([text for text, _value in choices])


def _height(widget: QWidget) -> int:
    return widget.fontMetrics().height() + UNIT + 2


def _paint_border(widget: QWidget) -> None:
    """Qt's own is a shade of the window, and hardly seen in the dark; a style sheet's loses the arrows."""
    tokens = current_tokens()
    painter = QPainter(widget)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(tokens.accent if widget.hasFocus() else tokens.field))
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)
    painter.end()


def _western(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
