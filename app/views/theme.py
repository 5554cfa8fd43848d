"""How Weir is dressed: the tokens become a palette and a style sheet for the whole application.

Knows nothing about single widgets; what the style sheet says of them stands in `style_sheet`.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QColor, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.views.style_sheet import style_sheet
from app.views.tokens import DARK, LIGHT, Tokens


def palette_of(tokens: Tokens) -> QPalette:
    """A palette for the whole application."""
    role = QPalette.ColorRole
    colours = {
        role.Window: tokens.window,
        role.WindowText: tokens.text,
        role.Base: tokens.surface,
        role.AlternateBase: tokens.sidebar,
        role.Text: tokens.text,
        role.Button: tokens.raised,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.warning,
        role.Highlight: tokens.selection,
        role.HighlightedText: tokens.text,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.accent,
        role.ToolTipBase: tokens.raised,
        role.ToolTipText: tokens.text,
        role.PlaceholderText: tokens.muted,
        role.Accent: tokens.accent,
        role.Light: tokens.raised,
        role.Mid: tokens.border,
        role.Dark: tokens.border,
    }
    palette = QPalette()
    for key, colour in colours.items():
        palette.setColor(key, QColor(colour))
    for key in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, key, QColor(tokens.muted))
    return palette


def apply_theme(application: QApplication, choice: str = "system", font_size: int | None = None) -> None:
    """Dress the application in `choice`: "light", "dark", or "system" for what the desktop uses.

    `font_size` is that of all text, in points; None is the desktop's. Dressing again in what is worn
    already costs nothing.
    """
    dark = choice == "dark" or (
        choice == "system" and application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    )
    tokens = DARK if dark else LIGHT
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    system_size = QFontInfo(font).pointSizeF()
    if font_size is not None:
        font.setPointSizeF(font_size)
    sheet = _scaled(style_sheet(tokens), (font_size or system_size) / system_size)
    if application.font() != font:
        application.setFont(font)
    if application.styleSheet() != sheet:
        # One style on every platform: native styles ignore parts of a palette, each another part.
        if application.style().name().lower() != "fusion":
            application.setStyle("Fusion")
        application.setPalette(palette_of(tokens))
        application.setStyleSheet(sheet)


def apply_direction(application: QApplication, choice: str) -> None:
    """Lay the windows out "ltr", "rtl", or "auto" as the system's language has it."""
    directions = {"ltr": Qt.LayoutDirection.LeftToRight, "rtl": Qt.LayoutDirection.RightToLeft}
    application.setLayoutDirection(directions.get(choice, QLocale.system().textDirection()))


def _scaled(sheet: str, factor: float) -> str:
    """The style sheet with its font sizes, which are pixels for the desktop's own size, times `factor`."""
    return re.sub(r"font-size: *(\d+)px", lambda size: f"font-size: {round(int(size[1]) * factor)}px", sheet)


def set_style(widget: QWidget, name: str, value: bool) -> None:
    """Set a property that the style sheet asks for, and dress the widget anew if it has changed."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
