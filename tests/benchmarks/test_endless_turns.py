"""A turn late in an endless chat costs what an early one does: its own tokens and nothing else."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from engine.protocol import FinishReason, TurnStats
from tests.native.harness import RemoteEngine, assistant, remote_engine, system, user

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

N_CTX = 1024


class Talk:
    """A chat of equally long turns with an engine of its own."""

    def __init__(self, engine: RemoteEngine) -> None:
        self._engine = engine
        self._messages = [system("You are a helpful assistant. The code word is PELICAN-7.")]
        self.turns: list[TurnStats] = []

    def go_on(self, turns: int) -> None:
        for _ in range(turns):
            self._messages.append(user(f"Turn {100 + len(self.turns)}, please: say a word about rivers."))
            finished = self._engine.ask(self._messages, max_tokens=16, ignore_eos=True)
            assert finished.reason is FinishReason.LENGTH
            assert finished.stats.reevaluated_because is None
            self._messages.append(assistant(finished.text))
            self.turns.append(finished.stats)


def median_ttft(turns: list[TurnStats]) -> float:
    return statistics.median(turn.ttft_ms for turn in turns if turn.ttft_ms is not None)


def test_two_hundred_turns_at_a_context_of_1024(starter_model: Path) -> None:
    """Turns 181 to 200 of one chat take turns with turns 21 to 40 of another, so that drift cancels."""
    with remote_engine() as first, remote_engine() as second:
        first.load(starter_model, n_ctx=N_CTX)
        second.load(starter_model, n_ctx=N_CTX)
        old, young = Talk(first), Talk(second)
        old.go_on(180)
        young.go_on(20)
        for _ in range(20):
            old.go_on(1)
            young.go_on(1)
    early, late = median_ttft(young.turns[20:]), median_ttft(old.turns[180:])
    read = [turn.tokens_prefilled for turn in old.turns[1:]]
    evicted = sum(turn.tokens_evicted for turn in old.turns)
    print(
        f"\nfirst token, turns 21-40: {early:.1f} ms, turns 181-200: {late:.1f} ms, "
        f"ratio {late / early:.3f}; (in one chat {late / median_ttft(old.turns[20:40]):.3f}); "
        f"{read[0]} tokens read each turn (most {max(read)}), {evicted:,} evicted in all"
    )
    assert set(read) == {read[0]}  # every turn has as many tokens of its own, and none reads more
    assert evicted > 5 * N_CTX
    assert late <= 1.15 * early
