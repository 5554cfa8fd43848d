"""Replies side by side: columns, keys, directions, names, and what a growing one costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.data.stored_message import MessageState, StoredMessage
from app.views.message_actions import MessageActions
from app.views.message_view import MessageView
from app.views.variant_view import VariantView
from app.views.variants_menu import VariantsMenu
from app.views.variants_view import VariantsView
from engine.protocol import Generate, Role
from tests.app.conftest import Desk, settle

WIDE, NARROW = 1200, 420


def _variant(number: int, text: str, state: MessageState = MessageState.STREAMING) -> StoredMessage:
    return StoredMessage(number, "chat", Role.ASSISTANT, text, state, 1.0, model="m", parent_id=1)


def _variants(n_variants: int, state: MessageState = MessageState.STREAMING) -> list[StoredMessage]:
    return [_variant(number + 1, f"Answer {number}", state) for number in range(1, n_variants + 1)]


@pytest.fixture
def view(qtbot: QtBot) -> Iterator[VariantsView]:
    variants = _variants(4)
    view = VariantsView(variants[0], variants)
    qtbot.addWidget(view)
    view.resize(WIDE, view.fit(WIDE))
    view.show()
    view.activateWindow()
    settle()
    yield view


def _places(view: VariantsView) -> list[tuple[int, int]]:
    return [(column.x(), column.y()) for column in view.columns]


def test_columns_stand_beside_each_other_in_order(view: VariantsView) -> None:
    places = _places(view)
    assert [y for _, y in places] == [0] * 4
    assert [x for x, _ in places] == sorted({x for x, _ in places})
    assert len({column.height() for column in view.columns}) == 1
    assert view.columns[-1].geometry().right() < WIDE


def test_columns_begin_on_the_right_where_lines_do(view: VariantsView) -> None:
    view.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    view.fit(WIDE)
    xs = [x for x, _ in _places(view)]
    assert xs == sorted(xs, reverse=True)
    assert view.columns[0].geometry().right() == WIDE - 1


def test_columns_stand_below_each_other_where_there_is_no_room(view: VariantsView) -> None:
    height = view.fit(NARROW)
    assert {x for x, _ in _places(view)} == {0}
    ys = [y for _, y in _places(view)]
    assert ys == sorted(set(ys))
    assert height > view.columns[-1].geometry().bottom()


def test_eight_columns_are_spread_evenly_over_rows(qtbot: QtBot) -> None:
    variants = _variants(8)
    view = VariantsView(variants[0], variants)
    qtbot.addWidget(view)
    view.fit(WIDE)
    rows = sorted({y for _, y in _places(view)})
    assert [sum(y == row for _, y in _places(view)) for row in rows] == [4, 4]


def test_screen_readers_are_told_which_of_how_many(view: VariantsView) -> None:
    assert view.columns[1].accessibleName() == "Variant 2 of 4"
    assert view.columns[1].actions_of_variant.choose.accessibleName() == "Go on with this answer (Enter)"
    assert view.columns[1].actions_of_variant.stop.accessibleName() == "Stop this answer; the others go on"


def test_it_says_which_one_is_taken_if_nobody_chooses(qtbot: QtBot) -> None:
    variants = _variants(3)
    view = VariantsView(variants[1], variants)
    qtbot.addWidget(view)
    assert view.hint.text().endswith("variant 2 is taken.")


def test_arrows_go_from_one_to_the_next_and_enter_chooses(view: VariantsView, qtbot: QtBot) -> None:
    view.columns[0].setFocus()
    for key, expected in ((Qt.Key.Key_Right, 1), (Qt.Key.Key_Down, 2), (Qt.Key.Key_Left, 1)):
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, key)
        assert view.columns[expected].hasFocus()
    with qtbot.waitSignal(view.choose_requested) as chosen:
        QTest.keyClick(view.columns[1], Qt.Key.Key_Return)
    assert chosen.args == [view.columns[1].message.id]


def test_the_ends_keep_the_focus(view: VariantsView) -> None:
    view.columns[0].setFocus()
    QTest.keyClick(view.columns[0], Qt.Key.Key_Left)
    assert view.columns[0].hasFocus()


def test_arrows_follow_the_direction_of_the_window(view: VariantsView) -> None:
    view.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    view.columns[0].setFocus()
    QTest.keyClick(view.columns[0], Qt.Key.Key_Left)
    assert view.columns[1].hasFocus()


def test_an_answer_without_a_word_cannot_be_chosen(view: VariantsView, qtbot: QtBot) -> None:
    variants = [_variant(2, ""), *_variants(4)[1:]]
    view.show_row(variants[0], variants)
    assert view.columns[0].actions_of_variant.choose.isHidden()
    with qtbot.assertNotEmitted(view.choose_requested):
        QTest.keyClick(view.columns[0], Qt.Key.Key_Return)


def test_stop_is_offered_while_an_answer_is_written(view: VariantsView) -> None:
    variants = _variants(4)
    variants[1] = dataclasses.replace(variants[1], state=MessageState.COMPLETE)
    view.show_row(variants[0], variants)
    assert [c.actions_of_variant.stop.isHidden() for c in view.columns] == [False, True, False, False]
    with_copy = [not c.actions_of_variant.copy.isHidden() for c in view.columns]
    assert with_copy == [False, True, False, False]


def test_what_needs_a_choice_first_is_not_offered(view: VariantsView) -> None:
    variants = _variants(4, MessageState.COMPLETE)
    view.show_row(variants[0], variants)
    offered = {b.text() for b in view.columns[0].actions_row.findChildren(QPushButton) if not b.isHidden()}
    assert offered - {
        "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
        "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    } == {
        "Copy",
        "Choose",
    }


def test_an_answer_that_grows_is_laid_out_alone(view: VariantsView, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[str] = []

    def fit(column: VariantView, width: int) -> int:
        fitted.append(column.accessibleName())
        return MessageView.fit(column, width)

    monkeypatch.setattr(VariantView, "fit", fit)
    variants = _variants(4)
    variants[2] = dataclasses.replace(variants[2], content="Answer 3 and more")
    view.show_row(variants[0], variants)
    view.fit(WIDE)
    assert fitted == ["Variant 3 of 4"]


def test_answers_that_grow_together_share_the_time_of_one(view: VariantsView) -> None:
    assert {column.body.n_sharing for column in view.columns} == {4}
    variants = [dataclasses.replace(v, state=MessageState.COMPLETE) for v in _variants(4)[:3]]
    view.show_row(variants[0], [*variants, _variants(4)[3]])
    assert {column.body.n_sharing for column in view.columns} == {1}


# --- in the window ------------------------------------------------------------------------------------


def _group(desk: Desk) -> VariantsView:
    last = desk.weir.transcript.last()
    assert last is not None
    view = desk.weir.window.transcript.messages.get(last.id)
    assert isinstance(view, VariantsView)
    return view


def _ask(desk: Desk, n_replies: int) -> list[Generate]:
    desk.weir.window.resize(1280, 800)
    desk.weir.window.composer.edit.set_text("Why?")
    desk.weir.window.composer.variants_requested.emit(n_replies)
    settle()
    return desk.engine.newest.requests[-n_replies:]


def test_columns_use_the_width_beside_the_column_of_text(desk: Desk) -> None:
    _ask(desk, 4)
    transcript = desk.weir.window.transcript
    assert _group(desk).width() > transcript.widest_column()
    assert {column.y() for column in _group(desk).columns} == {0}
    desk.weir.window.resize(700, 800)
    settle()
    assert _group(desk).geometry().right() <= transcript.viewport().width()
    assert len({column.y() for column in _group(desk).columns}) > 1


def test_each_column_shows_its_own_text_as_it_comes(desk: Desk) -> None:
    first, second = _ask(desk, 2)
    desk.say(desk.engine.newest.write, "One", first)
    desk.say(desk.engine.newest.write, "Two", second)
    assert [column.body.original() for column in _group(desk).columns] == ["One", "Two"]


def test_the_button_of_a_column_chooses_it(desk: Desk) -> None:
    requests = _ask(desk, 2)
    for request in requests:
        desk.say(desk.engine.newest.write, f"Text {request.request_id}", request)
        desk.say(lambda r=request: desk.engine.newest.finish(f"Text {r.request_id}", request=r))
    _group(desk).columns[1].actions_of_variant.choose.click()
    settle()
    view = desk.weir.window.transcript.message_view(1)
    assert view is not None
    assert view.body.original() == f"Text {requests[1].request_id}"
    assert view.actions_row.versions.label.text() == "2/2"


def test_the_tab_key_reaches_all_columns(desk: Desk) -> None:
    requests = _ask(desk, 2)
    for request in requests:
        desk.say(desk.engine.newest.write, "Text", request)
    columns: list[QWidget] = list(_group(desk).columns)
    transcript = desk.weir.window.transcript
    reached, widget = [], transcript.nextInFocusChain()
    while widget is not None and widget is not transcript:
        reached += [widget] if widget in columns else []
        widget = widget.nextInFocusChain()
    assert reached == columns


# --- asking for them ----------------------------------------------------------------------------------


def _entries(menu: VariantsMenu) -> list[str]:
    return [action.text().replace("&", "") for action in menu.actions()]


def test_the_menu_offers_two_to_eight_answers(qtbot: QtBot) -> None:
    menu = VariantsMenu("Several")
    qtbot.addWidget(menu)
    assert _entries(menu) == [f"Answer {number} times" for number in range(2, 9)]
    with qtbot.waitSignal(menu.chosen) as chosen:
        menu.actions()[2].trigger()
    assert chosen.args == [4]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[VariantsMenu]:
    """The menus that were opened; nothing pops up where there is no screen."""
    menus: list[VariantsMenu] = []
    monkeypatch.setattr(VariantsMenu, "popup", lambda menu, _at: menus.append(menu))
    return menus


def test_the_button_beside_send_asks_for_several(desk: Desk, opened: list[VariantsMenu]) -> None:
    composer = desk.weir.window.composer
    assert not composer.several.isEnabled()
    composer.edit.set_text("Why?")
    composer.several.click()
    opened[-1].actions()[1].trigger()
    settle()
    assert len(desk.engine.newest.requests) == 3
    assert composer.text() == ""
    assert not composer.several.isEnabled()


def test_the_keys_ask_for_several_of_what_is_written_or_else_of_the_last_reply(
    desk: Desk, opened: list[VariantsMenu]
) -> None:
    desk.weir.window.composer.edit.set_text("Why?")
    desk.weir.commands.carry_out("several")
    opened[-1].actions()[0].trigger()
    settle()
    for request in desk.engine.newest.requests:
        desk.say(lambda r=request: desk.engine.newest.finish("Text", request=r))
    desk.weir.commands.carry_out("several")
    opened[-1].actions()[1].trigger()
    settle()
    assert len(desk.engine.newest.requests) == 5


def test_the_palette_says_why_several_cannot_be_had(desk: Desk) -> None:
    [offer] = [offer for offer in desk.weir.commands.offers() if offer.id == "several"]
    assert offer.unavailable_because == "nothing is written, and there is no reply yet"


def test_the_menu_of_a_reply_offers_to_write_several_again(qtbot: QtBot) -> None:
    actions = MessageActions()
    qtbot.addWidget(actions)
    actions.show_message(_variant(2, "Text", MessageState.COMPLETE), is_last=True)
    with qtbot.waitSignal(actions.again_requested) as again:
        actions.again.click()
    assert again.args == [1]
    menu = actions.more_menu()
    [several] = menu.findChildren(VariantsMenu)
    with qtbot.waitSignal(actions.again_requested) as again:
        several.actions()[6].trigger()
    assert again.args == [8]
