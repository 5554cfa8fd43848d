"""What a reader has selected in a message, as plain text.

Formulas come out as their LaTeX, items with their markers, cells with tabs between them; nothing that the
layout needs and the writer of the message has not written. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextList, QTextListFormat

from app.views.markdown_style import ISOLATE
from app.views.math_object import SOURCE

_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


def selected_text(cursor: QTextCursor) -> str:
    """The text between the ends of `cursor`'s selection."""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    block = cursor.document().findBlock(start)
    lines: list[list[str]] = []  # of a table's row its cells, else one text
    row: tuple[int, int] | None = None
    while block.isValid() and block.position() <= end:
        if not _is_gap(block):
            before, row = row, _row(block)
            if row is None or row != before:
                lines.append([])
            marker = _marker(block) if start <= block.position() < end else ""
            cell = marker + _inside(block, start, end)
            lines[-1].insert(0 if _runs_from_right(block) else len(lines[-1]), cell)
        block = block.next()
    return "\n".join("\t".join(cells) for cells in lines)


def _is_gap(block: QTextBlock) -> bool:
    """Whether the block only keeps panels and tables apart."""
    return block.length() == 1 and block.blockFormat().lineHeightType() == _FIXED


def _row(block: QTextBlock) -> tuple[int, int] | None:
    """The table and row that the block stands in."""
    table = QTextCursor(block).currentTable()
    return (table.firstPosition(), table.cellAt(block.position()).row()) if table else None


def _runs_from_right(block: QTextBlock) -> bool:
    """Whether the block stands in a table whose first column is its last one in the document."""
    table = QTextCursor(block).currentTable()
    return table is not None and table.format().layoutDirection() == Qt.LayoutDirection.RightToLeft


def _marker(block: QTextBlock) -> str:
    items: QTextList | None = block.textList()
    if items is None:
        return ""
    marker = block.blockFormat().marker()
    if marker == QTextBlockFormat.MarkerType.Checked:
        sign = "[x]"
    elif marker == QTextBlockFormat.MarkerType.Unchecked:
        sign = "[ ]"
    else:
        form = items.format()
        is_numbered = form.style() == QTextListFormat.Style.ListDecimal
        sign = f"{form.start() + items.itemNumber(block)}." if is_numbered else "-"
    return f"{'  ' * (items.format().indent() - 1)}{sign} "


def _inside(block: QTextBlock, start: int, end: int) -> str:
    parts = []
    fragments = block.begin()
    while not fragments.atEnd():
        fragment = fragments.fragment()
        form = fragment.charFormat()
        # In UTF-16 units, as positions are.
        units = fragment.text().encode("utf-16-le", "surrogatepass")
        first, last = max(0, start - fragment.position()), max(0, end - fragment.position())
        text = units[2 * first : 2 * last].decode("utf-16-le", "replace")
        if form.hasProperty(SOURCE):
            parts.append(str(form.property(SOURCE)) * len(text))
        elif not form.hasProperty(ISOLATE):
            parts.append(text)
        fragments += 1
    return "".join(parts).replace("\N{LINE SEPARATOR}", "\n").replace("\N{NO-BREAK SPACE}", " ")
