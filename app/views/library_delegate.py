"""How a model of the library looks: its name above where it comes from, its figures at the end of the line.

Rows of a `LibraryItemModel` go in. A model that cannot be loaded has the reason below its name, and no
figures. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from app.data.installed_model import InstalledModel
from app.item_models.library_item_model import MODEL_ROLE
from app.views.library_words import SEPARATOR, figures, fit_in_words, second_line, verdict_in_words
from app.views.tokens import UNIT, current_tokens
from app.views.two_line_delegate import MARGIN, TRAILING, Index, TwoLineDelegate, draw_text, lines, strong
from engine.memory.memory_plan import Verdict

_GAP = UNIT * 2

# The columns of figures are as wide as the widest text that is usual in them.
_WIDEST = ("IQ4_XS_XL", "1,000.0 GiB", "1,048,576 tokens")
_COLUMNS_FROM = UNIT * 90


class LibraryDelegate(TwoLineDelegate):
    """Two lines; the figures stand in columns where there is room, else in the second line."""

    def __init__(self, is_loaded: Callable[[InstalledModel], bool], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_loaded = is_loaded
        self._widths: dict[str, Sequence[int]] = {}

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, _index: Index) -> None:
        """The name is edited where it stands."""
        area = option.rect.adjusted(MARGIN - UNIT // 2, 0, -MARGIN, 0)
        height = editor.sizeHint().height()
        editor.setGeometry(area.left(), area.top() + UNIT // 4, min(area.width(), UNIT * 60), height)

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The figures and the second line, then the name in what is left of the first."""
        model: InstalledModel = index.data(MODEL_ROLE)
        tokens = current_tokens()
        upper, lower = lines(option)
        below = second_line(model, self._is_loaded(model))
        if model.can_be_chosen and upper.width() >= _COLUMNS_FROM:
            upper = self._draw_columns(painter, option, upper, model)
        elif model.can_be_chosen:
            below = SEPARATOR.join(part for part in (*figures(model), below) if part)
            upper = self._draw_fit(painter, upper, model)
        words = tokens.muted if model.can_be_chosen else tokens.warning
        draw_text(painter, lower, below, words)
        painter.setFont(strong(option.font))
        colour = (
            tokens.accent if self._is_loaded(model) else tokens.text if model.can_be_chosen else tokens.muted
        )
        draw_text(painter, upper, model.name, colour)

    def _draw_columns(
        self, painter: QPainter, option: QStyleOptionViewItem, area: QRect, model: InstalledModel
    ) -> QRect:
        """The figures, from the end of the line on; returns what is left of it."""
        texts = (*figures(model), fit_in_words(model))
        colours = (*(current_tokens().muted,) * (len(texts) - 1), _fit_colour(model))
        places = _places(self._column_widths(option.font), area, option.direction)
        for place, text, colour in zip(places, reversed(texts), reversed(colours), strict=True):
            draw_text(painter, place, text, colour, TRAILING)
            area = _without_end(area, place.width() + _GAP, option.direction)
        return area

    def _column_widths(self, font: QFont) -> Sequence[int]:
        """Of the figures and the verdict; measured once for each font."""
        key = font.key()
        if key not in self._widths:
            advance = QFontMetrics(font).horizontalAdvance
            verdict = max(advance(verdict_in_words(verdict)) for verdict in Verdict)
            self._widths[key] = tuple(width + UNIT // 2 for width in (*map(advance, _WIDEST), verdict))
        return self._widths[key]

    def _draw_fit(self, painter: QPainter, area: QRect, model: InstalledModel) -> QRect:
        words = fit_in_words(model)
        width = painter.fontMetrics().horizontalAdvance(words)
        draw_text(painter, area, words, _fit_colour(model), TRAILING)
        return _without_end(area, width + _GAP, painter.layoutDirection()) if words else area


def _places(widths: Sequence[int], area: QRect, direction: Qt.LayoutDirection) -> Iterator[QRect]:
    """The columns, from the end of the line on."""
    left = QRect(area)
    for width in reversed(widths):
        at_right = direction is not Qt.LayoutDirection.RightToLeft
        yield QRect(left.right() - width + 1 if at_right else left.left(), left.top(), width, left.height())
        left = _without_end(left, width + _GAP, direction)


def _without_end(area: QRect, width: int, direction: Qt.LayoutDirection) -> QRect:
    if direction is Qt.LayoutDirection.RightToLeft:
        return area.adjusted(width, 0, 0, 0)
    return area.adjusted(0, 0, -width, 0)


def _fit_colour(model: InstalledModel) -> str:
    tokens = current_tokens()
    fits = model.fit is None or model.fit.verdict is not Verdict.DOES_NOT_FIT
    return tokens.text if fits else tokens.warning
