"""The context's own promises: what it refuses, and that saved cells are worth the evaluated ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.errors import BadRequest, ModelLoadError
from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from tests.native.harness import GREEDY


@pytest.fixture
def context(starter: Model) -> Iterator[Context]:
    made = Context(starter, ContextParams(512, n_seq_max=2))
    yield made
    made.close()


def say(context: Context, model: Model, seq_id: int, ids: list[int], start: int, count: int) -> list[int]:
    """Decode `ids` from position `start` on, then `count` greedy tokens."""
    batch, sampler, said = Batch(context.n_batch), Sampler(GREEDY, model.n_vocab), list[int]()
    todo, position = ids, start
    while len(said) < count:
        batch.clear()
        for token in todo:
            index = batch.add(token, position, seq_id, position == start + len(ids) + len(said) - 1)
            position += 1
        assert context.decode(batch) == 0
        said.append(sampler.sample(context, index))
        todo = said[-1:]
    sampler.close()
    batch.close()
    return said


def test_a_restored_sequence_goes_on_as_the_saved_one(context: Context, starter: Model) -> None:
    ids = starter.tokenize("The river runs through the valley, and the weir holds", parse_special=False)
    first = say(context, starter, 0, ids, 0, 1)
    state = context.save(0)
    expected = say(context, starter, 0, first, len(ids), 12)
    assert context.restore(1, state)
    assert context.position_range(1) == (0, len(ids) - 1)
    assert say(context, starter, 1, first, len(ids), 12) == expected


@pytest.mark.parametrize(
    "damage", [lambda state: state[: len(state) // 2], lambda state: b"", lambda state: b"x" * 64]
)
def test_a_damaged_state_is_refused_and_leaves_nothing(context: Context, starter: Model, damage) -> None:  # type: ignore[no-untyped-def]
    say(context, starter, 0, starter.tokenize("Hello", parse_special=False), 0, 1)
    assert not context.restore(1, damage(context.save(0)))
    assert context.position_range(1) == (-1, -1)


@pytest.mark.parametrize(("asked", "n_ctx", "n_batch"), [(1, 256, 256), (100, 256, 256), (257, 512, 512)])
def test_a_small_context_takes_batches_of_what_it_really_has(
    starter: Model, asked: int, n_ctx: int, n_batch: int
) -> None:
    made = Context(starter, ContextParams(asked))
    assert (made.n_ctx, made.n_batch) == (n_ctx, n_batch)
    made.close()


@pytest.mark.parametrize("n_ctx", [0, -1, 2**31])
def test_an_impossible_size_is_refused(starter: Model, n_ctx: int) -> None:
    with pytest.raises(BadRequest):
        Context(starter, ContextParams(n_ctx))


def test_a_context_larger_than_memory_is_refused_in_one_sentence(starter: Model) -> None:
    with pytest.raises(ModelLoadError, match="Choose a smaller context"):
        Context(starter, ContextParams(2**31 - 1))
