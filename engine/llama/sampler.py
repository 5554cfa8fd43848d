"""The sampler chain: from logits to the next token.

The order is llama.cpp's own: bias, penalties, top-k, top-p, min-p, temperature, draw. Knows nothing
about text or stopping.
"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Iterable, Sequence

import llama_cpp.llama_cpp as llama

from engine.llama.context import Context
from engine.protocol import Sampling


class Sampler:
    """One chain for one reply; `banned` tokens are never chosen. Close it after the reply."""

    def __init__(self, sampling: Sampling, n_vocab: int, banned: Sequence[int] = ()) -> None:
        self._chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for stage in _stages(sampling, n_vocab, banned):
            llama.llama_sampler_chain_add(self._chain, stage)

    def accept(self, tokens: Iterable[int]) -> None:
        """Let the penalties see tokens that were not sampled here, as those of the prompt."""
        for token in tokens:
            llama.llama_sampler_accept(self._chain, token)

    def sample(self, context: Context, index: int) -> int:
        """The next token after the batch entry `index` of the last decode."""
        return int(llama.llama_sampler_sample(self._chain, context.handle, index))

    def close(self) -> None:
        """Free the chain and its stages."""
        if self._chain:
            llama.llama_sampler_free(self._chain)
            self._chain = None


def _stages(sampling: Sampling, n_vocab: int, banned: Sequence[int]) -> list[object]:
    stages: list[object] = []
    if banned:
        stages.append(_ban(n_vocab, banned))
    if sampling.repeat_penalty != 1.0 and sampling.repeat_last_n > 0:
        stages.append(
            llama.llama_sampler_init_penalties(
                n_vocab, sampling.repeat_last_n, sampling.repeat_penalty, 0.0, 0.0
            )
        )
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
