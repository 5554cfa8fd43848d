"""Events arrive whole and in order, whichever thread sends them."""

from __future__ import annotations

import multiprocessing
import threading

import pytest

from engine.outbox import Outbox
from engine.protocol import PrefillProgress, TextDelta, TokenCount


def test_text_is_merged_and_comes_before_what_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.outbox._MERGE_SECONDS", 10)
    ours, theirs = multiprocessing.Pipe()
    outbox = Outbox(theirs)
    outbox.put(TextDelta(1, "a", 1))
    outbox.put(TextDelta(1, "b", 2), TextDelta(1, "c", 3))
    outbox.put(TokenCount("draft", 5))  # no event of that reply: it holds nothing up and is not held up
    outbox.put(PrefillProgress(1, 2, 2))
    received = [ours.recv() for _ in range(4)]
    assert received[0] == TextDelta(1, "a", 1)
    assert received[1] == TokenCount("draft", 5)
    assert received[2:] == [TextDelta(1, "bc", 3), PrefillProgress(1, 2, 2)]


def test_threads_never_mix_their_events() -> None:
    ours, theirs = multiprocessing.Pipe()
    outbox = Outbox(theirs)

    def send(key: str) -> None:
        for number in range(20):
            outbox.put(TokenCount(key * 100_000, number))  # longer than what a pipe takes at once

    senders = [threading.Thread(target=send, args=(key,)) for key in "abc"]
    for sender in senders:
        sender.start()
    received = [ours.recv() for _ in range(60)]
    for sender in senders:
        sender.join()
    for key in "abc":
        assert [event.n_tokens for event in received if event.key[0] == key] == list(range(20))
