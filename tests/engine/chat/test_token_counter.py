"""Counting happens beside everything else, and an old question never holds up a new one of its kind."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from engine.chat.token_counter import TokenCounter
from engine.protocol import CountTokens, TokenCount


class Counting:
    """A counter whose counting waits for the test; the count is the text's length."""

    def __init__(self) -> None:
        self.texts: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[TokenCount] = queue.SimpleQueue()
        self.may_count = threading.Semaphore(0)
        self.counter = TokenCounter(self.count, self.answers.put)

    def count(self, text: str) -> int:
        self.texts.put(text)
        assert self.may_count.acquire(timeout=10)
        return len(text)


@pytest.fixture
def counting() -> Iterator[Counting]:
    made = Counting()
    yield made
    made.may_count.release(10)
    made.counter.close()


def test_asking_returns_while_a_long_text_is_counted(counting: Counting) -> None:
    counting.counter.ask(CountTokens("draft", "long text"))
    assert counting.texts.get(timeout=10) == "long text"
    counting.counter.ask(CountTokens("file", "other"))
    assert counting.answers.empty()
    counting.may_count.release(2)
    answers = [counting.answers.get(timeout=10) for _ in range(2)]
    assert answers == [TokenCount("draft", 9), TokenCount("file", 5)]


def test_only_the_newest_question_of_a_key_is_answered(counting: Counting) -> None:
    counting.counter.ask(CountTokens("first", "x"))
    counting.texts.get(timeout=10)
    for text in ("d", "dr", "dra"):
        counting.counter.ask(CountTokens("draft", text))
    counting.counter.ask(CountTokens("file", "other"))
    counting.may_count.release(3)
    answers = [counting.answers.get(timeout=10) for _ in range(3)]
    assert answers == [TokenCount("first", 1), TokenCount("draft", 3), TokenCount("file", 5)]


def test_close_drops_what_waits_and_waits_for_what_is_being_counted() -> None:
    counting = Counting()
    counting.counter.ask(CountTokens("a", "x"))
    counting.texts.get(timeout=10)
    counting.counter.ask(CountTokens("b", "y"))
    closing = threading.Thread(target=counting.counter.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    counting.may_count.release(2)
    closing.join(10)
    assert not closing.is_alive() and counting.texts.empty()
    assert counting.answers.get(timeout=10) == TokenCount("a", 1) and counting.answers.empty()
