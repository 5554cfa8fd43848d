"""Replies with drafts are token for token those without, and so are their ledgers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.decoding.draft_length import Prospect
from engine.decoding.scheduler import Scheduler
from engine.decoding.sequence import Sequence
from engine.decoding.verification import sampled
from engine.errors import BadRequest
from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.draft_loading import check_draft, check_vocabulary, load_draft
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.protocol import (
    Event,
    Finished,
    FinishReason,
    FlashAttention,
    KVType,
    Message,
    Sampling,
    TextDelta,
    TurnStats,
)
from tests.conftest import SmallModels
from tests.native.harness import GREEDY, LocalEngine, assistant, loaded, user

TEXT = (
    "The river bends because water is lazy. Where the bank is soft it digs, and where the current is slow it "
    "drops what it carried: sand first, then silt."
)
REPEAT = [user(f"Repeat this text exactly, word for word:\n\n{TEXT}")]
LOOPS = "for i in range(3):\n    print(i)\nfor j in range(3):\n    print(j)"
CODE = [user(f"Copy this code:\n\n```python\n{LOOPS}\n```")]
STORY = [user("Tell a story about a dragon.")]
WITH_PENALTY = Sampling(seed=11, repeat_penalty=1.1)
N_DRAFTED = 6

Ledger = tuple[list[int], int]


@pytest.fixture
def always_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts of six tokens wherever there is a match, whatever they cost."""

    def six(prospect: Prospect, *_costs: object) -> int:
        return min(prospect.limit, N_DRAFTED)

    monkeypatch.setattr("engine.decoding.speculation.best_length", six)


def sequence_of(engine: LocalEngine, chat: str = "chat") -> Sequence:
    sequence = engine.scheduler.sequence(chat)
    assert sequence
    return sequence


def ledger_of(engine: LocalEngine, chat: str = "chat") -> Ledger:
    """All ids, and how many of them are in the cache; checks that the cells are just those."""
    sequence = sequence_of(engine, chat)
    ledger = sequence.ledger
    assert engine.context.position_range(sequence.seq_id) == (0, ledger.next_position - 1)
    return list(ledger.ids), ledger.end_decoded


@pytest.fixture
def fresh(starter: Model) -> Iterator[Callable[..., LocalEngine]]:
    with ExitStack() as opened:

        def make(**more: Any) -> LocalEngine:
            engine = LocalEngine(starter, 1024, **more)
            opened.callback(engine.close)
            return engine

        yield make


MakeEngine = Callable[..., LocalEngine]


def both(make: MakeEngine, messages: Many[Message], **more: Any) -> tuple[Finished, Finished]:
    """The reply without and with drafts, each in a context of its own; checks that they are the same."""
    ends, ledgers = [], []
    for speculate in (False, True):
        engine = make()
        ends.append(engine.ask(messages, speculate=speculate, **more))
        ledgers.append(ledger_of(engine))
    plain, drafted = ends
    assert drafted.text == plain.text
    assert drafted.reason is plain.reason
    assert drafted.stats.tokens_generated == plain.stats.tokens_generated
    assert ledgers[0] == ledgers[1]
    assert (plain.stats.tokens_drafted, plain.stats.draft_gain) == (0, None)
    return plain, drafted


@pytest.mark.usefixtures("always_drafts")
@pytest.mark.parametrize(
    ("messages", "sampling"),
    [
        (REPEAT, GREEDY),
        (CODE, GREEDY),
        (REPEAT, Sampling(seed=7)),
        (CODE, WITH_PENALTY),
        (STORY, WITH_PENALTY),
    ],
    ids=["copy", "code", "copy sampled", "code sampled", "story sampled"],
)
def test_a_reply_is_the_same_with_drafts(
    fresh: MakeEngine, messages: list[Message], sampling: Sampling
) -> None:
    _plain, drafted = both(fresh, messages, sampling=sampling, max_tokens=60)
    if messages is REPEAT and sampling is GREEDY:
        assert drafted.stats.tokens_accepted > 20
    assert drafted.stats.tokens_accepted <= drafted.stats.tokens_drafted


@pytest.mark.usefixtures("always_drafts")
def test_a_stop_string_ends_a_reply_in_the_middle_of_a_draft(fresh: MakeEngine) -> None:
    _plain, drafted = both(fresh, REPEAT, stop=("soft it",))
    assert drafted.reason is FinishReason.STOP and drafted.text.endswith("bank is ")
    assert drafted.stats.tokens_accepted > 0


@pytest.mark.usefixtures("always_drafts")
@pytest.mark.parametrize("max_tokens", [1, 2, 17, 18, 19])
def test_max_tokens_ends_a_reply_in_the_middle_of_a_draft(fresh: MakeEngine, max_tokens: int) -> None:
    plain, _drafted = both(fresh, REPEAT, max_tokens=max_tokens)
    assert plain.reason is FinishReason.LENGTH
    assert plain.stats.tokens_generated == max_tokens


