"""The facts of the context: what holds in the open chat, and a mark where the model was loaded otherwise."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.data.settings import Settings
from app.views.cache_button import CacheButton
from app.views.model_bar import ModelBar
from engine.protocol import KVType, Policy
from tests.app.scripted_engine import model_info

INFO = model_info("/models/a.gguf")
WARNING = "\N{WARNING SIGN}"


@pytest.fixture
def button(qtbot: QtBot) -> CacheButton:
    button = CacheButton()
    qtbot.addWidget(button)
    return button


def _entries(button: CacheButton) -> list[str]:
    button.fill_menu()
    return [action.text() for action in button.menu_shown.actions() if action.text()]


def test_a_model_that_was_loaded_otherwise_is_marked(button: CacheButton) -> None:
    button.show_facts(INFO, Settings(n_ctx=4096, kv_type=KVType.Q8_0, policy=Policy.STOP), reload_needed=True)
    assert WARNING in button.text()
    assert "ctx 4,096" in button.text() and "stop" in button.text() and "KV q8_0" in button.text()
    assert "load it again" in button.accessibleDescription()
    button.show_facts(INFO, Settings(), reload_needed=True)
    assert "ctx automatic" in button.text()
    button.show_facts(INFO, Settings())
    assert WARNING not in button.text()
    assert "ctx 8,192" in button.text()


def test_the_mark_comes_with_the_entry_that_removes_it(button: CacheButton) -> None:
    asked: list[str] = []
    for name in ("reload", "options", "settings"):
        getattr(button, f"{name}_requested").connect(lambda name=name: asked.append(name))
    button.show_facts(INFO, Settings(n_ctx=4096), reload_needed=True)
    assert _entries(button)[0] == "Load with this chat's options"
    button.menu_shown.actions()[0].trigger()
    button.show_facts(INFO, Settings())
    assert "Load with this chat's options" not in _entries(button)
    for action in button.menu_shown.actions()[-2:]:
        action.trigger()
    assert asked == ["reload", "options", "settings"]


def test_the_model_bar_passes_on_what_holds_in_the_chat(qtbot: QtBot) -> None:
    bar = ModelBar()
    qtbot.addWidget(bar)
    bar.show_model(INFO, None, Settings(n_ctx=1024), reload_needed=True)
    assert "ctx 1,024" in bar.cache.text()
    bar.show_model(INFO, "/models/b.gguf", Settings(), reload_needed=True)
    assert bar.cache.isHidden()
