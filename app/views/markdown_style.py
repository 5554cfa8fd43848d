"""How Markdown looks once Qt has read it: spacing, headings, quotes, code panels, tables.

Works on a document in place, in the colours of the tokens it is given. The promise that counts: code
is always left to right and wraps instead of being cut off. It knows nothing about where the text
came from.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextTable,
)

from app.views.tokens import UNIT, Tokens

_LINE_HEIGHT = 1.4
"""Distance of two lines over the height of the font."""

_HEADING_SIZES = {1: 2, 2: 1}
"""Qt's steps above the normal size: 1 is 1.2 times, 2 is 1.5 times as large."""


def dress_markdown(document: QTextDocument, tokens: Tokens) -> None:
    """Give a document that was read from Markdown the looks of Weir."""
    space_lines(document)
    _dress_headings(document)
    _dress_quotes(document, tokens)
    _dress_code(document, tokens)
    _dress_tables(document, tokens)
    _flatten_gaps(document)


def space_lines(document: QTextDocument) -> None:
    """Give all lines a generous height."""
    # A minimum in pixels, not a percentage: Qt leaves a percentage out of each block's first line.
    spacing = QTextBlockFormat()
    spacing.setLineHeight(
        round(QFontMetricsF(document.defaultFont()).height() * _LINE_HEIGHT),
        QTextBlockFormat.LineHeightTypes.MinimumHeight.value,
    )
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.mergeBlockFormat(spacing)


def _is_code(block: QTextBlock) -> bool:
    form = block.blockFormat()
    return form.hasProperty(QTextFormat.Property.BlockCodeFence) or form.hasProperty(
        QTextFormat.Property.BlockCodeLanguage
    )


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _code_runs(document: QTextDocument) -> list[tuple[int, int]]:
    """Start and end positions of each run of neighbouring code lines, in order."""
    runs: list[tuple[int, int]] = []
    previous_was_code = False
    for block in _blocks(document):
        if code := _is_code(block):
            start = runs.pop()[0] if previous_was_code else block.position()
            runs.append((start, block.position() + block.length() - 1))
        previous_was_code = code
    return runs


def _dress_headings(document: QTextDocument) -> None:
    """Headings of a message are no larger than a message bears."""
    for block in _blocks(document):
        if level := block.blockFormat().headingLevel():
            letters = QTextCharFormat()
            letters.setProperty(QTextFormat.Property.FontSizeAdjustment, _HEADING_SIZES.get(level, 0))
            cursor = QTextCursor(block)
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(letters)


def _dress_quotes(document: QTextDocument, tokens: Tokens) -> None:
    letters = QTextCharFormat()
    letters.setForeground(QBrush(QColor(tokens.muted)))
    indented = QTextBlockFormat()
    indented.setRightMargin(UNIT)
    for block in _blocks(document):
        if level := block.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel):
            indented.setLeftMargin(UNIT * 2 * min(level, 8))
            cursor = QTextCursor(block)
            cursor.mergeBlockFormat(indented)
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(letters)


def _dress_code(document: QTextDocument, tokens: Tokens) -> None:
    """Give code its own panel, left to right, that wraps instead of being cut off."""
    line = QTextBlockFormat()
    line.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    line.setNonBreakableLines(False)
    line.setTopMargin(0)
    line.setBottomMargin(0)
    font = _fixed_font(document)
    line.setLineHeight(
        round(QFontMetricsF(font).height() * _LINE_HEIGHT),
        QTextBlockFormat.LineHeightTypes.MinimumHeight.value,
    )
    letters = QTextCharFormat()
    letters.setFont(font, QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesAll)
    panel = QTextFrameFormat()
    panel.setBackground(QBrush(QColor(tokens.code)))
    panel.setBorder(0)
    panel.setPadding(UNIT * 1.5)
    panel.setTopMargin(UNIT / 2)
    panel.setBottomMargin(UNIT)
    # From the last to the first: a panel inserted at one place moves all positions after it.
    for start, end in reversed(_code_runs(document)):
        cursor = QTextCursor(document)
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        # First the panel: it gives the lines at its edges a new format.
        _merge_formats(cursor.insertFrame(panel), line, letters)


def _merge_formats(frame: QTextFrame, paragraphs: QTextBlockFormat, letters: QTextCharFormat) -> None:
    cursor = frame.firstCursorPosition()
    cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeBlockFormat(paragraphs)
    cursor.mergeCharFormat(letters)


def _fixed_font(document: QTextDocument) -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(document.defaultFont().pointSizeF() * 0.95)
    return font


def _dress_tables(document: QTextDocument, tokens: Tokens) -> None:
    flat = QTextBlockFormat()
    flat.setTopMargin(0)
    flat.setBottomMargin(0)
    flat.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
    for table in document.rootFrame().childFrames():
        if isinstance(table, QTextTable):
            form = table.format().toTableFormat()
            form.setBorder(1)
            form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            form.setBorderCollapse(True)
            form.setBorderBrush(QBrush(QColor(tokens.border)))
            form.setCellPadding(UNIT * 0.75)
            form.setCellSpacing(0)
            form.setTopMargin(UNIT)
            form.setBottomMargin(UNIT)
            table.setFormat(form)
            _merge_formats(table, flat, QTextCharFormat())
            _mend_first_cell(table)


def _mend_first_cell(table: QTextTable) -> None:
    """After a code block Qt puts an empty line into a table's first cell and forgets that it is bold."""
    cursor = table.cellAt(0, 0).firstCursorPosition()
    if cursor.block().length() == 1 and cursor.position() < table.cellAt(0, 0).lastPosition():
        cursor.deleteChar()
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        cursor.mergeCharFormat(bold)


def _flatten_gaps(document: QTextDocument) -> None:
    """Qt keeps an empty block around every panel and table; give it no height of its own."""
    gap = QTextBlockFormat()
    gap.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    gap.setTopMargin(0)
    gap.setBottomMargin(0)
    frames = {frame.firstPosition() - 1 for frame in document.rootFrame().childFrames()}
    ends = {frame.lastPosition() + 1 for frame in document.rootFrame().childFrames()}
    for position in frames | ends:
        block = document.findBlock(position)
        if not block.text().strip("\ufdd0\ufdd1") and document.frameAt(position) is document.rootFrame():
            QTextCursor(block).mergeBlockFormat(gap)
