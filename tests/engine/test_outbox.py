"""Events arrive whole and in order, whichever thread sends them."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from typing import Any

import pytest

from engine.outbox import Outbox
from engine.protocol import PrefillProgress, TextDelta, TokenCount


def _received(connection: Connection, n_events: int) -> list[Any]:
    events: list[Any] = []
    while len(events) < n_events:
        events += connection.recv()
    return events


def test_text_is_merged_and_comes_before_what_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.outbox._MERGE_SECONDS", 10)
    ours, theirs = multiprocessing.Pipe()
    outbox = Outbox(theirs)
    outbox.put(TextDelta(1, "a", 1))
    outbox.put(TextDelta(1, "b", 2), TextDelta(1, "c", 3))
    outbox.put(TokenCount("draft", 5))  # no event of that reply: it holds nothing up and is not held up
    outbox.put(PrefillProgress(1, 2, 2))
    received = _received(ours, 4)
    assert received[0] == TextDelta(1, "a", 1)
    assert received[1] == TokenCount("draft", 5)
    assert received[2:] == [TextDelta(1, "bc", 3), PrefillProgress(1, 2, 2)]


def test_texts_of_several_replies_go_out_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = multiprocessing.Pipe()
    outbox = Outbox(theirs)
    first, second = TextDelta(1, "a", 1), TextDelta(2, "A", 1)
    outbox.put(first, second)
    assert ours.recv() == (first, second)
    monkeypatch.setattr("engine.outbox._MERGE_SECONDS", 10)
    outbox.put(TextDelta(1, "b", 2), TextDelta(2, "B", 2))
    outbox.put(TokenCount("draft", 5))
    assert ours.recv() == (TokenCount("draft", 5),)
    # The first piece of a reply waits for nothing, and what is held goes along.
    outbox.put(TextDelta(3, "x", 1))
    assert ours.recv() == (TextDelta(1, "b", 2), TextDelta(2, "B", 2), TextDelta(3, "x", 1))
    outbox.put(TextDelta(1, "c", 3))
    monkeypatch.setattr("engine.outbox._MERGE_SECONDS", 0)
    outbox.put(TextDelta(1, "d", 4), TextDelta(2, "C", 3))
    assert ours.recv() == (TextDelta(1, "cd", 4), TextDelta(2, "C", 3))


def test_threads_never_mix_their_events() -> None:
    ours, theirs = multiprocessing.Pipe()
    outbox = Outbox(theirs)

    def send(key: str) -> None:
        for number in range(20):
            outbox.put(TokenCount(key * 100_000, number))  # longer than what a pipe takes at once

    senders = [threading.Thread(target=send, args=(key,)) for key in "abc"]
    for sender in senders:
        sender.start()
    received = _received(ours, 60)
    for sender in senders:
        sender.join()
    for key in "abc":
        assert [event.n_tokens for event in received if event.key[0] == key] == list(range(20))
