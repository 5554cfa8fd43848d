"""Benchmarks beside each other as plots: bars with their spread, speed against depth, the memory's limit.

Chosen results go in; a widget draws them in the theme's colours, under the names of models and machine, and
gives itself as PNG or SVG. Plots that would have nothing to show are left out. Importing this module brings
pyqtgraph and numpy: not before something is compared. Knows nothing about engines or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pyqtgraph
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.views import bench_words, plot_picture
from app.views.axis_ticks import linear_ticks
from app.views.bench_bars import Bar, Curve, decode_bars, depth_curves, in_words, limit_bars, prompt_bars
from app.views.bench_compared import Compared
from app.views.tokens import UNIT, current_tokens

_BAR = 0.62
_BAR_HEIGHT = UNIT * 3
_AXIS_HEIGHT = UNIT * 8
_CURVES_HEIGHT = UNIT * 30
_GAP = UNIT * 2
_TITLE_LINE = UNIT * 3
_LEGEND_LINE = UNIT * 3
_LONGEST_TITLE = 72
_MOST_CHARACTERS = 44
# Colour is never the only difference.
_STYLES = (
    ("accent", "o", Qt.PenStyle.SolidLine),
    ("text", "s", Qt.PenStyle.DashLine),
    ("warning", "t", Qt.PenStyle.DotLine),
    ("sinks", "d", Qt.PenStyle.DashDotLine),
    ("muted", "+", Qt.PenStyle.SolidLine),
)


class BenchPlot(QWidget):
    """One plot below the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chosen: Sequence[Compared] = ()
        self._most_bars: int | None = None
        self.view: Any = pyqtgraph.GraphicsLayoutWidget()
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plots: list[Any] = []
        self.title = ""
        self._names_width = 0
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.timeout.connect(lambda: self.show_results(self._chosen, self._most_bars))
        self.view.ci.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.view.ci.layout.setVerticalSpacing(_GAP)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)
        # Diagrams run from left to right in every language.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setAccessibleName(self.tr("Plots of the chosen results"))

    def show_results(self, chosen: Sequence[Compared], most_bars: int | None = None) -> None:
        """Draw `chosen` in place of what was drawn: the lines of all, bars of the first `most_bars`."""
        self._chosen, self._most_bars = chosen, most_bars
        shown = chosen[:most_bars]
        self.view.clear()
        self.plots = []
        self.view.setBackground(current_tokens().surface)
        height = self._add_title(chosen)
        prompts, decodes, limits = prompt_bars(shown), decode_bars(shown), limit_bars(shown)
        # The bars of all plots begin below each other.
        widths = [
            self.fontMetrics().horizontalAdvance(_short(bar.name)) for bar in (*prompts, *decodes, *limits)
        ]
        self._names_width = max(widths, default=0) + UNIT * 2
        if prompts:
            height += self._add_bars(prompts, self.tr("Reading a prompt, tokens a second"))
        if decodes:
            height += self._add_bars(decodes, self.tr("Writing, tokens a second"))
        if curves := depth_curves(chosen):
            height += self._add_curves(curves)
        if limits:
            title = self.tr("% of the memory's limit; line: expected")
            height += self._add_bars(limits, title)
        self.setFixedHeight(height + len(self.plots) * _GAP + UNIT * 3)
        self.setAccessibleDescription(in_words(chosen))

    def png(self) -> bytes:
        """The picture, at twice the size that it has on the screen."""
        return plot_picture.png(self.view)

    def svg(self) -> bytes:
        """The picture as lines and text."""
        return plot_picture.svg(self.view, self.tr("Benchmarks: {0}").format(self.title))

    def changeEvent(self, event: QEvent) -> None:
        """Another theme: other colours."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            # Qt is on its way through the items that would be replaced.
            self._redraw.start()

    # --- drawing ----------------------------------------------------------------------------------

    def _add_title(self, chosen: Sequence[Compared]) -> int:
        """Which models and which machine: a picture is seen without the page around it."""
        tokens = current_tokens()
        self.title = " · ".join(dict.fromkeys(bench_words.model_of(one.record) for one in chosen))
        machines = dict.fromkeys(one.record.gpu_info or one.record.cpu_info for one in chosen)
        models = escape(_short(self.tr("Benchmarks: {0}").format(self.title), _LONGEST_TITLE))
        machine = escape(_short(" · ".join(machines), _LONGEST_TITLE))
        lines = f"{models}<br><span style='color: {tokens.muted}'>{machine}</span>"
        self.view.addLabel(lines, 0, 0, justify="left", color=tokens.text)
        self.view.ci.layout.setRowFixedHeight(0, 2 * _TITLE_LINE)
        return 2 * _TITLE_LINE + _GAP

    def _add_plot(self, height: int, title: str) -> Any:
        tokens = current_tokens()
        row = len(self.plots) + 1  # below the title
        plot = self.view.addPlot(row, 0)
        plot.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.view.ci.layout.setRowFixedHeight(row, height)
        self.plots.append(plot)
        plot.setMouseEnabled(x=False, y=False)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.disableAutoRange()
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setPen(tokens.border)
            axis.setTextPen(tokens.text if side == "left" else tokens.muted)
            axis.setStyle(hideOverlappingLabels=UNIT * 5)
            axis.setZValue(-1)  # the grid lies behind what is drawn
        plot.getAxis("bottom").setLabel(title, color=tokens.muted)
        return plot

    def _add_bars(self, bars: Sequence[Bar], title: str) -> int:
        height = len(bars) * _BAR_HEIGHT + _AXIS_HEIGHT
        plot, tokens, rows = self._add_plot(height, title), current_tokens(), range(len(bars))
        plot.showGrid(x=True, y=False, alpha=0.6)
        plot.invertY(True)
        most = max(max(bar.value, bar.high or 0, bar.limit or 0, bar.expected or 0) for bar in bars)
        plot.setXRange(0, most * 1.2, padding=0)
        plot.setYRange(-0.7, len(bars) - 0.3, padding=0)
        self._name_rows(plot.getAxis("left"), [_short(bar.name) for bar in bars])
        plot.getAxis("bottom").setTicks([linear_ticks(0, most * 1.2)])
        limits = [(row, bar.limit) for row, bar in enumerate(bars) if bar.limit]
        plot.addItem(_boxes(limits, QPen(QColor(tokens.field), 0), QColor(tokens.code)))
        values = [(row, bar.value) for row, bar in enumerate(bars)]
        plot.addItem(_boxes(values, QPen(Qt.PenStyle.NoPen), QColor(tokens.accent)))
        for row in rows:
            _mark(plot, row, bars[row])
        return height

    def _name_rows(self, axis: Any, names: Sequence[str]) -> None:
        axis.setStyle(tickLength=0)
        axis.setWidth(self._names_width)
        axis.setTicks([[*enumerate(names)]])

    def _add_curves(self, curves: Sequence[Curve]) -> int:
        legend_height = len(curves) * _LEGEND_LINE + UNIT * 2
        height, tokens = _CURVES_HEIGHT + legend_height, current_tokens()
        plot = self._add_plot(height, self.tr("Tokens in the context before"))
        plot.showGrid(x=False, y=True, alpha=0.6)
        plot.getAxis("left").setLabel(self.tr("Tokens a second"), color=tokens.muted)
        plot.addLegend(offset=(-UNIT, UNIT), labelTextColor=tokens.text, verSpacing=0)
        for number, curve in enumerate(curves):
            _draw_curve(plot, number, curve)
        shown = [point for curve in curves for point in curve.points]
        # The legend lies above all points, not on them.
        above = 1 + legend_height / (_CURVES_HEIGHT - _AXIS_HEIGHT)
        widest, top = max(x for x, _ in shown) or 1, max(y for _, y in shown) * 1.05 * above
        plot.setXRange(0, widest, padding=0.03)
        plot.setYRange(0, top, padding=0)
        plot.getAxis("bottom").setTicks([linear_ticks(0, widest)])
        plot.getAxis("left").setTicks([linear_ticks(0.0, top)])
        return height


def _draw_curve(plot: Any, number: int, curve: Curve) -> None:
    """No two of the first 25 look alike."""
    turn = number // len(_STYLES)
    token, symbol, _ = _STYLES[number % len(_STYLES)]
    line = _STYLES[(number + turn) % len(_STYLES)][2]
    colour = QColor(getattr(current_tokens(), token))
    pen = QPen(colour, 2, line)
    pen.setCosmetic(True)
    xs, ys = zip(*curve.points, strict=True)
    plot.plot(
        xs,
        ys,
        pen=pen,
        symbol=symbol,
        symbolSize=8,
        symbolBrush=colour,
        symbolPen=QPen(Qt.PenStyle.NoPen),
        antialias=True,
        useCache=False,
        name=_short(curve.name, _LONGEST_TITLE),
    )


def _boxes(lengths: Sequence[tuple[int, float | None]], pen: QPen, brush: QColor) -> Any:
    rows = [row for row, _ in lengths]
    return pyqtgraph.BarGraphItem(
        x0=0, y=rows, height=_BAR, width=[length for _, length in lengths], pen=pen, brush=brush
    )


def _mark(plot: Any, row: int, bar: Bar) -> None:
    """The spread as a whisker, and what was expected as a line across the bar."""
    text = QColor(current_tokens().text)
    pen = QPen(text, 2)
    pen.setCosmetic(True)
    if bar.low is not None and bar.high is not None and bar.high > bar.low:
        reach = _BAR / 5
        for xs, ys in (
            ((bar.low, bar.high), (row, row)),
            ((bar.low, bar.low), (row - reach, row + reach)),
            ((bar.high, bar.high), (row - reach, row + reach)),
        ):
            plot.plot(xs, ys, pen=pen, antialias=True)
    if bar.expected is not None:
        plot.plot((bar.expected, bar.expected), (row - _BAR / 2, row + _BAR / 2), pen=pen, antialias=True)
    value = pyqtgraph.TextItem(bench_words.number(bar.value), color=text, anchor=(0, 0.5))
    value.setPos(max(bar.value, bar.high or 0, bar.expected or 0), row)
    plot.addItem(value)


def _short(name: str, most: int = _MOST_CHARACTERS) -> str:
    if len(name) <= most:
        return name
    half = most // 2
    return f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half + 1 :]}"
