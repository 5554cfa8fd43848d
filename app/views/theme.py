"""The colours of Weir: one set of named tokens, a light and a dark one, and what is made of them.

Tokens become a palette and a style sheet for the whole application; widgets that paint by hand ask
`current_tokens`. The pairs of text and background below reach a contrast of 4.5:1.
This module knows nothing about single widgets beyond their object names.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

UNIT = 8
"""The grid in pixels: margins and gaps are multiples or halves of it."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Named colours as #rrggbb."""

    window: str
    surface: str
    sidebar: str
    raised: str
    text: str
    muted: str
    border: str
    accent: str
    sinks: str
    on_accent: str
    selection: str
    own: str
    code: str
    warning: str
    warning_surface: str
    warning_border: str


LIGHT = Tokens(
    window="#f6f8f8",
    surface="#ffffff",
    sidebar="#edf1f1",
    raised="#ffffff",
    text="#1a2325",
    muted="#526066",
    border="#d3dbdc",
    accent="#0b726d",
    sinks="#074744",
    on_accent="#ffffff",
    selection="#cfe6e4",
    own="#eaf3f2",
    code="#f0f3f4",
    warning="#7a4d00",
    warning_surface="#fff3d9",
    warning_border="#e3b25a",
)

DARK = Tokens(
    window="#161c1e",
    surface="#1a2123",
    sidebar="#12181a",
    raised="#20282b",
    text="#e3e9ea",
    muted="#9babaf",
    border="#303a3e",
    accent="#52c4b9",
    sinks="#2a837b",
    on_accent="#06211f",
    selection="#234a48",
    own="#1f2f30",
    code="#12181a",
    warning="#f3c069",
    warning_surface="#31260f",
    warning_border="#7d5f22",
)


def current_tokens() -> Tokens:
    """The tokens that the application is dressed in, told by how dark its windows are."""
    # The application's palette, not a widget's: style sheets make the colours of single widgets transparent.
    window = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    return DARK if window.lightness() < 128 else LIGHT


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


def apply_theme(application: QApplication, choice: str = "system") -> None:
    """Dress the application in `choice`: "light", "dark", or "system" for what the desktop uses."""
    dark = choice == "dark" or (
        choice == "system" and application.styleHints().colorScheme() is Qt.ColorScheme.Dark
    )
    tokens = DARK if dark else LIGHT
    # One style on every platform: native styles ignore parts of a palette, each another part.
    if application.style().name().lower() != "fusion":
        application.setStyle("Fusion")
    application.setPalette(palette_of(tokens))
    application.setStyleSheet(style_sheet(tokens))


def set_style(widget: QWidget, name: str, value: bool) -> None:
    """Set a property that the style sheet asks for, and dress the widget anew if it has changed."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def style_sheet(t: Tokens) -> str:
    """The style sheet; object names are set where the widgets are made."""
    return f"""
QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.border}; padding: 4px; }}
#sidebar {{ background: {t.sidebar}; }}
#sidebar QListView {{ background: transparent; border: none; outline: none; }}
#sidebar QListView::item {{ padding: 7px 10px; border-radius: 6px; color: {t.text}; }}
#sidebar QListView::item:hover {{ background: {t.border}; }}
#sidebar QListView::item:selected {{ background: {t.selection}; color: {t.text}; }}
#sidebar QListView::item:focus {{ border: 1px solid {t.accent}; padding: 6px 9px; }}
#sidebar QLineEdit {{ background: {t.surface}; border: 1px solid {t.accent}; padding: 2px 4px; }}
#main {{ background: {t.surface}; }}
#modelBar, #statusStrip {{ background: {t.window}; }}
#modelBar {{ border-bottom: 1px solid {t.border}; }}
#statusStrip {{ border-top: 1px solid {t.border}; }}
QSplitter::handle {{ background: {t.border}; }}
QLabel[muted="true"] {{ color: {t.muted}; }}
QLabel[strong="true"] {{ font-weight: 600; }}
QPushButton, QToolButton {{ border: 1px solid transparent; border-radius: 6px; padding: 5px 12px;
  background: transparent; color: {t.text}; }}
QPushButton:hover, QToolButton:hover {{ background: {t.border}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {t.accent}; }}
QToolButton::menu-indicator {{ image: none; width: 0; }}
#quiet {{ color: {t.muted}; padding: 1px 6px; }}
#modelButton {{ font-weight: 600; text-align: left; }}
#newChat {{ background: {t.raised}; border: 1px solid {t.border}; text-align: left; }}
#newChat:hover, #newest:hover {{ border-color: {t.accent}; background: {t.raised}; }}
#emptyTitle {{ font-size: 20px; font-weight: 600; }}
#newest {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 11px; padding: 3px 14px; }}
#send {{ background: {t.accent}; color: {t.on_accent}; font-weight: 600; min-width: 68px; }}
#send:focus {{ border-color: {t.text}; }}
#send:disabled {{ background: {t.border}; color: {t.muted}; }}
#send[stop="true"] {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.accent}; }}
#composer {{ background: {t.raised}; border: 1px solid {t.border}; border-radius: 10px; }}
#composer[active="true"] {{ border-color: {t.accent}; }}
#composer QTextEdit {{ background: transparent; border: none; color: {t.text};
  placeholder-text-color: {t.muted}; }}
#sightLine {{ padding: 0; }}
#mark {{ color: {t.accent}; }}
#mark[lost="true"] {{ color: {t.warning}; }}
#messageBody[dimmed="true"], ElidingLabel[dimmed="true"] {{ color: {t.muted}; }}
#facts {{ color: {t.muted}; padding: 4px 8px; }}
#editing {{ color: {t.accent}; }}
#ownMessage {{ background: {t.own}; border-radius: 10px; }}
#ownMessage[dimmed="true"] {{ background: {t.window}; }}
#messageBody {{ background: transparent; border: none; }}
#banner, #formatLine {{ background: {t.warning_surface}; border: 1px solid {t.warning_border};
  border-radius: 8px; }}
#banner QLabel, #formatLine QLabel {{ color: {t.warning}; }}
#banner QPushButton, #formatLine QToolButton {{ color: {t.warning}; border: 1px solid {t.warning_border}; }}
#banner QPushButton:focus, #formatLine QToolButton:focus {{ border-color: {t.warning}; }}
#banner[calm="true"] {{ background: {t.raised}; border-color: {t.border}; }}
#banner[calm="true"] QLabel {{ color: {t.text}; }}
#banner[calm="true"] QPushButton {{ color: {t.text}; border-color: {t.border}; }}
#banner[calm="true"] QPushButton:focus {{ border-color: {t.accent}; }}
#banner QPushButton:hover, #formatLine QToolButton:hover {{
  border-color: {t.warning}; background: none; }}
QProgressBar {{ background: {t.border}; border: none; border-radius: 2px; max-height: 4px; }}
QProgressBar::chunk {{ background: {t.accent}; border-radius: 2px; }}
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {t.border}; border-radius: 4px; margin: 2px; min-height: 32px; }}
QScrollBar::handle:vertical:hover {{ background: {t.muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QMenu {{ background: {t.raised}; border: 1px solid {t.border}; padding: 4px; }}
QMenu::item {{ padding: 5px 24px 5px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.selection}; color: {t.text}; }}
QMenu::item:disabled {{ color: {t.muted}; }}
QMenu::separator {{ height: 1px; background: {t.border}; margin: 4px 8px; }}
"""
