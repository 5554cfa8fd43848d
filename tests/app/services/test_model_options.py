"""Context size, policy and KV type: chosen in the model bar, stored, and never a trap."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.data.settings import SettingsStore
from app.services.model_loader import ModelLoader
from app.services.model_options import ModelOptions
from app.services.preferences import Preferences
from engine.protocol import Endurance, KVType, LoadOptions, Policy
from tests.app.conftest import STARTER, Desk, settle
from tests.app.scripted_engine import ScriptedEngine


def _choices(desk: Desk) -> list[QAction]:
    button = desk.weir.window.model_bar.cache
    button.fill_menu()
    menus = [action.menu() for action in button.menu_shown.actions()]
    return [action for menu in menus if isinstance(menu, QMenu) for action in menu.actions()]


def _choose(desk: Desk, text: str) -> None:
    next(action for action in _choices(desk) if action.text().startswith(text)).trigger()
    settle()


def test_facts_say_how_the_model_is_run(desk: Desk) -> None:
    button = desk.weir.window.model_bar.cache
    assert button.accessibleName() == "Context: ctx 8,192, endless, KV f16"
    checked = [action.text() for action in _choices(desk) if action.isChecked()]
    assert [text.split(":")[0] for text in checked] == ["8,192 tokens", "Endless", "f16"]


@pytest.mark.parametrize(
    ("n_ctx", "n_ctx_train", "offered"),
    [
        (8192, 8192, [512, 1024, 2048, 4096, 8192]),
        (700, 3000, [512, 700, 1024, 2048, 3000]),
        (256, 256, [256]),
    ],
)
def test_contexts_up_to_the_trained_one_are_offered(
    start: Callable[[], Desk], n_ctx: int, n_ctx_train: int, offered: list[int]
) -> None:
    desk = start()
    desk.say(lambda: desk.engine.newest.load(n_ctx=n_ctx, n_ctx_train=n_ctx_train))
    texts = [action.text() for action in _choices(desk) if "tokens" in action.text()]
    assert texts == [f"{size:,} tokens" for size in offered]


def test_another_context_loads_the_model_again_and_keeps_the_chat(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.finish, "Hi")
    _choose(desk, "2,048")
    assert desk.engine.newest.load_command.n_ctx == 2048
    assert desk.engine.newest.load_command.path == str(STARTER)
    desk.say(lambda: desk.engine.newest.load(n_ctx=2048))
    assert desk.shown() == ["Hello", "Hi"]
    desk.send("Still there?")
    assert [message.content for message in desk.engine.newest.requests[0].messages] == [
        "Hello",
        "Hi",
        "Still there?",
    ]


def test_choices_are_kept_for_the_next_start(start: Callable[[], Desk]) -> None:
    first = start()
    first.say(first.engine.newest.load)
    _choose(first, "q8_0")
    first.say(first.engine.newest.load)
    _choose(first, "Exact")
    assert len(first.engine.clients) == 2  # a policy needs no other context
    first.weir.window.close()
    second = start()
    assert second.engine.newest.load_command.kv_type is KVType.Q8_0
    assert second.weir.preferences.settings.policy is Policy.EXACT


def test_what_became_of_the_options_is_told_once(desk: Desk) -> None:
    desk.weir.preferences.update(load_options=LoadOptions(n_batch=64, mlock=True))
    told = ("A batch is small.", "It is not locked.")
    for _ in range(2):
        desk.weir.loader.load(str(STARTER))
        assert desk.engine.newest.load_command.options == LoadOptions(n_batch=64, mlock=True)
        desk.say(lambda: desk.engine.newest.load(notices=told))
    notices = [notice for notice in desk.notices if "batch" in notice.message]
    assert [(notice.message, notice.calm) for notice in notices] == [(" ".join(told), True)]


def test_other_options_of_loading_need_the_model_anew_and_come_back_if_refused(desk: Desk) -> None:
    assert not desk.chats.options.needs_reload(None)
    desk.chats.options.choose(None, load_options=LoadOptions(mmap=False))
    assert desk.engine.newest.load_command.options == LoadOptions(mmap=False)
    desk.say(desk.engine.newest.refuse, "There is no memory.")
    assert desk.weir.preferences.settings.load_options == LoadOptions()


def test_context_that_is_refused_is_not_what_the_next_start_uses(desk: Desk) -> None:
    _choose(desk, "4,096")
    desk.say(desk.engine.newest.refuse, "There is no memory for 4,096 tokens.")
    assert desk.weir.preferences.settings.n_ctx is None
    assert desk.weir.preferences.settings.last_model == str(STARTER)
    assert "goes on answering" in desk.notices[-1].message


def test_model_that_made_room_for_a_refused_context_comes_back_as_it_was(
    qapp: object, home: Path, engine: ScriptedEngine
) -> None:
    big = home / "big.gguf"
    big.write_bytes(b"x" * 1000)
    store = SettingsStore(home / "settings.json")
    preferences = Preferences(store, store.load()[0])
    loader = ModelLoader(preferences, engine, available_memory=lambda: 0)
    options = ModelOptions(preferences, loader)
    loader.load(str(big))
    engine.newest.load()
    settle()
    preferences.update(n_ctx=1_000_000)
    loader.load(str(big))
    assert [client.closed for client in engine.clients] == [True, False]
    engine.newest.refuse("There is no memory for 1,000,000 tokens.")
    settle()
    assert engine.newest.load_command.n_ctx is None
    assert len(engine.clients) == 3
    engine.newest.load()
    settle()
    loader.load(str(big))
    engine.newest.refuse("Not this time.")
    settle()
    assert len(engine.clients) == 4  # the very same thing is not tried again by itself
    assert options.settings.n_ctx is None
    loader.close(1.0)


def test_model_that_cannot_let_go_says_so_once_before_the_first_message(start: Callable[[], Desk]) -> None:
    desk = start()
    reason = "This model's state cannot forget single turns: it is read again."
    facts = {"endurance": Endurance.CANNOT, "endurance_reason": reason}
    desk.say(lambda: desk.engine.newest.load(**facts))
    assert [(notice.message, notice.calm) for notice in desk.notices] == [(reason, True)]
    assert desk.weir.window.banner.text.text() == reason
    button = desk.weir.window.model_bar.cache
    assert html.escape(reason) in button.toolTip()
    assert "exact" in button.text()  # what really happens, whatever was chosen
    desk.weir.window.banner.dismiss.click()
    desk.say(desk.engine.newest.die)
    desk.say(lambda: desk.engine.newest.load(**facts))
    assert [notice.message for notice in desk.notices].count(reason) == 1


def test_model_that_needs_all_cells_says_so_where_one_asks(start: Callable[[], Desk]) -> None:
    desk = start()
    reason = "Endless chats with this model keep all cells: +12 MiB."
    desk.say(lambda: desk.engine.newest.load(endurance=Endurance.NEEDS_FULL_SWA, endurance_reason=reason))
    assert reason in desk.weir.window.model_bar.cache.toolTip()
    assert desk.notices == []
