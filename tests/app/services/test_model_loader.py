"""Loading, replacing and restarting models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.settings import SettingsStore
from app.services.model_loader import ModelLoader
from app.services.notice import Notice, NoticeAction
from app.services.preferences import Preferences
from engine.errors import EngineGone
from engine.protocol import Cancel, FinishReason
from tests.app.conftest import STARTER, Desk, settle
from tests.app.scripted_engine import ScriptedEngine


def test_first_start_loads_the_starter_model_and_remembers_it(start: Callable[[], Desk]) -> None:
    desk = start()
    assert desk.engine.newest.load_command.path == str(STARTER)
    assert desk.weir.preferences.settings.last_model is None
    desk.say(desk.engine.newest.load)
    assert desk.weir.preferences.settings.last_model == str(STARTER)


def test_message_sent_before_the_model_is_ready_is_answered_later(start: Callable[[], Desk]) -> None:
    desk = start()
    desk.send("Early bird")
    assert desk.engine.newest.requests == []
    desk.say(desk.engine.newest.load)
    assert [m.content for m in desk.engine.newest.requests[0].messages] == ["Early bird"]


def test_refused_file_leaves_the_loaded_model_answering(desk: Desk) -> None:
    desk.weir.loader.load("/models/broken.gguf")
    candidate, current = desk.engine.clients[1], desk.engine.clients[0]
    desk.say(candidate.refuse, "broken.gguf is cut short.")
    assert desk.notices[-1].message == "broken.gguf is cut short. starter goes on answering."
    assert desk.weir.preferences.settings.last_model == str(STARTER)
    assert [client.closed for client in (candidate, current)] == [True, False]
    desk.send("Still there?")
    assert len(current.requests) == 1


def test_file_that_kills_the_engine_leaves_the_loaded_model_answering(desk: Desk) -> None:
    desk.weir.loader.load("/models/culprit.gguf")
    desk.say(desk.engine.newest.die)
    assert "culprit.gguf" in desk.notices[-1].message
    assert desk.notices[-1].detail == "GGML_ASSERT"
    assert len(desk.engine.clients) == 2
    desk.send("Still there?")
    assert len(desk.engine.clients[0].requests) == 1


def test_restart_does_not_load_a_culprit_by_itself(start: Callable[[], Desk], tmp_path: Path) -> None:
    culprit = tmp_path / "culprit.gguf"
    culprit.write_bytes(b"GGUF")
    desk = start()
    desk.say(desk.engine.newest.load)
    desk.weir.loader.load(str(culprit))
    desk.say(desk.engine.newest.load)
    desk.weir.window.close()
    second = start()
    assert second.engine.newest.load_command.path == str(culprit)
    second.say(second.engine.newest.die)
    second.weir.window.close()
    third = start()
    assert third.engine.newest.load_command.path == str(STARTER)


def test_new_model_replaces_the_old_one_only_when_it_is_ready(desk: Desk) -> None:
    desk.weir.loader.load("/models/other.gguf")
    _old, new = desk.engine.clients
    assert _closed(desk.engine) == [False, False]
    desk.say(new.load)
    assert _closed(desk.engine) == [True, False]
    assert desk.weir.window.model_bar.button.text().startswith("other")
    desk.send("Hello")
    assert len(new.requests) == 1


def test_changing_the_model_cancels_the_reply_and_nothing_lands_elsewhere(desk: Desk) -> None:
    desk.send("Hello")
    old = desk.engine.newest
    desk.say(old.write, "He")
    desk.weir.loader.load("/models/other.gguf")
    desk.say(old.write, "l")  # it goes on answering until the other one is ready
    assert desk.shown() == ["Hello", "Hel"]
    desk.say(desk.engine.newest.load)
    assert Cancel(old.requests[-1].request_id) in old.sent
    assert desk.stored()[-1] == ("Hel", "interrupted")
    desk.send("Again")
    desk.say(old.write, "from the grave")
    assert desk.shown() == ["Hello", "Hel", "Again", ""]


def test_a_model_that_is_refused_in_the_middle_of_a_reply_does_not_disturb_it(desk: Desk) -> None:
    desk.send("Hello")
    old = desk.engine.newest
    desk.say(old.write, "Hel")
    desk.weir.loader.load("/models/broken.gguf")
    desk.say(desk.engine.newest.refuse, "broken.gguf is cut short.")
    assert desk.controller.running
    desk.say(old.finish, "lo")
    assert desk.stored()[-1][1] == "complete"


def test_engine_death_keeps_the_text_and_the_next_message_is_answered(desk: Desk) -> None:
    desk.send("Hello")
    desk.say(desk.engine.newest.write, "Hel")
    desk.say(desk.engine.newest.die)
    assert desk.stored()[-1] == ("Hel", "interrupted")
    assert not desk.controller.running
    desk.send("Go on")
    restarted = desk.engine.newest
    assert restarted.requests == []
    desk.say(restarted.load)
    assert [m.content for m in restarted.requests[0].messages] == ["Hello", "Hel", "Go on"]
    desk.say(restarted.finish, "Hello again")
    assert desk.stored()[-1] == ("Hello again", "complete")


def test_second_death_in_a_row_needs_a_button(desk: Desk) -> None:
    desk.say(desk.engine.newest.die)
    desk.say(desk.engine.newest.load)
    desk.say(desk.engine.newest.die)
    assert len(desk.engine.clients) == 2
    assert desk.notices[-1].action is NoticeAction.LOAD_AGAIN
    assert desk.weir.preferences.settings.last_model is None
    desk.weir.window.banner.action.click()
    settle()
    assert desk.engine.newest.load_command.path == str(STARTER)
    assert len(desk.engine.clients) == 3


def test_finished_reply_between_two_deaths_counts_from_anew(desk: Desk) -> None:
    desk.say(desk.engine.newest.die)
    desk.say(desk.engine.newest.load)
    desk.send("Hello")
    desk.say(desk.engine.newest.finish, "Hi", FinishReason.STOP)
    desk.say(desk.engine.newest.die)
    assert len(desk.engine.clients) == 3


def test_short_memory_closes_the_old_model_first_and_brings_it_back(
    qapp: object, home: Path, engine: ScriptedEngine
) -> None:
    big = home / "big.gguf"
    big.write_bytes(b"x" * 1000)
    store = SettingsStore(home / "settings.json")
    loader = ModelLoader(Preferences(store, store.load()[0]), engine, available_memory=lambda: 1099)
    notices: list[Notice] = []
    loader.notice.connect(notices.append)
    loader.load("/models/first.gguf")
    engine.newest.load()
    settle()
    loader.load(str(big))
    assert _closed(engine) == [True, False]
    with pytest.raises(EngineGone):
        loader.send(Cancel(1))
    engine.newest.refuse("big.gguf does not fit.")
    settle()
    assert engine.newest.load_command.path == "/models/first.gguf"
    engine.newest.load()
    settle()
    loader.send(Cancel(1))
    assert notices[0].message == "big.gguf does not fit."
    loader.close(1.0)


def test_other_chat_format_loads_the_same_file_again(desk: Desk) -> None:
    desk.weir.options.use_chat_format("chatml")
    assert desk.engine.newest.load_command.path == str(STARTER)
    assert desk.engine.newest.load_command.chat_format == "chatml"
    desk.say(desk.engine.newest.load)
    desk.weir.options.use_chat_format(None)
    assert desk.engine.newest.load_command.chat_format is None


def test_reply_that_waits_for_a_restart_bears_the_models_name(desk: Desk) -> None:
    desk.say(desk.engine.newest.load)
    desk.say(desk.engine.newest.die)
    desk.send("Hello")
    assert desk.weir.transcript.message_at(1).model == "starter"


def _closed(engine: ScriptedEngine) -> list[bool]:
    return [client.closed for client in engine.clients]
