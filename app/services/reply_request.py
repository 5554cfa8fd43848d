"""A reply as the engine is asked for it, and what the engine measured of it as it is stored.

Values go in, values come out. Knows nothing about stores, engines or Qt.
"""

from __future__ import annotations

import dataclasses

from app.data.settings import Settings
from app.data.stored_message import TurnNumbers
from app.services.prompt import Prompt
from app.services.replies import Reply
from engine.protocol import Finished, Generate, Sampling, variant_chat_id


def request_of(reply: Reply, prompt: Prompt, settings: Settings) -> Generate:
    """What asks for `reply` with `settings`; each variant of a reply has a sequence and a seed of its own."""
    return Generate(
        reply.request_id,
        variant_chat_id(reply.chat_id, reply.number),
        prompt.messages,
        _sampling_of(reply, settings.sampling),
        settings.max_tokens,
        cache=settings.cache,
        speculate=settings.speculate,
    )


def numbers_of(event: Finished) -> TurnNumbers:
    """What is stored of the numbers of a turn."""
    stats = event.stats
    return TurnNumbers(
        *(stats.tokens_generated, stats.decode_tps, stats.ttft_ms, stats.prefill_tps),
        *(event.reason, stats.reevaluated_because, stats.thinking_ms),
        *(stats.tokens_restored, stats.tokens_shared, stats.tokens_drafted, stats.tokens_accepted),
        draft_gain=stats.draft_gain,
    )


def _sampling_of(reply: Reply, sampling: Sampling) -> Sampling:
    if sampling.seed is None:
        return sampling
    return dataclasses.replace(sampling, seed=(sampling.seed + reply.number) % 2**32)
