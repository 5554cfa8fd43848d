"""Drafts from the chat itself: what a copy gains and what new text loses, in alternating rounds."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.protocol import Finished, LoadModel, Message, ModelLoaded
from tests.native.harness import RemoteEngine, remote_engine, user

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(550)]

N_THREADS = psutil.cpu_count(logical=False) or 1
ROUNDS = 5
PARAGRAPHS = (
    "The river bends because water is lazy. Where the bank is soft it digs, and where the current is slow it "
    "drops what it carried: sand first, then silt. After a thousand years the loop is so wide that a flood "
    "cuts through its neck, and the old bed stays behind as a lake in the shape of a horn.",
    "A weir is a low wall across a stream. It holds the water back a little, so that a mill has enough of it "
    "in summer, and lets the rest run over its crown. Fish find it hard to pass, and so a stair of pools "
    "is built beside it, each a hand higher than the one before. In spring, when the snow melts, nobody sees "
    "the wall at all: only a smooth back of water tells where it stands.",
)
COPIES = [[user(f"Repeat this text exactly:\n\n{text}")] for text in PARAGRAPHS]
FREE = [
    [user("Tell me about rivers, and why they bend in valleys, in your own words, please.")],
    [user("Write a letter to a friend about a day in the mountains.")],
]


@pytest.fixture
def engine(starter_model: Path) -> Iterator[RemoteEngine]:
    with remote_engine() as remote:
        remote.client.send(LoadModel(str(starter_model), n_ctx=2048, n_threads=N_THREADS))
        remote.next(ModelLoaded)
        yield remote


def ratios(engine: RemoteEngine, prompts: list[list[Message]], **more: object) -> list[float]:
    """How many times as fast each reply comes with drafts as without; the texts are the same."""
    found: list[float] = []
    for number in range(ROUNDS + 1):
        for prompt in prompts:
            ends: dict[bool, Finished] = {}
            for speculate in (True, False) if number % 2 else (False, True):
                # In one chat, so that both replies lie in the same cells: sums of f32 depend on the order.
                ends[speculate] = engine.ask(prompt, speculate=speculate, **more)
            assert ends[True].text == ends[False].text
            fast, plain = ends[True].stats, ends[False].stats
            assert fast.decode_tps and plain.decode_tps
            if number:  # the first one is for warming up
                found.append(fast.decode_tps / plain.decode_tps)
            print(
                f"{plain.tokens_generated} tokens: {plain.decode_tps:.1f} tokens/s, with drafts "
                f"{fast.decode_tps:.1f}: {fast.tokens_accepted} of {fast.tokens_drafted} drafts right, "
                f"gain {fast.draft_gain or 1:.2f} by its own account"
            )
    return found


def test_a_copy_comes_faster(engine: RemoteEngine) -> None:
    gains = ratios(engine, COPIES, max_tokens=300)
    median = statistics.median(gains)
    print(f"copy: {median:.2f} times plain decoding ({min(gains):.2f} to {max(gains):.2f})")
    assert median >= 1.2


def test_new_text_is_not_slower(engine: RemoteEngine) -> None:
    gains = ratios(engine, FREE, max_tokens=200, ignore_eos=True)
    median = statistics.median(gains)
    print(f"new text: {median:.3f} of plain decoding ({min(gains):.3f} to {max(gains):.3f})")
    assert median >= 0.97