@pytest.mark.usefixtures("always_drafts")
def test_a_reply_that_was_stopped_among_drafts_goes_on_as_if_it_never_was(fresh: MakeEngine) -> None:
    whole = fresh()
    text = whole.ask(REPEAT, max_tokens=40, ignore_eos=True, speculate=False).text
    engine = fresh()
    request_id = engine.submit(REPEAT, ignore_eos=True)
    engine.run(lambda event: isinstance(event, TextDelta) and event.n_generated >= 20)
    engine.scheduler.cancel(request_id)
    first = engine.run()[-1]
    assert isinstance(first, Finished) and first.stats.tokens_accepted > 0
    n_left = 40 - first.stats.tokens_generated
    second = engine.ask([*REPEAT, assistant(first.text)], max_tokens=n_left, ignore_eos=True)
    assert first.text + second.text == text
    assert ledger_of(engine)[0] == ledger_of(whole)[0]


@pytest.mark.usefixtures("always_drafts")
def test_replies_side_by_side_are_those_without_drafts(fresh: MakeEngine) -> None:
    texts, ids = [], []
    for speculate in (False, True):
        engine = fresh(kv_type=KVType.Q8_0)  # f16 sums depend on which cells are the other's
        for chat, messages in (("copy", REPEAT), ("code", CODE)):
            engine.submit(messages, chat=chat, max_tokens=40, speculate=speculate)
        ends = finished_of(engine, 2)
        texts.append([end.text for end in ends])
        ids.append([ledger_of(engine, chat)[0] for chat in ("copy", "code")])
    assert texts[0] == texts[1]
    assert ids[0] == ids[1]
    assert ends[0].stats.tokens_accepted > 0


def finished_of(engine: LocalEngine, count: int) -> list[Finished]:
    """The ends of so many replies, by their requests."""
    events: list[Event] = []
    while sum(isinstance(event, Finished) for event in events) < count:
        events += engine.scheduler.step()
    ends = [event for event in events if isinstance(event, Finished)]
    return sorted(ends, key=lambda end: end.request_id)


@pytest.mark.usefixtures("always_drafts")
def test_drafts_use_only_cells_that_are_free(starter: Model) -> None:
    """A full context evicts at the same tokens, and positions move when they would have."""
    ends = []
    for speculate in (False, True):
        engine = LocalEngine(starter, 256)
        ends.append(engine.ask(REPEAT, max_tokens=260, ignore_eos=True, speculate=speculate))
        engine.close()
    plain, drafted = ends
    assert plain.stats.tokens_evicted == drafted.stats.tokens_evicted > 0
    assert drafted.text == plain.text


def test_figures_tell_of_drafts(fresh: MakeEngine) -> None:
    engine = fresh()
    stats = engine.ask(REPEAT, max_tokens=60).stats
    assert 0 <= stats.tokens_accepted <= stats.tokens_drafted
    assert (stats.draft_gain is None) == (stats.tokens_drafted == 0)
    assert stats.decode_tps and stats.decode_tps > 0


@pytest.mark.usefixtures("always_drafts")
def test_a_state_that_cannot_go_back_is_not_speculated_on(mamba_model: Path) -> None:
    with loaded(mamba_model) as model:
        engine = LocalEngine(model, 512)
        stats = engine.ask([user("aa bb aa bb aa bb")], max_tokens=20, ignore_eos=True).stats
        engine.close()
    assert stats.tokens_drafted == 0


