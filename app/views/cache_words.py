"""What the cache holds, as parts of a bar and in words.

Values of the engine and the services go in. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.services.sights import CacheFill
from app.views.kv_gauge import KvParts
from engine.protocol import Gauges, TurnStats


def parts_of(gauges: Gauges | None, fill: CacheFill | None) -> KvParts:
    """The cells of the whole cache; what is used and not this chat's belongs to others.

    Of a forecast nothing is in the cache yet.
    """
    n_used, n_cells = (gauges.kv_cells_used, gauges.kv_cells) if gauges else (0, 0)
    if fill is None or fill.is_forecast:
        return KvParts(n_others=n_used, n_cells=n_cells or (fill.n_cells if fill else 0))
    n_own = fill.n_sinks + fill.n_window
    return KvParts(fill.n_sinks, fill.n_window, max(0, n_used - n_own), n_cells or fill.n_cells)


def fill_in_words(fill: CacheFill) -> str:
    """For example "42 sink + 5,210 recent tokens of 8,192; this turn: 5,348 reused, 24 read"."""
    words = _tr("{0} sink + {1} recent tokens of {2}").format(
        f"{fill.n_sinks:,}", f"{fill.n_window:,}", f"{fill.n_cells:,}"
    )
    if fill.is_forecast:
        return _tr("With your next message: {0}").format(words)
    return "; ".join(filter(None, (words, _turn_in_words(fill.last_turn))))


def _turn_in_words(turn: TurnStats | None) -> str:
    if turn is None:
        return ""
    words = _tr("this turn: {0} reused, {1} read, {2} evicted, {3}").format(
        f"{turn.tokens_reused:,}",
        f"{turn.tokens_prefilled:,}",
        f"{turn.tokens_evicted:,}",
        _tr("positions shifted") if turn.shifted else _tr("no shift"),
    )
    if turn.reevaluated_because:
        words += _tr("; read again: {0}").format(turn.reevaluated_because)
    return words


def _tr(text: str) -> str:
    return QCoreApplication.translate("CacheWords", text)
