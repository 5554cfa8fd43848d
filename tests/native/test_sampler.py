"""The sampler against llama.cpp's own stages, and its draws against the exact distribution."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import llama_cpp.llama_cpp as llama
import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.protocol import Sampling

SEEN = [30, 31, 32, 31, 260, 28, 284, 42, 30, 198]
N_DRAWS = 20_000


@pytest.fixture(scope="module")
def context(starter: Model) -> Iterator[Context]:
    """With the logits after a few tokens at index 0."""
    made, batch = Context(starter, ContextParams(256)), Batch(32)
    ids = starter.tokenize("The river runs through the valley, and the", parse_special=False)
    batch.extend(ids, 0, 0, output=True)
    assert made.decode(batch) == 0
    batch.close()
    yield made
    made.close()


def logits_of(context: Context, n_vocab: int) -> list[float]:
    address = ctypes.addressof(llama.llama_get_logits_ith(context.handle, -1).contents)
    return list((ctypes.c_float * n_vocab).from_address(address))


@pytest.fixture
def plain(context: Context, starter: Model) -> Callable[[Sampling, int], list[int]]:
    """Draws with all stages in llama.cpp, in its order."""

    def draw(sampling: Sampling, n_draws: int) -> list[int]:
        chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        stages = [
            llama.llama_sampler_init_penalties(
                starter.n_vocab, sampling.repeat_last_n, sampling.repeat_penalty, 0.0, 0.0
            ),
            llama.llama_sampler_init_top_k(sampling.top_k),
            llama.llama_sampler_init_top_p(sampling.top_p, 1),
            llama.llama_sampler_init_min_p(sampling.min_p, 1),
            llama.llama_sampler_init_temp(sampling.temperature),
            llama.llama_sampler_init_dist(sampling.seed or 0),
        ]
        for stage in stages:
            llama.llama_sampler_chain_add(chain, stage)
        for token in SEEN:
            llama.llama_sampler_accept(chain, token)
        drawn = [llama.llama_sampler_sample(chain, context.handle, -1) for _ in range(n_draws)]
        llama.llama_sampler_free(chain)
        return drawn

    return draw


def drawn(context: Context, n_vocab: int, sampling: Sampling, n_draws: int) -> list[int]:
    sampler = Sampler(sampling, n_vocab)
    sampler.accept(SEEN)
    tokens = [sampler.sample(context, -1) for _ in range(n_draws)]
    sampler.close()
    return tokens


@pytest.mark.parametrize("repeat_penalty", [1.0, 1.1, 0.7, 2.5])
@pytest.mark.parametrize("repeat_last_n", [0, 1, 4, 64])
def test_a_seed_gives_the_tokens_of_llama_cpps_own_chain(
    context: Context,
    starter: Model,
    plain: Callable[[Sampling, int], list[int]],
    repeat_penalty: float,
    repeat_last_n: int,
) -> None:
    hot = Sampling(
        temperature=1.5, top_k=0, seed=7, repeat_penalty=repeat_penalty, repeat_last_n=repeat_last_n
    )
    for sampling in (hot, replace(hot, top_k=40), replace(hot, temperature=0.7, top_p=0.5)):
        assert drawn(context, starter.n_vocab, sampling, 60) == plain(sampling, 60)


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_banned_tokens_make_room_for_the_next_best(
    context: Context, starter: Model, temperature: float
) -> None:
    sampling = Sampling(temperature=temperature, top_k=3, top_p=1.0, min_p=0.0, seed=5)
    logits = logits_of(context, starter.n_vocab)
    ranked = sorted(range(len(logits)), key=logits.__getitem__, reverse=True)
    sampler = Sampler(sampling, starter.n_vocab, banned=ranked[:4])
    tokens = {sampler.sample(context, -1) for _ in range(200)}
    sampler.close()
    assert tokens == (set(ranked[4:7]) if temperature else {ranked[4]})


def test_penalties_leave_the_logits_as_they_were(context: Context, starter: Model) -> None:
    before = logits_of(context, starter.n_vocab)
    drawn(context, starter.n_vocab, Sampling(repeat_penalty=3.0, seed=1), 5)
    assert logits_of(context, starter.n_vocab) == before


def test_the_whole_window_may_be_asked_for(context: Context, starter: Model) -> None:
    assert drawn(context, starter.n_vocab, Sampling(repeat_penalty=1.1, repeat_last_n=2**31 - 1), 2)


def test_draws_follow_the_distribution(context: Context, starter: Model) -> None:
    sampling = Sampling(temperature=1.2, top_k=12, top_p=1.0, min_p=0.0, seed=3)
    logits = logits_of(context, starter.n_vocab)
    best = sorted(range(len(logits)), key=logits.__getitem__)[-sampling.top_k :]
    weights = {token: math.exp((logits[token] - logits[best[-1]]) / sampling.temperature) for token in best}
    counts = Counter(drawn(context, starter.n_vocab, sampling, N_DRAWS))
    assert counts.keys() <= weights.keys()
    expected = {token: N_DRAWS * weight / sum(weights.values()) for token, weight in weights.items()}
    chi_square = sum((counts[token] - mean) ** 2 / mean for token, mean in expected.items())
    assert chi_square < 31.26  # 11 degrees of freedom: exceeded once in a thousand seeds
