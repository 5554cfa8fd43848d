"""Benchmarks beside each other as plots: bars with their spread, speed against depth, the memory's limit.

Records go in; a widget draws them in the theme's colours and gives itself as PNG or SVG. Plots that would
have nothing to show are left out. Importing this module brings pyqtgraph and numpy: not before something
is compared. Knows nothing about engines or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.data.bench_record import BenchRecord
from app.views import bench_words, plot_picture
from app.views.axis_ticks import linear_ticks
from app.views.tokens import UNIT, current_tokens

_BAR = 0.62
_BAR_HEIGHT = UNIT * 3
_AXIS_HEIGHT = UNIT * 8
_CURVES_HEIGHT = UNIT * 30
_GAP = UNIT * 2
_MOST_CHARACTERS = 32
# Colour is never the only difference.
_STYLES = (
    ("accent", "o", Qt.PenStyle.SolidLine),
    ("text", "s", Qt.PenStyle.DashLine),
    ("warning", "t", Qt.PenStyle.DotLine),
    ("sinks", "d", Qt.PenStyle.DashDotLine),
    ("muted", "+", Qt.PenStyle.SolidLine),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its length, the slowest and the fastest repetition, what was expected, and the limit."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Tokens a second at each depth."""

    name: str
    points: tuple[tuple[int, float], ...]


class BenchPlot(QWidget):
    """One plot below the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._records: Sequence[BenchRecord] = ()
        self.view: Any = pyqtgraph.GraphicsLayoutWidget()
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plots: list[Any] = []
        self._names_width = 0
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.timeout.connect(lambda: self.show_records(self._records))
        self.view.ci.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.view.ci.layout.setVerticalSpacing(_GAP)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)
        # Diagrams run from left to right in every language.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setAccessibleName(self.tr("Plots of the chosen results"))

    def show_records(self, records: Sequence[BenchRecord]) -> None:
        """Draw `records` in place of what was drawn."""
        self._records = records
        self.view.clear()
        self.plots = []
        self.view.setBackground(current_tokens().surface)
        height = 0
        prompts, decodes, limits = prompt_bars(records), decode_bars(records), limit_bars(records)
        # The bars of all plots begin below each other.
        widths = [
            self.fontMetrics().horizontalAdvance(_short(bar.name)) for bar in (*prompts, *decodes, *limits)
        ]
        self._names_width = max(widths, default=0) + UNIT * 2
        if prompts:
            height += self._add_bars(prompts, self.tr("Reading a prompt, tokens a second"))
        if decodes:
            height += self._add_bars(decodes, self.tr("Writing, tokens a second"))
        if curves := depth_curves(records):
            height += self._add_curves(curves)
        if limits:
            title = self.tr("% of the memory's limit; line: expected")
            height += self._add_bars(limits, title)
        self.setFixedHeight(height + len(self.plots) * _GAP + UNIT * 3)
        self.setAccessibleDescription(_in_words(records))

    def png(self) -> bytes:
        """The picture, at twice the size that it has on the screen."""
        return plot_picture.png(self.view)

    def svg(self) -> bytes:
        """The picture as lines and text."""
        return plot_picture.svg(self.view, self.tr("Benchmarks"))

    def changeEvent(self, event: QEvent) -> None:
        """Another theme: other colours."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            # Qt is on its way through the items that would be replaced.
            self._redraw.start()

    # --- drawing ----------------------------------------------------------------------------------

    def _add_plot(self, height: int, title: str) -> Any:
        tokens = current_tokens()
        plot = self.view.addPlot(len(self.plots), 0)
        plot.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.view.ci.layout.setRowFixedHeight(len(self.plots), height)
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
        plot, tokens = (
            self._add_plot(_CURVES_HEIGHT, self.tr("Tokens in the context before")),
            current_tokens(),
        )
        plot.showGrid(x=False, y=True, alpha=0.6)
        plot.getAxis("left").setLabel(self.tr("Tokens a second"), color=tokens.muted)
        legend = plot.addLegend(offset=(-UNIT, UNIT), labelTextColor=tokens.text)
        for curve, (token, symbol, line) in zip(curves, _STYLES, strict=False):
            colour = QColor(getattr(tokens, token))
            xs, ys = zip(*curve.points, strict=True)
            pen = QPen(colour, 2, line)
            pen.setCosmetic(True)
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
                name=_short(curve.name),
            )
        legend.setVisible(len(curves) > 1)
        shown = [point for curve in curves[: len(_STYLES)] for point in curve.points]
        widest, top = max(x for x, _ in shown) or 1, max(y for _, y in shown) * 1.15
        plot.setXRange(0, widest, padding=0.03)
        plot.setYRange(0, top, padding=0)
        plot.getAxis("bottom").setTicks([linear_ticks(0, widest)])
        plot.getAxis("left").setTicks([linear_ticks(0.0, top)])
        return _CURVES_HEIGHT


# --- what is drawn ----------------------------------------------------------------------------------


def prompt_bars(records: Sequence[BenchRecord]) -> list[Bar]:
    """Whatever reads a prompt and is no chat."""
    return _bars([r for r in records if r.n_prompt and r.test_kind != "chat"])


def decode_bars(records: Sequence[BenchRecord]) -> list[Bar]:
    """Whatever writes tokens alone, and the replies of chats."""
    return _bars([r for r in records if r.decode_rate is not None])


def limit_bars(records: Sequence[BenchRecord]) -> list[Bar]:
    """What was reached, in percent of what the memory allows."""
    known = [(r, r.decode_rate, r.limit_ts) for r in records]
    rated = [(r, rate, limit) for r, rate, limit in known if rate is not None and limit]
    names = bench_words.labels([record for record, _, _ in rated])
    return [
        Bar(
            name,
            100 * rate / limit,
            expected=None if record.predicted_ts is None else 100 * record.predicted_ts / limit,
            limit=100.0,
        )
        for name, (record, rate, limit) in zip(names, rated, strict=True)
    ]


def depth_curves(records: Sequence[BenchRecord]) -> list[Curve]:
    """Of each model and setting that was measured at two depths or more, how fast it writes there."""
    series: dict[tuple[str, str, str], dict[int, float]] = {}
    for record in records:
        rate = record.decode_rate
        if rate is not None:
            kind = "chat" if record.test_kind == "chat" else f"tg{record.n_gen}"
            key = (bench_words.model_of(record), kind, bench_words.settings(record))
            series.setdefault(key, {})[record.n_depth] = rate
    several = {key: points for key, points in series.items() if len(points) > 1}
    varying = [place for place in range(3) if len({key[place] for key in several}) > 1] or [0]
    return [
        Curve(" · ".join(key[place] for place in varying), tuple(sorted(points.items())))
        for key, points in several.items()
    ]


def _bars(records: Sequence[BenchRecord]) -> list[Bar]:
    bars = []
    for name, record in zip(bench_words.labels(records), records, strict=True):
        value = bench_words.speed_of(record)
        if value is not None:
            is_chat = record.test_kind == "chat"  # its samples are of the whole question and answer
            spread = (None, None) if is_chat else (record.min_ts, record.max_ts)
            bars.append(Bar(name, value, *spread))
    return bars


def _in_words(records: Sequence[BenchRecord]) -> str:
    values = (bench_words.number(bench_words.speed_of(record)) for record in records)
    return "; ".join(
        f"{name}: {value}" for name, value in zip(bench_words.labels(records), values, strict=True)
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


def _short(name: str) -> str:
    if len(name) <= _MOST_CHARACTERS:
        return name
    half = _MOST_CHARACTERS // 2
    return f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half + 1 :]}"