@pytest.mark.usefixtures("always_drafts")
def test_a_cache_that_refuses_to_go_back_is_evaluated_again(
    fresh: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = fresh()
    whole = fresh().ask(REPEAT, chat="plain", max_tokens=40, speculate=False)
    context, remove = engine.context, engine.context.remove

    def refuse(seq_id: int, start: int, end: int = -1) -> bool:
        return start < 0 and remove(seq_id, start, end)

    monkeypatch.setattr(context, "remove", refuse)
    stubborn = engine.ask(REPEAT, chat="stubborn", max_tokens=40)
    assert stubborn.text == whole.text
    assert stubborn.stats.tokens_drafted <= N_DRAFTED or stubborn.stats.tokens_accepted > 0
    assert context.position_range(sequence_of(engine, "stubborn").seq_id)[0] == 0


# --- the distribution -----------------------------------------------------------------------------

N_DRAWS = 20_000


def test_drafts_leave_the_distribution_as_it_is(starter: Model) -> None:
    """Chi-square over 20,000 draws: the token after a prompt, and the one after a draft that was right."""
    sampling = Sampling(temperature=1.0, top_k=12, top_p=0.9, min_p=0.0)
    prompt = starter.tokenize("The weather today is", parse_special=False)
    context = Context(starter, ContextParams(256, flash_attention=FlashAttention.OFF))
    batch = Batch(64)
    output = batch.extend(prompt, 0, 0, True)
    assert context.decode(batch) == 0
    exact = distribution(context, starter.n_vocab, output, sampling)
    drafted = max(exact, key=lambda token: exact[token])
    context.remove(0, -1)
    batch.clear()
    output = batch.extend(prompt, 0, 0, True)
    batch.add(drafted, len(prompt), 0, True)
    assert context.decode(batch) == 0
    after = distribution(context, starter.n_vocab, output + 1, sampling)
    first, second = Counter[int](), Counter[int]()
    sampler = Sampler(replace_seed(sampling, 5), starter.n_vocab)
    for _ in range(N_DRAWS):
        tokens = list(sampled(sampler, context, output, (drafted,)))
        first[tokens[0]] += 1
        second.update(tokens[1:])
    sampler.close()
    batch.close()
    context.close()
    assert second.total() == first[drafted]
    assert_drawn_from(exact, first)
    assert_drawn_from(after, second)


def replace_seed(sampling: Sampling, seed: int) -> Sampling:
    return Sampling(sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p, seed=seed)


def distribution(context: Context, n_vocab: int, output: int, sampling: Sampling) -> dict[int, float]:
    """The exact probabilities of a batch entry's next tokens under top-k and then top-p."""
    logs = context.log_probabilities([(output, token) for token in range(n_vocab)])
    row = sorted(((math.exp(log), token) for token, log in enumerate(logs)), reverse=True)[: sampling.top_k]
    total = sum(p for p, _token in row)
    kept: dict[int, float] = {}
    for p, token in row:
        kept[token] = p / total
        if sum(kept.values()) >= sampling.top_p:
            break
    total = sum(kept.values())
    return {token: p / total for token, p in kept.items()}


def assert_drawn_from(expected: dict[int, float], drawn: Counter[int]) -> None:
    """Pearson's test at the level of one in ten thousand, by Wilson and Hilferty's approximation."""
    assert set(drawn) <= set(expected)
    n_draws = drawn.total()
    statistic = sum((drawn[token] - n_draws * p) ** 2 / (n_draws * p) for token, p in expected.items())
    k = len(expected) - 1
    assert k >= 3
    limit = k * (1 - 2 / (9 * k) + 3.72 * math.sqrt(2 / (9 * k))) ** 3
    assert statistic < limit, (statistic, limit)


# --- draft models ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_drafts")
def test_a_draft_model_that_is_the_model_is_nearly_always_right(
    starter: Model, starter_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.decoding.speculation.PromptLookup.n_matched", 0)
    params = ContextParams(512, 2, flash_attention=FlashAttention.OFF)
    with ExitStack() as resources:
        drafter = load_draft(starter_model, starter, params, resources)
        engine = LocalEngine(starter, 512)
        resources.callback(engine.close)
        plain = engine.ask(STORY, chat="plain", max_tokens=40, speculate=False)
        engine.scheduler.forget("plain")
        engine.scheduler = Scheduler(starter, engine.context, engine.prompts, 2, draft_model=drafter)
        resources.callback(engine.scheduler.close)
        drafted = engine.ask(STORY, chat="drafted", max_tokens=40)
        other = engine.ask([user("Name a river.")], chat="other", max_tokens=10)
    assert drafted.text == plain.text
    stats: TurnStats = drafted.stats
    assert stats.tokens_drafted > 20
    assert stats.tokens_accepted >= 0.9 * stats.tokens_drafted
    # Cells of another sequence lie between its own, so that sums are rounded otherwise.
    assert other.stats.tokens_accepted >= 0.5 * other.stats.tokens_drafted > 0


def test_a_draft_model_sees_the_newest_tokens_of_a_chat_that_outgrows_it(
    starter: Model, starter_model: Path
) -> None:
    params = ContextParams(256, 1, flash_attention=FlashAttention.OFF)
    ids = starter.tokenize(TEXT * 12, parse_special=False)
    with ExitStack() as resources:
        drafter = load_draft(starter_model, starter, params, resources)
        for n_known in range(200, len(ids), 40):
            expected = ids[n_known : n_known + 4]
            assert drafter.draft(0, ids[:n_known], 4)[:1] == expected[:1]
        assert drafter.seconds_each


def test_another_vocabulary_is_refused_with_the_reason(
    starter: Model,
    starter_model: Path,
    no_byte_tokens_model: Path,
    mamba_model: Path,
    small_models: SmallModels,
) -> None:
    check_draft(starter.backend, starter_model, small_models())
    with pytest.raises(BadRequest, match=r"cannot draft for .*: their .* Choose a small model"):
        check_draft(starter.backend, starter_model, no_byte_tokens_model)
    with pytest.raises(BadRequest, match="its state cannot take a token back"):
        check_draft(starter.backend, starter_model, mamba_model)
    renamed = SimpleNamespace(
        path=Path("renamed.gguf"),
        has_recurrent_state=False,
        vocabulary_kind=starter.vocabulary_kind,
        adds_bos=starter.adds_bos,
        bos=starter.bos,
        eos=starter.eos,
        n_vocab=starter.n_vocab,
        text_of=lambda token: "other" if token == 777 else starter.text_of(token),
    )
    with pytest.raises(BadRequest, match=r"token 777 is .* in one and 'other' in the other"):
        check_vocabulary(starter, renamed)  # type: ignore[arg-type]
