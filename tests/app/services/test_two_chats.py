"""Two chats that are answered at once: whose text is whose, what is stopped, what is shown of it."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import Qt

from app.item_models.chat_list_item_model import ANSWERING_ROLE
from app.item_models.grouped_chats_item_model import GroupedChatsItemModel
from engine.protocol import (
    Cancel,
    FinishReason,
    Gauges,
    Generate,
    PrefillProgress,
    SequenceUse,
    variant_chat_id,
)
from tests.app.conftest import Desk, settle

GAUGES = Gauges(
    decode_tps=82.4,
    prefill_tps=380.0,
    ttft_ms=210.0,
    kv_cells_used=1404,
    kv_cells=8192,
    kv_bytes_used=None,
    kv_bytes=None,
    rss_bytes=300_000_000,
    devices=(),
)


def _ask_both(desk: Desk) -> tuple[str, str, Generate, Generate]:
    """Ids of two chats that are both being answered, the second one open, and their requests."""
    desk.send("First question")
    first = desk.controller.open_chat_id
    desk.controller.open(None)
    desk.send("Second question")
    second = desk.controller.open_chat_id
    assert first and second
    one, other = desk.engine.newest.requests
    return first, second, one, other


def _rows(desk: Desk) -> GroupedChatsItemModel:
    rows = desk.weir.window.sidebar.list.model()
    assert isinstance(rows, GroupedChatsItemModel)
    return rows


def _answered(desk: Desk) -> dict[str, bool]:
    """Whether the list shows each chat as one that is being answered, by its title."""
    rows = _rows(desk)
    indexes = [rows.index(row, 0) for row in range(rows.rowCount())]
    return {index.data(): index.data(ANSWERING_ROLE) for index in indexes if rows.chat_at(index.row())}


def test_both_are_asked_and_each_text_lands_in_its_own(desk: Desk) -> None:
    first, second, one, other = _ask_both(desk)
    assert (one.chat_id, other.chat_id) == (first, second)
    desk.say(desk.engine.newest.write, "One", one)
    desk.say(desk.engine.newest.write, "Two", other)
    desk.say(desk.engine.newest.write, " and a half", one)
    assert desk.shown() == ["Second question", "Two"]
    desk.say(desk.engine.newest.finish, "One and a half", FinishReason.STOP, one)
    assert desk.controller.running
    desk.controller.open(first)
    assert desk.shown() == ["First question", "One and a half"]
    assert not desk.controller.running


def test_stop_ends_the_open_one_alone(desk: Desk) -> None:
    _first, _second, _one, other = _ask_both(desk)
    desk.controller.stop()
    assert [c for c in desk.engine.newest.sent if isinstance(c, Cancel)] == [Cancel(other.request_id)]


def test_the_list_shows_which_chats_are_being_answered(desk: Desk) -> None:
    _first, _second, one, other = _ask_both(desk)
    assert _answered(desk) == {"First question": True, "Second question": True}
    desk.say(desk.engine.newest.finish, "One", FinishReason.STOP, one)
    assert _answered(desk) == {"First question": False, "Second question": True}
    desk.say(desk.engine.newest.finish, "Two", FinishReason.STOP, other)
    assert _answered(desk) == {"First question": False, "Second question": False}


def test_screen_readers_are_told_it_too(desk: Desk) -> None:
    desk.send("First question")
    rows = _rows(desk)
    row = rows.row_of(desk.controller.open_chat_id)
    assert row is not None
    index = rows.index(row, 0)
    assert index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "Today, is being answered"
    desk.say(desk.engine.newest.finish, "One")
    assert index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == "Today"


def test_variants_are_one_chat_that_is_being_answered(desk: Desk) -> None:
    told: list[frozenset[str]] = []
    desk.chats.answering.chats_changed.connect(told.append)
    desk.weir.window.composer.edit.set_text("Why?")
    desk.weir.window.composer.variants_requested.emit(2)
    settle()
    chat_id = desk.controller.open_chat_id
    for request in desk.engine.newest.requests:
        desk.say(lambda r=request: desk.engine.newest.finish("Text", request=r))
    assert told == [frozenset({chat_id}), frozenset({chat_id}), frozenset()]


def test_only_the_open_chat_shows_how_far_its_prompt_is_read(desk: Desk) -> None:
    _first, _second, one, other = _ask_both(desk)
    activity = desk.weir.window.status.activity
    desk.say(desk.engine.newest.say, PrefillProgress(other.request_id, 100, 900))
    assert activity.text().startswith("reading 100 of 900 tokens")
    desk.say(desk.engine.newest.say, PrefillProgress(one.request_id, 5, 7))
    assert activity.text().startswith("reading 100 of 900 tokens")


def test_the_strip_shows_the_speed_of_all_together_and_the_footer_each_reply_s_own(desk: Desk) -> None:
    _first, _second, _one, other = _ask_both(desk)
    desk.say(desk.engine.newest.say, GAUGES)
    assert desk.weir.window.status.activity.text() == "82.4 tok/s"
    desk.say(lambda: desk.engine.newest.finish("Two", request=other, decode_tps=41.2))
    view = desk.weir.window.transcript.message_view(1)
    assert view is not None
    assert view.footer.text().startswith("41.2 tok/s")


def test_the_panel_shows_who_has_the_cells_and_counts_shared_ones_once(desk: Desk) -> None:
    first, second, _one, _other = _ask_both(desk)
    uses = (
        SequenceUse(first, 704, 500, True),
        SequenceUse(variant_chat_id(first, 1), 720, 500, True),
        SequenceUse(second, 480, 0, False),
        SequenceUse("deleted", 1_010, 0, False),
    )
    desk.say(desk.engine.newest.say, dataclasses.replace(GAUGES, sequences=uses, n_threads=2))
    desk.weir.window.memory.open_panel()
    lines = desk.weir.window.memory.picture.plain_text().splitlines()
    start = lines.index("Who has the cells")
    assert lines[start + 1 : start + 6] == [
        "First question: 704 cells, 500 shared, answering",
        "First question, variant 2: 720 cells, 500 shared, answering",
        "Second question: 480 cells",
        "a chat that is gone: 1,010 cells",
        "all together, shared cells once: 1,404 of 8,192",
    ]
    assert "threads that compute: 2" in lines
    assert "; 4 in the cache, 2 being answered" in desk.weir.window.status.bar.toolTip()
