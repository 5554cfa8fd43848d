"""What stands below replies and in the terminal of drafts, and of tokens that were not read."""

from __future__ import annotations

import dataclasses
import io
import math

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.cli.output import PlainOutput
from app.views.cache_words import turn_in_words
from app.views.pool_words import pool_in_words, pool_rows, threads_in_words
from app.views.reply_words import drafts_in_words, spared_in_words
from app.views.settings_controls import ChoiceBox
from app.views.settings_groups import answers_group
from engine.protocol import Finished, FinishReason, Gauges, SequenceUse, variant_chat_id
from tests.app.scripted_engine import STATS

SPARED = dataclasses.replace(
    STATS, tokens_restored=3200, tokens_shared=1000, tokens_drafted=60, tokens_accepted=41, draft_gain=1.31
)


def _gauges(*sequences: SequenceUse, n_cells: int = 8192) -> Gauges:
    return Gauges(None, None, None, 700, n_cells, None, None, 1, (), sequences=sequences)


@pytest.mark.parametrize(
    ("n_accepted", "n_drafted", "gain", "words"),
    [
        (41, 60, 1.31, "drafts 41 of 60, 1.3\N{MULTIPLICATION SIGN} as fast"),
        (0, 1600, 0.94, "drafts 0 of 1,600, 0.9\N{MULTIPLICATION SIGN} as fast"),
        (1, 2, None, "drafts 1 of 2"),
        (1, 2, math.nan, "drafts 1 of 2"),
        (0, 0, None, ""),
    ],
)
def test_drafts_are_told_with_their_gain(
    n_accepted: int, n_drafted: int, gain: float | None, words: str
) -> None:
    assert drafts_in_words(n_accepted, n_drafted, gain) == words


def test_tokens_that_were_not_read_are_told_by_where_they_came_from() -> None:
    assert spared_in_words(3200, 1000) == ["3,200 restored", "1,000 shared"]
    assert spared_in_words(0, 0) == []


def test_the_turn_tells_of_what_was_reused_and_drafted() -> None:
    turn = dataclasses.replace(SPARED, tokens_reused=5348, tokens_prefilled=24)
    assert turn_in_words(turn) == (
        "5,348 reused (3,200 restored, 1,000 shared), 24 read, 0 evicted, no shift; "
        "drafts 41 of 60, 1.3\N{MULTIPLICATION SIGN} as fast"
    )


def test_what_is_not_known_of_the_pool_is_not_claimed() -> None:
    [row] = pool_rows(None, lambda _chat_id: "")
    assert row.figure == "n/a"
    assert pool_rows(_gauges(n_cells=0), lambda _chat_id: "")[0].figure == "n/a"
    assert pool_in_words(None) == pool_in_words(_gauges()) == ""
    assert threads_in_words(None) == threads_in_words(_gauges()) == "n/a"


def test_long_titles_leave_room_for_the_figures() -> None:
    rows = pool_rows(_gauges(SequenceUse("a", 700, 0, False)), lambda _chat_id: "long title " * 20)
    assert len(rows[0].name) <= 24
    assert rows[0].name.endswith("\N{HORIZONTAL ELLIPSIS}")


def test_variants_stand_behind_their_chat_in_order() -> None:
    ids = [variant_chat_id("b", 2), "a", variant_chat_id("b", 1), "b"]
    rows = pool_rows(_gauges(*(SequenceUse(id_, 1, 0, False) for id_ in ids)), str.upper)
    assert [row.name for row in rows[:-1]] == ["B", "B, variant 2", "B, variant 3", "A"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_tells_of_drafts_after_a_reply_and_a_pipe_does_not() -> None:
    for err, expected in ((_Terminal(), True), (io.StringIO(), False)):
        PlainOutput(io.StringIO(), err).show(Finished(1, FinishReason.STOP, "Text", SPARED))
        words = "weir: 3,200 tokens restored, 1,000 tokens shared, drafts 41 of 60, 1.3 times as fast."
        assert (words in err.getvalue()) is expected


def test_a_terminal_says_nothing_where_nothing_was_spared() -> None:
    err = _Terminal()
    PlainOutput(io.StringIO(), err).show(Finished(1, FinishReason.STOP, "Text", STATS))
    assert "weir:" not in err.getvalue()


def test_drafting_is_a_setting_of_all_chats(qtbot: QtBot) -> None:
    form = QWidget()
    qtbot.addWidget(form)
    group = answers_group(form, for_chat=False)
    assert "speculate" in group.rows
    with qtbot.waitSignal(group.chosen) as chosen:
        control = group.rows["speculate"].control
        assert isinstance(control, ChoiceBox)
        control.setCurrentIndex(1)
        control.activated.emit(1)
    assert chosen.args == ["speculate", False]
    assert "speculate" not in answers_group(form, for_chat=True).rows
