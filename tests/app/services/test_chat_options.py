"""What holds in a chat, and whether the model was loaded for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.data.chat_options import ChatOptions
from app.data.chat_store import ChatStore, open_chat_store
from app.data.settings import LoadSettings, SettingsStore
from app.services.chat_options import ChatOptionsService
from app.services.model_loader import ModelLoader
from app.services.model_options import ModelOptions
from app.services.notice import Notice
from app.services.preferences import Preferences
from engine.errors import KnownError
from engine.protocol import KVType, Policy, Sampling
from tests.app.conftest import settle
from tests.app.scripted_engine import ScriptedEngine


@dataclass
class Bench:
    """The service between a real store and a scripted engine."""

    store: ChatStore
    preferences: Preferences
    loader: ModelLoader
    options: ChatOptionsService
    engine: ScriptedEngine
    changed: list[str | None] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def load(self, **facts: object) -> None:
        self.engine.newest.load(**facts)
        settle()


@pytest.fixture
def bench(qapp: object, home: Path, engine: ScriptedEngine) -> Iterator[Bench]:
    settings_store = SettingsStore(home / "settings.json")
    preferences = Preferences(settings_store, settings_store.load()[0])
    store = open_chat_store(home / "chats.db").store
    loader = ModelLoader(preferences, engine)
    options = ChatOptionsService(store, preferences, loader)
    bench = Bench(store, preferences, loader, options, engine)
    options.changed.connect(bench.changed.append)
    options.notice.connect(bench.notices.append)
    yield bench
    loader.close(1.0)
    store.close()


def test_options_of_a_chat_hold_there_and_nowhere_else(bench: Bench) -> None:
    chat, other = bench.store.create_chat().id, bench.store.create_chat().id
    bench.options.set_options(chat, ChatOptions(system_prompt="Be brief.", sampling=Sampling(seed=1)))
    assert bench.options.effective(chat).system_prompt == "Be brief."
    assert bench.options.effective(chat).sampling == Sampling(seed=1)
    assert bench.options.effective(other) == bench.preferences.settings
    assert bench.store.options(chat).system_prompt == "Be brief."
    assert bench.changed == [chat]


def test_what_a_chat_does_not_say_follows_the_settings(bench: Bench) -> None:
    chat = bench.store.create_chat().id
    bench.options.set_options(chat, ChatOptions(max_tokens=5))
    bench.preferences.update(max_tokens=9, system_prompt="New")
    effective = bench.options.effective(chat)
    assert (effective.max_tokens, effective.system_prompt) == (5, "New")


def test_options_of_the_new_chat_wait_until_it_is_stored(bench: Bench) -> None:
    bench.options.set_options(None, ChatOptions(policy=Policy.STOP))
    assert bench.options.effective(None).policy is Policy.STOP
    chat = bench.store.create_chat().id
    bench.options.adopt(chat)
    assert bench.options.options(chat) == ChatOptions(policy=Policy.STOP)
    assert bench.options.options(None) == ChatOptions()
    assert bench.changed == [None, chat, None]


def test_options_that_cannot_be_stored_are_told_and_do_not_hold(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = bench.store.create_chat().id

    def full(chat_id: str, options: ChatOptions) -> None:
        raise KnownError("The disk is full.")

    monkeypatch.setattr(bench.store, "set_options", full)
    bench.options.set_options(chat, ChatOptions(max_tokens=5))
    assert [(notice.message, notice.chat_id) for notice in bench.notices] == [("The disk is full.", chat)]
    assert bench.options.effective(chat).max_tokens is None
    assert bench.changed == [chat]  # so that what is shown is what holds


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        (ChatOptions(n_ctx=2048), True),
        (ChatOptions(n_ctx=8192), False),  # which is what "automatic" came to
        (ChatOptions(kv_type=KVType.Q8_0), True),
        (ChatOptions(n_gpu_layers=0), True),
        (ChatOptions(policy=Policy.STOP, max_tokens=3, system_prompt="x", sampling=Sampling(seed=1)), False),
    ],
)
def test_only_other_load_options_need_another_load(bench: Bench, options: ChatOptions, needed: bool) -> None:
    bench.options.set_options(None, options)
    assert not bench.options.needs_reload(None)  # there is no model
    bench.loader.load("/models/a.gguf")
    bench.load()
    assert bench.options.needs_reload(None) is needed


def test_more_context_than_the_model_was_trained_for_counts_as_what_it_was_trained_for(bench: Bench) -> None:
    bench.loader.load("/models/a.gguf")
    bench.load(n_ctx=8192, n_ctx_train=32_768)
    bench.options.set_options(None, ChatOptions(n_ctx=99_999_999))
    assert bench.options.needs_reload(None)
    bench.options.load_for(None)
    assert bench.engine.newest.load_command.n_ctx == 32_768
    bench.load(n_ctx=32_768, n_ctx_train=32_768)
    assert not bench.options.needs_reload(None)


def test_loading_for_a_chat_uses_its_options_and_leaves_the_settings(bench: Bench) -> None:
    chat = bench.store.create_chat().id
    bench.options.set_options(chat, ChatOptions(n_ctx=2048, kv_type=KVType.Q8_0, n_gpu_layers=3))
    bench.loader.load("/models/a.gguf")
    bench.load()
    bench.options.load_for(chat)
    command = bench.engine.newest.load_command
    assert (command.path, command.n_ctx, command.kv_type, command.n_gpu_layers) == (
        *("/models/a.gguf", 2048),
        *(KVType.Q8_0, 3),
    )
    assert not bench.options.needs_reload(chat)  # it is on its way
    assert bench.options.needs_reload(None)
    bench.load(n_ctx=2048)
    assert not bench.options.needs_reload(chat)
    assert bench.preferences.settings.load_settings == LoadSettings()


def test_without_a_model_there_is_nothing_to_load_again(bench: Bench) -> None:
    bench.options.load_for(None)
    assert bench.engine.clients == []
    bench.options.set_options(None, ChatOptions(n_ctx=1024))
    bench.options.load_for(None, "/models/b.gguf")
    assert bench.engine.newest.load_command.n_ctx == 1024


def test_choosing_changes_what_the_chat_has_of_its_own_and_else_the_settings(bench: Bench) -> None:
    chat = bench.store.create_chat().id
    bench.options.set_options(chat, ChatOptions(policy=Policy.STOP))
    bench.options.choose(chat, policy=Policy.ENDLESS)
    assert bench.options.options(chat) == ChatOptions(policy=Policy.ENDLESS)
    assert bench.preferences.settings.policy is Policy.ENDLESS  # as it was
    bench.loader.load("/models/a.gguf")
    bench.load()
    bench.options.choose(chat, policy=Policy.EXACT)
    assert len(bench.engine.clients) == 1  # no load for a policy
    bench.options.choose(chat, n_ctx=1024)
    assert bench.preferences.settings.n_ctx == 1024
    assert bench.options.options(chat) == ChatOptions(policy=Policy.EXACT)
    assert bench.engine.newest.load_command.n_ctx == 1024


def test_options_of_a_chat_that_are_refused_leave_settings_and_model_as_they_were(bench: Bench) -> None:
    model_options = ModelOptions(bench.preferences, bench.loader)
    bench.preferences.update(n_ctx=4096)
    bench.loader.load("/models/a.gguf")
    bench.load(n_ctx=4096)
    bench.options.set_options(None, ChatOptions(n_ctx=1_000_000))
    bench.options.load_for(None)
    bench.engine.newest.refuse("There is no memory for 1,000,000 tokens.")
    settle()
    assert model_options.settings.n_ctx == 4096
    assert bench.loader.info is not None
    assert bench.options.needs_reload(None)  # the mark stays


def test_settings_that_were_good_for_a_chat_only_are_not_taken_for_good(bench: Bench) -> None:
    model_options = ModelOptions(bench.preferences, bench.loader)
    bench.loader.load("/models/a.gguf")
    bench.load()
    bench.options.set_options(None, ChatOptions(n_ctx=512))
    bench.options.load_for(None)
    bench.load(n_ctx=512)
    bench.preferences.update(n_ctx=1_000_000)
    bench.loader.load("/models/a.gguf")
    bench.engine.newest.refuse("There is no memory for 1,000,000 tokens.")
    settle()
    assert model_options.settings.n_ctx is None


def test_engine_that_died_comes_back_as_the_chat_wanted_it(bench: Bench) -> None:
    bench.options.set_options(None, ChatOptions(n_ctx=512))
    bench.options.load_for(None, "/models/a.gguf")
    bench.load(n_ctx=512)
    bench.engine.newest.die()
    settle()
    assert len(bench.engine.clients) == 2
    assert bench.engine.newest.load_command.n_ctx == 512


def test_a_file_that_says_no_trained_context_counts_as_trained_for_4096(bench: Bench) -> None:
    bench.preferences.update(n_ctx=8192)
    bench.options.load_for(None, "/models/m.gguf")
    bench.load(n_ctx=4096, n_ctx_train=0)
    assert bench.loader.asked_with is not None
    bench.options.load_for(None)
    assert bench.loader.asked_with == LoadSettings(n_ctx=4096)
    bench.load(n_ctx=4096, n_ctx_train=0)
    assert not bench.options.needs_reload(None)
