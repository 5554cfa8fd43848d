"""Cells that leave the cache and come back: other chats need room, the worker ends, files are damaged."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from engine.decoding.kv_store import KVKey, KVStore
from engine.decoding.shelf import Shelf
from engine.llama.model import Model
from engine.protocol import (
    Finished,
    Forget,
    Generate,
    KVType,
    LoadModel,
    Message,
    ModelLoaded,
    Role,
    SavedKV,
    variant_chat_id,
)
from tests.native.harness import GREEDY, LocalEngine, remote_engine

KEY = KVKey("starter", "llama", "test", KVType.F16, KVType.F16, False, True, 1024)
LONG = "The weir holds the river back, and the water behind it keeps its level all year. " * 10
CHAT = [Message(Role.USER, f"{LONG}\nWhat keeps its level?")]
MORE = Message(Role.USER, "Why is that?")
OpenEngine = Callable[..., AbstractContextManager[LocalEngine]]


@pytest.fixture
def engine_on(starter: Model, tmp_path: Path) -> OpenEngine:
    """Opens an engine over the one folder of saved cells, and closes it as a worker does."""

    @contextmanager
    def engine(key: KVKey = KEY, budget: int = 10**9) -> Iterator[LocalEngine]:
        shelf = Shelf(KVStore(tmp_path, budget), key)
        made = LocalEngine(starter, 1024, shelf=shelf)
        try:
            yield made
        finally:
            made.close()
            shelf.close()

    return engine


def goes_on(engine: LocalEngine, reply: Finished) -> Finished:
    return engine.ask([*CHAT, Message(Role.ASSISTANT, reply.text), MORE], max_tokens=16)


def test_chat_goes_on_in_another_process_as_in_the_same(
    engine_on: OpenEngine, local: Callable[[int], LocalEngine]
) -> None:
    same = local(1024)
    expected = goes_on(same, same.ask(CHAT, max_tokens=16))
    with engine_on() as first:
        reply = first.ask(CHAT, max_tokens=16)
    with engine_on() as second:
        found = goes_on(second, reply)
    assert found.text == expected.text
    assert found.stats.tokens_restored == found.stats.tokens_reused > 150
    assert found.stats.tokens_prefilled == expected.stats.tokens_prefilled < 20


def test_idle_chat_is_set_aside_for_another_and_comes_back(engine_on: OpenEngine) -> None:
    with engine_on() as engine:
        reply = engine.ask(CHAT, max_tokens=16)
        engine.ask([Message(Role.USER, "Hello!")], chat="other", max_tokens=4)
        assert [use.chat_id for use in engine.scheduler.uses] == ["other"]
        found = goes_on(engine, reply)
    assert found.stats.tokens_restored > 150 and found.stats.reevaluated_because is None


@pytest.mark.parametrize(
    "other", [{"model": "another"}, {"build": "newer"}, {"n_ctx": 2048}, {"k_type": KVType.Q8_0}]
)
def test_cells_of_another_model_or_load_are_not_taken(
    engine_on: OpenEngine, other: dict[str, object]
) -> None:
    with engine_on() as first:
        reply = first.ask(CHAT, max_tokens=8)
    with engine_on(key=KVKey(**{**{f: getattr(KEY, f) for f in KEY.__slots__}, **other})) as second:
        found = goes_on(second, reply)
    assert found.stats.tokens_restored == 0 and found.stats.tokens_prefilled > 150


def test_edited_chat_keeps_what_stands_before_the_change(engine_on: OpenEngine) -> None:
    with engine_on() as first:
        reply = first.ask(CHAT, max_tokens=8)
    with engine_on() as second:
        edited = [*CHAT, Message(Role.ASSISTANT, f"{reply.text} Indeed."), MORE]
        found = second.ask(edited, max_tokens=8)
    assert found.stats.tokens_restored > 150


def test_deleted_chat_and_unchosen_variants_leave_nothing(engine_on: OpenEngine, tmp_path: Path) -> None:
    with engine_on() as engine:
        for number in range(2):
            engine.ask(CHAT, chat=variant_chat_id("chat", number), max_tokens=4)
        engine.scheduler.forget("chat")
    assert not any(tmp_path.iterdir())
    with engine_on() as engine:
        engine.ask(CHAT, chat=variant_chat_id("chat", 1), max_tokens=4)
    assert not any(tmp_path.iterdir())


def test_budget_of_nothing_keeps_nothing(engine_on: OpenEngine, tmp_path: Path) -> None:
    with engine_on(budget=0) as engine:
        engine.ask(CHAT, max_tokens=4)
    assert not any(tmp_path.iterdir())


def test_damaged_state_is_as_if_there_were_none(engine_on: OpenEngine, tmp_path: Path) -> None:
    with engine_on() as first:
        reply = first.ask(CHAT, max_tokens=8)
        expected = goes_on(first, reply)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    chance = random.Random(5)
    for damaged in (
        whole[: len(whole) // 2],
        b"",
        bytes(len(whole)),
        *(_flipped(whole, chance.randrange(8 * len(whole))) for _ in range(3)),
    ):
        file.write_bytes(damaged)
        with engine_on() as engine:
            found = goes_on(engine, reply)
            assert found.stats.tokens_restored == 0 and found.text == expected.text
            engine.scheduler.forget("chat")


def _flipped(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def test_worker_saves_at_its_end_and_the_next_one_goes_on(starter_model: Path, tmp_path: Path) -> None:
    load = LoadModel(str(starter_model), n_ctx=1024, n_threads=2, saved_kv=SavedKV(str(tmp_path), 10**9))

    def ask(*messages: Message, forget: bool = False) -> Finished:
        with remote_engine() as engine:
            engine.client.send(load)
            engine.next(ModelLoaded)
            engine.client.send(Generate(1, "chat", messages, GREEDY, max_tokens=8))
            finished = engine.next(Finished)
            if forget:
                engine.client.send(Forget("chat"))
            return finished

    reply = ask(*CHAT)
    assert len(list(tmp_path.glob("*.kv"))) == 1
    found = ask(*CHAT, Message(Role.ASSISTANT, reply.text), MORE, forget=True)
    assert found.stats.tokens_restored > 150
    assert not list(tmp_path.glob("*.kv"))
