"""The curves of endurance runs: perplexity, speed and memory over the tokens read.

Traces go in; a widget draws them in the theme's colours and gives itself as PNG or SVG. Each run has a
colour, a symbol and a line style of its own, so that colour is not the only difference. Importing
this module brings pyqtgraph and numpy: not before the page of the runs is shown. Knows nothing about
engines or files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph
from PySide6.QtCore import QBuffer, QEvent, QIODevice, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.services.endurance_trace import Trace
from app.views.axis_ticks import Ticks, linear_ticks, log_ticks
from app.views.tokens import UNIT, Tokens, current_tokens
from engine.protocol import EnduranceRun

_MIB = 2**20
_MOST_POINTS = 300
_PICTURE_SCALE = 2


@dataclass(frozen=True, slots=True)
class _Style:
    token: str
    symbol: str
    line: Qt.PenStyle


_STYLES = {
    EnduranceRun.ENDLESS: _Style("accent", "o", Qt.PenStyle.SolidLine),
    EnduranceRun.EXACT: _Style("text", "s", Qt.PenStyle.DashLine),
    EnduranceRun.WINDOW: _Style("warning", "t", Qt.PenStyle.DotLine),
}

Points = list[tuple[float, float]]


class EndurancePlot(QWidget):
    """Three plots beside each other with one legend; `names` says what each run is called."""

    def __init__(self, names: dict[EnduranceRun, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._traces: Sequence[Trace] = ()
        self._curves: dict[tuple[Any, EnduranceRun], Any] = {}
        self.view: Any = pyqtgraph.GraphicsLayoutWidget()
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.legend: Any = pyqtgraph.LegendItem(
            offset=(UNIT, 1), colCount=len(EnduranceRun), horSpacing=UNIT * 3 // 2
        )
        self.legend.setParentItem(self.view.ci)
        self.perplexity = self._add_plot(0, 0, 2)
        self.speed = self._add_plot(0, 1, 1)
        self.memory = self._add_plot(1, 1, 1)
        self.view.ci.layout.setColumnStretchFactor(0, 3)
        self.view.ci.layout.setColumnStretchFactor(1, 2)
        self.view.ci.setContentsMargins(0, UNIT * 4, UNIT * 3, 0)  # the legend is above
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)
        self.setMinimumHeight(UNIT * 42)
        self.setAccessibleName(self.tr("Curves of the runs"))
        self.setAccessibleDescription(self.tr("Perplexity, speed and memory over the tokens read"))
        self._dress()

    def show_traces(self, traces: Sequence[Trace]) -> None:
        """Draw `traces` in place of what was drawn."""
        self._traces = traces
        perplexity = self._draw(self.perplexity, {trace.run: _perplexity(trace) for trace in traces})
        speed = self._draw(self.speed, {trace.run: _thinned(trace.speeds()) for trace in traces})
        memory = self._draw(self.memory, {trace.run: _thinned(_memory(trace)) for trace in traces})
        self._scale_perplexity(perplexity)
        for plot, heights in ((self.speed, speed), (self.memory, memory)):
            top = max(heights, default=1.0) * 1.15
            ticks = linear_ticks(0.0, top) if heights else []
            self._set_scale(plot, (-top * 0.06, top), ticks)  # room for the 0
        self.legend.clear()
        for trace in traces:
            self.legend.addItem(self._curves[self.perplexity, trace.run], self._names[trace.run])

    def points(self, plot: Any, run: EnduranceRun) -> Points:
        """The points that the curve of a run has in one of the plots."""
        xs, ys = self._curves[plot, run].getData()
        return [] if xs is None else [*zip(xs.tolist(), ys.tolist(), strict=True)]

    def png(self) -> bytes:
        """The picture, at twice the size that it has on the screen."""
        image = QImage(self.view.size() * _PICTURE_SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_PICTURE_SCALE)
        image.fill(QColor(current_tokens().surface))
        painter = QPainter(image)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        self.view.render(painter, QRectF(self.view.rect()), self.view.rect())
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, b"PNG").write(image)
        return bytes(buffer.data().data())

    def svg(self) -> bytes:
        """The picture as lines and text."""
        # Not pyqtgraph's own exporter: it fails on the paths that Qt 6.11 writes.
        size: QSize = self.view.size()
        buffer = QBuffer()
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(size)
        # Axes are recorded for the screen's resolution and would be scaled.
        generator.setResolution(self.view.logicalDpiX())
        generator.setViewBox(QRect(QPointF(0, 0).toPoint(), size))
        generator.setTitle(self.tr("Endurance"))
        painter = QPainter(generator)
        painter.fillRect(self.view.rect(), QColor(current_tokens().surface))
        self.view.render(painter, QRectF(self.view.rect()), self.view.rect())
        painter.end()
        return bytes(buffer.data().data())

    def changeEvent(self, event: QEvent) -> None:
        """Another theme: other colours."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()

    # --- drawing ----------------------------------------------------------------------------------

    def _add_plot(self, row: int, column: int, n_rows: int) -> Any:
        plot = self.view.addPlot(row, column, n_rows, 1)
        plot.setMouseEnabled(x=False, y=False)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.disableAutoRange()
        plot.showGrid(x=False, y=True, alpha=0.6)
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
            # Labels may reach so far over the axis: those at its ends say how far it goes.
            plot.getAxis(side).setStyle(hideOverlappingLabels=UNIT * 5)
        for run, style in _STYLES.items():
            # Here a point is a thousand tokens; the other plots have hundreds. Cached symbols are pixels,
            # and keep the colour of the theme before.
            symbol = style.symbol if column == 0 else None
            self._curves[plot, run] = plot.plot(
                [], [], antialias=True, symbol=symbol, symbolSize=7, useCache=False
            )
        return plot

    def _draw(self, plot: Any, points: dict[EnduranceRun, Points]) -> list[float]:
        """Draw one curve a run; returns all heights."""
        for run in EnduranceRun:
            mine = points.get(run, [])
            self._curves[plot, run].setData([x for x, _ in mine], [y for _, y in mine])
        return [y for curve in points.values() for _, y in curve]

    def _scale_perplexity(self, logarithms: list[float]) -> None:
        low, high = min(logarithms, default=0.0), max(logarithms, default=1.0)
        room = max(0.02, (high - low) * 0.06)
        low, high = low - room, high + room
        ticks = log_ticks(10**low, 10**high) if logarithms else []
        self._set_scale(self.perplexity, (low, high), ticks)

    def _set_scale(self, plot: Any, ends: tuple[float, float], ticks: Ticks) -> None:
        width = max((trace.n_total for trace in self._traces), default=1)
        plot.setXRange(0, width, padding=0.02)
        plot.setYRange(*ends, padding=0)
        # The plots on the right are narrow.
        plot.getAxis("bottom").setTicks([linear_ticks(0, width, 5 if plot is self.perplexity else 2)])
        plot.getAxis("left").setTicks([ticks])

    def _dress(self) -> None:
        tokens = current_tokens()
        self.view.setBackground(tokens.surface)
        self.legend.setLabelTextColor(tokens.text)
        for plot, label in (
            (self.perplexity, self.tr("Perplexity of each 1,000 tokens (log scale)")),
            (self.speed, self.tr("Tokens a second")),
            (self.memory, self.tr("Memory, MiB")),
        ):
            self._dress_axes(plot, label, tokens)
            for run, style in _STYLES.items():
                colour = QColor(getattr(tokens, style.token))
                curve = self._curves[plot, run]
                curve.setPen(_pen(colour, style.line))
                curve.setSymbolBrush(colour)
                curve.setSymbolPen(QPen(Qt.PenStyle.NoPen))
        self.show_traces(self._traces)

    def _dress_axes(self, plot: Any, label: str, tokens: Tokens) -> None:
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(tokens.border)
            axis.setTextPen(tokens.muted)
        plot.getAxis("left").setLabel(label, color=tokens.muted)
        if plot is not self.speed:
            plot.getAxis("bottom").setLabel(self.tr("Tokens read"), color=tokens.muted)


def _perplexity(trace: Trace) -> Points:
    """The end of each 1,000 tokens with the logarithm of its perplexity."""
    return [
        (1000.0 * (index + 1), math.log10(value))
        for index, value in enumerate(trace.perplexity)
        if math.isfinite(value) and value > 0
    ]


def _memory(trace: Trace) -> Points:
    return [(sample.n_done, sample.rss_bytes / _MIB) for sample in trace.samples]


def _thinned(points: Sequence[tuple[float, float]]) -> Points:
    """So many that drawing stays quick, the newest among them."""
    step = len(points) // _MOST_POINTS + 1
    return [*points[::-1][::step]][::-1]


def _pen(colour: QColor, line: Qt.PenStyle) -> QPen:
    pen = QPen(colour, 2, line)
    pen.setCosmetic(True)
    return pen
