"""A plot as a picture: PNG or SVG.

A graphics view of pyqtgraph goes in, bytes come out. Knows nothing about what is drawn.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QBuffer, QIODevice, QPoint, QRect, QRectF
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

from app.views.tokens import current_tokens

_SCALE = 2


def png(view: Any) -> bytes:
    """The picture, at twice the size that it has on the screen."""
    image = QImage(view.size() * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    image.fill(QColor(current_tokens().surface))
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    view.render(painter, QRectF(view.rect()), view.rect())
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, b"PNG").write(image)
    return bytes(buffer.data().data())


def svg(view: Any, title: str) -> bytes:
    """The picture as lines and text."""
    # Not pyqtgraph's own exporter: it fails on the paths that Qt 6.11 writes.
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(view.size())
    # Axes are recorded for the screen's resolution and would be scaled.
    generator.setResolution(view.logicalDpiX())
    generator.setViewBox(QRect(QPoint(0, 0), view.size()))
    generator.setTitle(title)
    painter = QPainter(generator)
    painter.fillRect(view.rect(), QColor(current_tokens().surface))
    view.render(painter, QRectF(view.rect()), view.rect())
    painter.end()
    return bytes(buffer.data().data())
