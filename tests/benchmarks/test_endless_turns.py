"""A turn late in an endless chat costs what an early one does: its own tokens and nothing else."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from engine.protocol import FinishReason, Message
from tests.native.harness import assistant, remote_engine, system, user

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

TURNS, N_CTX = 200, 1024


def test_two_hundred_turns_at_a_context_of_1024(starter_model: Path) -> None:
    ttft: list[float] = []
    read: list[int] = []
    messages: list[Message] = [system("You are a helpful assistant. The code word is PELICAN-7.")]
    evicted = 0
    with remote_engine() as engine:
        engine.load(starter_model, n_ctx=N_CTX)
        for turn in range(100, 100 + TURNS):
            messages.append(user(f"Turn {turn}, please: say a word about rivers."))
            finished = engine.ask(messages, max_tokens=16, ignore_eos=True)
            assert finished.reason is FinishReason.LENGTH
            messages.append(assistant(finished.text))
            assert finished.stats.ttft_ms is not None and finished.stats.reevaluated_because is None
            ttft.append(finished.stats.ttft_ms)
            read.append(finished.stats.tokens_prefilled)
            evicted += finished.stats.tokens_evicted
    early, late = statistics.median(ttft[20:40]), statistics.median(ttft[180:200])
    own = statistics.mode(read[1:])
    print(
        f"\nfirst token, turns 21-40: {early:.1f} ms, turns 181-200: {late:.1f} ms, "
        f"ratio {late / early:.3f}; "
        f"{own} tokens read each turn (most {max(read[1:])}), {evicted:,} evicted in all"
    )
    # Every turn has as many tokens of its own, and none reads more.
    assert set(read[1:]) == {own}
    assert evicted > 5 * N_CTX
    assert late <= 1.15 * early
