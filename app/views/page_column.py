"""A column in the middle of a page, not wider than can be read. Knows nothing about what stands in it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget


def page_column(layout: QVBoxLayout, widest: int) -> QWidget:
    """`layout` in the middle, at most `widest` pixels wide."""
    column = QWidget()
    column.setMaximumWidth(widest)
    column.setLayout(layout)
    outer = QWidget()
    row = QHBoxLayout(outer)
    row.setContentsMargins(0, 0, 0, 0)
    row.addStretch(1)
    row.addWidget(column, 1000)
    row.addStretch(1)
    return outer
