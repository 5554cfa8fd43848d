"""Several sequences in one pool: what batching gains, what sharing saves, how quickly a saved chat opens."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.decoding.kv_store import KVKey, KVStore
from engine.decoding.shelf import Shelf
from engine.llama.model import Model
from engine.protocol import Finished, KVType, Message, Role, Sampling, TextDelta, variant_chat_id
from tests.native.harness import LocalEngine, loaded

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

N_REPLIES, N_TOKENS, ROUNDS = 8, 64, 5
LONG = "The weir holds the river back, and the water behind it keeps its level all year. "
KEY = KVKey("starter", "llama", "bench", KVType.F16, KVType.F16, False, True, 4096)


@pytest.fixture(scope="module")
def model(starter_model: Path) -> Iterator[Model]:
    with loaded(starter_model) as opened:
        yield opened


@contextmanager
def engine_of(model: Model, n_ctx: int, shelf: Shelf | None = None) -> Iterator[LocalEngine]:
    engine = LocalEngine(model, n_ctx, n_seq_max=N_REPLIES, shelf=shelf)
    engine.context.set_threads(2)
    try:
        yield engine
    finally:
        engine.close()
        if shelf:
            shelf.close()


def tokens_a_second(engine: LocalEngine, n_replies: int, run: int) -> float:
    """Of all replies together, from where all are being written to the first one's end."""
    for number in range(n_replies):
        message = Message(Role.USER, f"Tell me about river number {number}.")
        engine.submit(
            [message], chat=f"{run}-{number}", max_tokens=N_TOKENS, ignore_eos=True, speculate=False
        )
    begun: dict[int, int] = {}
    while len(begun) < n_replies:
        begun |= {e.request_id: e.n_generated for e in engine.scheduler.step() if isinstance(e, TextDelta)}
    started, n_steps = time.perf_counter(), 0
    n_left = N_TOKENS - max(begun.values()) - 1
    while n_steps < n_left:
        engine.scheduler.step()
        n_steps += 1
    seconds = time.perf_counter() - started
    while engine.scheduler.busy:
        engine.scheduler.step()
    return n_replies * n_steps / seconds


def test_eight_replies_at_once_come_quicker_than_one_after_another(model: Model) -> None:
    with engine_of(model, 2048) as engine:
        tokens_a_second(engine, 1, -1)
        pairs = [
            (tokens_a_second(engine, 1, 2 * i), tokens_a_second(engine, N_REPLIES, 2 * i + 1))
            for i in range(ROUNDS)
        ]
    gain = statistics.median(many / one for one, many in pairs)
    one, many = (statistics.median(values) for values in zip(*pairs, strict=True))
    print(f"\n1 reply {one:.1f} tokens/s, {N_REPLIES} at once {many:.1f}: {gain:.2f} times")
    assert gain >= 1.45


def test_variants_read_a_long_prompt_once_and_keep_it_once(model: Model) -> None:
    question = [Message(Role.USER, LONG * 55)]
    with engine_of(model, 2048) as engine:
        (alone, peak_alone), (together, peak) = (_variants(engine, question, n) for n in (1, 4))
    read, read_alone = sum(r.stats.tokens_prefilled for r in together), alone[0].stats.tokens_prefilled
    print(f"\n1 reply: {read_alone} tokens read, {peak_alone} cells at most; 4: {read}, {peak}")
    assert read_alone > 1000 and read < 1.05 * read_alone
    assert peak < 1.3 * peak_alone


def _variants(engine: LocalEngine, question: list[Message], count: int) -> tuple[list[Finished], int]:
    chat = f"chat of {count}"
    for number in range(count):
        sampling = Sampling(seed=number)
        engine.submit(
            question, chat=variant_chat_id(chat, number), sampling=sampling, max_tokens=64, ignore_eos=True
        )
    replies: list[Finished] = []
    peak = 0
    while len(replies) < count:
        replies += [event for event in engine.scheduler.step() if isinstance(event, Finished)]
        peak = max(peak, engine.scheduler.cells_used)
    engine.scheduler.forget(chat)
    return replies, peak


def test_saved_chat_answers_far_sooner_than_one_that_is_read_again(model: Model, tmp_path: Path) -> None:
    chat = [Message(Role.USER, LONG * 195)]
    more = Message(Role.USER, "Why?")

    def opened() -> Shelf:
        return Shelf(KVStore(tmp_path, 10**9), KEY)

    def first_token(shelf: Callable[[], Shelf] | None, messages: list[Message]) -> Finished:
        with engine_of(model, 4096, shelf() if shelf else None) as engine:
            return engine.ask(messages, max_tokens=2)

    reply = first_token(opened, chat)
    messages = [*chat, Message(Role.ASSISTANT, reply.text), more]
    anew = first_token(None, messages).stats
    restored = []
    for _ in range(3):
        restored.append(first_token(opened, messages).stats)
    assert anew.ttft_ms is not None and all(stats.tokens_restored >= 3400 for stats in restored)
    soonest = statistics.median(stats.ttft_ms or 0.0 for stats in restored)
    print(
        f"\n{anew.tokens_prefilled} tokens: first token after {anew.ttft_ms:,.0f} ms, "
        f"from saved cells after {soonest:.0f} ms: {anew.ttft_ms / soonest:.0f} times sooner"
    )
    assert anew.ttft_ms >= 50 * soonest
