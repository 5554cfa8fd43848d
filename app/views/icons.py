"""The few line drawings on Weir's buttons.

A name and a colour go in, an icon comes out, sharp at each scale of the screen. Drawn here and not taken
from the system: its theme may lack them, or be dark on dark. Knows nothing about buttons.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.views.tokens import current_tokens

SIZE = 18
"""Pixels of an icon on a button."""

_SCALES = (1, 2, 3)
_GRID = 24

_DRAWINGS = {
    "panel": '<rect x="3.5" y="4.5" width="17" height="15" rx="2.5"/><path d="M9.5 4.5v15"/>',
    "plus": '<path d="M12 5v14M5 12h14"/>',
    "search": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
    "more": '<path d="M5 12h.01M12 12h.01M19 12h.01" stroke-width="3"/>',
    "models": '<path d="M12 3.5l8 4.5v8l-8 4.5L4 16V8z"/><path d="M4 8l8 4.5L20 8M12 12.5v8"/>',
    "benchmarks": '<path d="M4 17.5a8 8 0 1 1 16 0M12 17.5l4-6.5"/><path d="M4 20.5h16"/>',
    "endurance": '<path d="M3.5 19.5h17M3.5 15c3-8 5-8 7.5-3.5S16.5 14 20.5 5"/>',
    "settings": '<path d="M4 7h9M17.5 7H20M4 17h2.5M11 17h9"/><circle cx="15.2" cy="7" r="2.3"/>'
    '<circle cx="8.7" cy="17" r="2.3"/>',
    "keyboard": '<rect x="2.5" y="6" width="19" height="12.5" rx="2.5"/>'
    '<path d="M6.5 10h.01M10.2 10h.01M13.8 10h.01M17.5 10h.01" stroke-width="2"/><path d="M8 14.5h8"/>',
    "chat": '<path d="M4 5.5h16v11H10.5L6.5 20v-3.5H4z"/>',
    "command": '<path d="M6 8l4 4-4 4M12.5 16.5H18"/>',
}


def icon(name: str, margin: int = 0) -> QIcon:
    """One of the drawings, in the colours of now, with so many pixels left free on both sides."""
    tokens = current_tokens()
    result = QIcon()
    for scale in _SCALES:
        result.addPixmap(_pixmap(name, tokens.text, scale, margin))
        result.addPixmap(_pixmap(name, tokens.muted, scale, margin), QIcon.Mode.Disabled)
    return result


def _pixmap(name: str, colour: str, scale: int, margin: int) -> QPixmap:
    picture = QPixmap((SIZE + 2 * margin) * scale, SIZE * scale)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(_svg(name, colour).encode())).render(
        painter, QRectF(margin * scale, 0, SIZE * scale, SIZE * scale)
    )
    painter.end()
    picture.setDevicePixelRatio(scale)
    return picture


def _svg(name: str, colour: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_GRID} {_GRID}"><g fill="none"'
        f' stroke="{colour}" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round">'
        f"{_DRAWINGS[name]}</g></svg>"
    )
