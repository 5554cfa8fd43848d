"""The colours of Weir: one set of named tokens, a light and a dark one, and the grid.

Widgets that paint by hand ask `current_tokens`. The pairs of text and background that `theme` makes of
them reach a contrast of 4.5:1. Knows nothing about widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QGuiApplication, QPalette

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
    field: str
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
    field="#79888d",
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
    field="#6b7b80",
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
