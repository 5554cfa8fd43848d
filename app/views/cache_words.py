"""What the cache holds, as parts of a bar and in words.

Values of the engine and the services go in. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.services.sights import CacheFill
from app.views.kv_gauge import KvParts
from app.views.reply_words import drafts_in_words, spared_in_words
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
    """For example "42 system + 5,210 recent tokens of 31,877 in this chat; this turn: 24 read, no shift"."""
    words = seen_in_words(fill)
    if fill.is_forecast:
        return words
    turn = turn_in_words(fill.last_turn)
    return "; ".join(filter(None, (words, turn and _tr("this turn: {0}").format(turn))))


def seen_in_words(fill: CacheFill) -> str:
    """For example "42 system + 96 pinned + 5,210 recent tokens of 31,877 in this chat"."""
    parts = [
        text.format(f"{count:,}")
        for text, count in (
            (_tr("{0} sink"), fill.n_first),
            (_tr("{0} system"), fill.n_system),
            (_tr("{0} pinned"), fill.n_pinned),
        )
        if count
    ]
    recent = _tr("{0} recent tokens").format(f"{fill.n_window:,}")
    whole = (
        _tr("of {0}").format(f"{fill.n_cells:,}")
        if fill.n_chat is None
        else _tr("of {0} in this chat").format(f"{fill.n_chat:,}")
    )
    words = f"{' + '.join((*parts, recent))} {whole}"
    return _tr("With your next message: {0}").format(words) if fill.is_forecast else words


def unseen_in_words(fill: CacheFill) -> str:
    """What the model does not see of the chat; "" where that is not known."""
    if fill.n_unseen is None:
        return ""
    if not fill.n_unseen:
        return _tr("It sees the whole chat.")
    return _tr("It does not see {0} older tokens: what stands above the line in the chat.").format(
        f"{fill.n_unseen:,}"
    )


def turn_in_words(turn: TurnStats | None) -> str:
    """For example "5,348 reused, 24 read, 512 evicted, no shift"; "" before the first turn."""
    if turn is None:
        return ""
    reused = _tr("{0} reused").format(f"{turn.tokens_reused:,}")
    spared = ", ".join(spared_in_words(turn.tokens_restored, turn.tokens_shared))
    parts = (
        f"{reused} ({spared})" if spared else reused,
        _tr("{0} read").format(f"{turn.tokens_prefilled:,}"),
        _tr("{0} evicted").format(f"{turn.tokens_evicted:,}"),
        _tr("positions shifted") if turn.shifted else _tr("no shift"),
    )
    words = ", ".join(parts)
    if turn.reevaluated_because:
        words += _tr("; read again: {0}").format(turn.reevaluated_because)
    if drafts := drafts_in_words(turn.tokens_accepted, turn.tokens_drafted, turn.draft_gain):
        words += f"; {drafts}"
    return words


def _tr(text: str) -> str:
    return QCoreApplication.translate("CacheWords", text)
