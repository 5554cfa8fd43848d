"""Who has the cells of the KV cache, in words: a row for each sequence, and all of them together.

`Gauges` go in, with what chats are called. Knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication

from app.services.variants import MOST_VARIANTS
from app.views import number_format
from app.views.memory_words import Row
from engine.protocol import Gauges, SequenceUse, chat_of_variant, variant_chat_id

_LONGEST_NAME = 24
"""Characters."""


def pool_rows(gauges: Gauges | None, name_of: Callable[[str], str]) -> list[Row]:
    """A row for each sequence that has cells; cells that several share count once in the last one.

    `name_of` gives what a chat is called by its id, "" for one that is gone.
    """
    if gauges is None or gauges.kv_cells <= 0:
        return [Row(_tr("all together"), number_format.NOT_AVAILABLE)]
    rows = [Row(_name(use, name_of), _use_in_words(use)) for use in _by_chat(gauges.sequences)]
    together = _tr("{0} of {1}").format(f"{gauges.kv_cells_used:,}", f"{gauges.kv_cells:,}")
    return [*rows, Row(_tr("all together, shared cells once"), together)]


def pool_in_words(gauges: Gauges | None) -> str:
    """For example "2 in the cache, 1 being answered"; "" while that is not known."""
    if gauges is None or not gauges.sequences:
        return ""
    n_answering = sum(use.is_answering for use in gauges.sequences)
    return _tr("{0} in the cache, {1} being answered").format(len(gauges.sequences), n_answering)


def threads_in_words(gauges: Gauges | None) -> str:
    """How many threads decode now."""
    n_threads = gauges.n_threads if gauges else None
    return number_format.NOT_AVAILABLE if n_threads is None else f"{n_threads:,}"


def _by_chat(uses: Sequence[SequenceUse]) -> list[SequenceUse]:
    """Chats in their order, the variants of each one behind it in theirs."""
    chats = {chat_of_variant(use.chat_id): place for place, use in reversed(list(enumerate(uses)))}
    return sorted(uses, key=lambda use: (chats[chat_of_variant(use.chat_id)], use.chat_id))


def _name(use: SequenceUse, name_of: Callable[[str], str]) -> str:
    chat_id = chat_of_variant(use.chat_id)
    name = _cut(name_of(chat_id)) or _tr("a chat that is gone")
    numbers = (
        number for number in range(1, MOST_VARIANTS) if variant_chat_id(chat_id, number) == use.chat_id
    )
    number = next(numbers, None)
    return name if number is None else _tr("{0}, variant {1}").format(name, number + 1)


def _cut(title: str) -> str:
    if len(title) <= _LONGEST_NAME:
        return title
    return f"{title[: _LONGEST_NAME - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _use_in_words(use: SequenceUse) -> str:
    parts = [
        _tr("{0} cells").format(f"{use.n_cells:,}"),
        _tr("{0} shared").format(f"{use.n_shared:,}") if use.n_shared else "",
        _tr("answering") if use.is_answering else "",
    ]
    return ", ".join(part for part in parts if part)


def _tr(text: str) -> str:
    return QCoreApplication.translate("PoolWords", text)
