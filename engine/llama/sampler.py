"""The sampler chain: from logits to the next token.

The order is llama.cpp's own: bias, penalties, top-k, top-p, min-p, temperature, draw. All of it is
llama.cpp's but two things that would look at each token of the vocabulary: the repeat penalty, for which the
few tokens it concerns are changed where the logits lie, and put back after the draw; and the copy that the
chain works on, which holds only the tokens that top-k can leave. Knows nothing about text or stopping.
"""

from __future__ import annotations

import ctypes
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import llama_cpp.llama_cpp as llama

from engine.llama.context import Context
from engine.protocol import Sampling

_MOST_WANTED = 256
"""Tokens that are looked for apart: in half of llama.cpp's time up to here, without any gain from 600 on."""


class Sampler:
    """One chain for one reply; `banned` tokens are never chosen. Close it after the reply."""

    def __init__(self, sampling: Sampling, n_vocab: int, banned: Sequence[int] = ()) -> None:
        from engine.llama.candidates import Candidates  # brings NumPy: a model loads without waiting for it

        n_left = 1 if sampling.temperature == 0.0 else sampling.top_k  # by the chain's first choice
        n_wanted = n_left + len(banned)
        self._candidates = Candidates(n_vocab, n_wanted) if n_left > 0 and n_wanted <= _MOST_WANTED else None
        self._penalty = _RepeatPenalty(sampling.repeat_penalty, sampling.repeat_last_n)
        self._chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for stage in _stages(sampling, n_vocab, banned):
            llama.llama_sampler_chain_add(self._chain, stage)

    def accept(self, tokens: Iterable[int]) -> None:
        """Let the penalties see tokens that were not sampled here, as those of the prompt."""
        self._penalty.accept(tokens)

    def sample(self, context: Context, index: int) -> int:
        """The next token after the batch entry `index` of the last decode; the penalties see it."""
        with self._penalty.applied(context, index):
            few = self._candidates.best(context.logits(index)) if self._candidates else None
            if few is None:
                token = int(llama.llama_sampler_sample(self._chain, context.handle, index))
            else:
                llama.llama_sampler_apply(self._chain, few)
                token = few.data[few.selected].id
        self._penalty.accept([token])
        return token

    def close(self) -> None:
        """Free the chain and its stages."""
        if self._chain:
            llama.llama_sampler_free(self._chain)
            self._chain = None


class _RepeatPenalty:
    """Makes the last `n_last` tokens less likely: llama.cpp's arithmetic, to the bit."""

    def __init__(self, penalty: float, n_last: int) -> None:
        self._penalty = penalty
        self._last: deque[int] = deque(maxlen=n_last if penalty != 1.0 else 0)

    def accept(self, tokens: Iterable[int]) -> None:
        """These tokens came next."""
        self._last.extend(tokens)

    @contextmanager
    def applied(self, context: Context, index: int) -> Iterator[None]:
        """The logits of that batch entry are changed inside, and as they were afterwards."""
        if not self._last:
            yield
            return
        logits = context.logits(index)
        tokens = list(set(self._last))
        before = logits[tokens]
        penalized = before.copy()
        penalized[before <= 0] *= self._penalty
        penalized[before > 0] /= self._penalty
        logits[tokens] = penalized
        try:
            yield
        finally:
            logits[tokens] = before


def _stages(sampling: Sampling, n_vocab: int, banned: Sequence[int]) -> list[object]:
    stages: list[object] = []
    if banned:
        stages.append(_ban(n_vocab, banned))
    if sampling.temperature == 0.0:
        return [*stages, llama.llama_sampler_init_greedy()]
    seed = secrets.randbits(32) if sampling.seed is None else sampling.seed
    # llama.cpp takes 0xFFFFFFFF for "choose one": a given seed must give the same reply every time.
    seed = min(seed, 2**32 - 2)
    return [
        *stages,
        llama.llama_sampler_init_top_k(sampling.top_k),
        llama.llama_sampler_init_top_p(sampling.top_p, 1),
        llama.llama_sampler_init_min_p(sampling.min_p, 1),
        llama.llama_sampler_init_temp(sampling.temperature),
        llama.llama_sampler_init_dist(seed),
    ]


def _ban(n_vocab: int, banned: Sequence[int]) -> object:
    biases = (llama.llama_logit_bias * len(banned))()
    for bias, token in zip(biases, banned, strict=True):
        bias.token, bias.bias = token, float("-inf")
    return llama.llama_sampler_init_logit_bias(
        n_vocab, len(banned), ctypes.cast(biases, llama.llama_logit_bias_p)
    )
