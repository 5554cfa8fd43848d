"""What stands below a reply: how it ended, what was read again for it, what it measured.

Stored values go in, lines of text come out, "" where there is nothing to say. Knows nothing about widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.data.stored_message import MessageState, StoredMessage, TurnNumbers
from app.views import number_format
from engine.protocol import FinishReason


def ending_in_words(message: StoredMessage) -> str:
    """Why a message ends where it does."""
    if message.numbers and message.numbers.finish_reason is FinishReason.CONTEXT_FULL:
        return _tr(
            "Ended here because the context is full. To go on, choose the endless policy or a larger "
            "context at the top, then send a message."
        )
    if message.state is MessageState.INTERRUPTED:
        return _tr("Interrupted") if message.content else _tr("Interrupted before the first word")
    if message.state is MessageState.STREAMING and not message.content:
        return _tr("Waiting for the first word \N{HORIZONTAL ELLIPSIS}")
    return ""


def reading_in_words(numbers: TurnNumbers | None) -> str:
    """Why part of the chat was read again for a reply."""
    because = numbers.reevaluated_because if numbers else None
    return _tr("Part of the chat was read again: {0}").format(because) if because else ""


def numbers_in_words(numbers: TurnNumbers | None) -> str:
    """For example "41 tok/s · first token 0.2 s · 118 tokens · drafts 41 of 60, 1.3× as fast"."""
    if numbers is None:
        return ""
    rate = number_format.rate(numbers.decode_tps)
    parts = [
        rate if rate != number_format.NOT_AVAILABLE else "",
        _tr("first token {0}").format(number_format.seconds(numbers.ttft_ms)),
        _tr("{0} tokens").format(f"{numbers.tokens_generated:,}"),
        drafts_in_words(numbers.tokens_accepted, numbers.tokens_drafted, numbers.draft_gain),
        *spared_in_words(numbers.tokens_restored, numbers.tokens_shared),
    ]
    return "  \N{MIDDLE DOT}  ".join(text for text in parts if text)


def drafts_in_words(n_accepted: int, n_drafted: int, gain: float | None) -> str:
    """For example "drafts 41 of 60, 1.3× as fast"; without any, ""."""
    if not n_drafted:
        return ""
    counts = _tr("drafts {0} of {1}").format(f"{n_accepted:,}", f"{n_drafted:,}")
    times = number_format.times(gain)
    return counts if times == number_format.NOT_AVAILABLE else _tr("{0}, {1} as fast").format(counts, times)


def spared_in_words(n_restored: int, n_shared: int) -> list[str]:
    """Tokens that did not have to be read: restored from disk, or read for another reply or chat."""
    return [
        words.format(f"{count:,}")
        for words, count in ((_tr("{0} restored"), n_restored), (_tr("{0} shared"), n_shared))
        if count
    ]


def _tr(text: str) -> str:
    return QCoreApplication.translate("ReplyWords", text)
