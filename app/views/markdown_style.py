"""What Markdown looks like: the formats of blocks, letters, panels and tables.

A font and the tokens go in; formats come out, made once. Distances follow the grid, lines the height of
the font. It knows nothing about texts.
"""

from __future__ import annotations

import functools

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTableFormat,
)

from app.views.code_header import HEADER_HEIGHT
from app.views.link_address import link_tip
from app.views.markdown_runs import Run
from app.views.tokens import UNIT, Tokens

INDENT = UNIT * 3
"""How far lists and quotes stand in, in pixels."""

QUOTE_BARS = QTextFormat.Property.UserProperty + 1
"""Of a block: a bit for each step of indentation that has a quote's bar."""

ISOLATE = QTextFormat.Property.UserProperty + 2
"""Of a character: it only keeps code left to right, and is not part of the text."""

BULLETS = (
    QTextListFormat.Style.ListDisc,
    QTextListFormat.Style.ListCircle,
    QTextListFormat.Style.ListSquare,
)
"""Of lists in lists, from the outermost; `markdown_marks` paints them."""

_LINE_HEIGHT = 1.4
"""Distance of two lines over the height of the font."""

_HEADING_SIZES = {1: 2, 2: 1}
"""Qt's steps above the normal size: 1 is 1.2 times, 2 is 1.5 times as large."""

_X_HEIGHT = 0.473
"""The x-height of the font of formulas over its size."""


class MarkdownStyle:
    """The formats for one font in one set of colours. Formats are values: change only copies."""

    def __init__(self, font: QFont, tokens: Tokens) -> None:
        self.font, self.tokens = font, tokens
        self.metrics = QFontMetricsF(font)
        self.fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        if font.pointSizeF() > 0:
            self.fixed.setPointSizeF(font.pointSizeF() * 0.95)
        else:
            self.fixed.setPixelSize(font.pixelSize())
        self.formula_size = round(self.metrics.xHeight() / _X_HEIGHT or QFontInfo(font).pixelSize(), 1)
        self._letters: dict[tuple[Run, bool, int], QTextCharFormat] = {}

    def paragraph(self, *, tight: bool = False) -> QTextBlockFormat:
        """Running text; `tight` in lists whose items stand close."""
        form = QTextBlockFormat()
        form.setLineHeight(_spaced(self.metrics), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        form.setBottomMargin(UNIT / 4 if tight else UNIT)
        return form

    def heading(self, level: int) -> QTextBlockFormat:
        """A heading of level 1 to 6."""
        form = self.paragraph()
        form.setHeadingLevel(level)
        form.setTopMargin(UNIT)
        form.setBottomMargin(UNIT / 2)
        return form

    def rule(self) -> QTextBlockFormat:
        """A line across."""
        form = QTextBlockFormat()
        form.setProperty(
            QTextFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        form.setBackground(QBrush(QColor(self.tokens.border)))
        form.setTopMargin(UNIT / 2)
        form.setBottomMargin(UNIT)
        return form

    def gap(self) -> QTextBlockFormat:
        """Qt keeps an empty block around each panel and table; it has no height of its own."""
        form = QTextBlockFormat()
        form.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        return form

    def unseen(self) -> QTextCharFormat:
        """Of a block whose bullet Qt shall not paint: it takes the colour of the block's own letters."""
        form = QTextCharFormat()
        form.setForeground(QBrush(QColor(Qt.GlobalColor.transparent)))
        return form

    def code_line(self) -> QTextBlockFormat:
        """Code is always left to right, and wraps instead of being cut off."""
        form = QTextBlockFormat()
        form.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        form.setLineHeight(
            _spaced(QFontMetricsF(self.fixed)), QTextBlockFormat.LineHeightTypes.MinimumHeight.value
        )
        return form

    def code_letters(self) -> QTextCharFormat:
        """Letters of a code panel."""
        form = QTextCharFormat()
        form.setFont(self.fixed, QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesAll)
        return form

    def formula_source(self) -> QTextCharFormat:
        """A formula that is not set, or not yet."""
        form = self.code_letters()
        form.setForeground(QBrush(QColor(self.tokens.muted)))
        return form

    def panel(self) -> QTextFrameFormat:
        """The panel of code, below its header; its ground is painted by the widget."""
        form = QTextFrameFormat()
        form.setBorder(0)
        form.setPadding(UNIT)
        form.setTopMargin(HEADER_HEIGHT + UNIT)
        form.setBottomMargin(UNIT * 1.5)
        return form

    def table(self) -> QTextTableFormat:
        """A table with thin lines."""
        form = QTextTableFormat()
        form.setBorder(1)
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderCollapse(True)
        form.setBorderBrush(QBrush(QColor(self.tokens.border)))
        form.setCellPadding(UNIT * 0.75)
        form.setCellSpacing(0)
        form.setTopMargin(UNIT / 2)
        form.setBottomMargin(UNIT * 1.5)
        return form

    def letters(self, run: Run, *, quoted: bool = False, level: int = 0) -> QTextCharFormat:
        """The letters of a run, in a quote or in a heading of `level`."""
        key = (run._replace(text=""), quoted, level)
        if key not in self._letters:
            if len(self._letters) > 1000:  # addresses: each link has its own letters
                self._letters.clear()
            self._letters[key] = self._make_letters(run, quoted, level)
        return self._letters[key]

    def _make_letters(self, run: Run, quoted: bool, level: int) -> QTextCharFormat:
        form = self.code_letters() if run.code else QTextCharFormat()
        if run.code:
            form.setBackground(QBrush(QColor(self.tokens.code)))
        if run.bold or level:
            form.setFontWeight(QFont.Weight.Bold)
        if level:
            form.setProperty(QTextFormat.Property.FontSizeAdjustment, _HEADING_SIZES.get(level, 0))
        if run.italic:
            form.setFontItalic(True)
        if run.struck:
            form.setFontStrikeOut(True)
        if run.address is not None:
            form.setAnchor(True)
            form.setAnchorHref(run.address)
            form.setToolTip(link_tip(run.address))
            form.setForeground(QBrush(QColor(self.tokens.accent)))
            form.setFontUnderline(True)
        elif quoted:
            form.setForeground(QBrush(QColor(self.tokens.muted)))
        return form


@functools.lru_cache(maxsize=8)
def _style(key: tuple[str, Tokens]) -> MarkdownStyle:
    font = QFont()
    font.fromString(key[0])
    return MarkdownStyle(font, key[1])


def style_for(font: QFont, tokens: Tokens) -> MarkdownStyle:
    """The formats for `font` in the colours of `tokens`."""
    return _style((font.toString(), tokens))


def space_lines(document: QTextDocument) -> None:
    """Give all lines of a plain text a generous height."""
    # A minimum in pixels, not a percentage: Qt leaves a percentage out of each block's first line.
    spacing = QTextBlockFormat()
    spacing.setLineHeight(
        _spaced(QFontMetricsF(document.defaultFont())), QTextBlockFormat.LineHeightTypes.MinimumHeight.value
    )
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.mergeBlockFormat(spacing)


def _spaced(metrics: QFontMetricsF) -> int:
    return round(metrics.height() * _LINE_HEIGHT)
