"""The number of threads follows the machine where it is asked to, and learns from decodes that worked."""

from __future__ import annotations

from typing import Any, cast

import pytest

from engine.decoding import decoder
from engine.decoding.decoder import Decoder
from engine.llama.batch import Batch
from engine.llama.context import Context


class FakeContext:
    """Says how it was used; a decode gives `status`."""

    def __init__(self, status: int = 0) -> None:
        self.n_threads = 4
        self.status = status
        self.used: list[int] = []

    def set_threads(self, n_threads: int) -> None:
        self.n_threads = n_threads

    def decode(self, batch: object) -> int:
        self.used.append(self.n_threads)
        return self.status


class Recorded:
    """A choice of threads that always wants one, and keeps what it is told."""

    def __init__(self, n_most: int) -> None:
        self.n_threads = n_most - 1
        self.told: list[tuple[int, int]] = []

    def before_decode(self, n_decode_tokens: int, n_prompt_tokens: int) -> int:
        return 4 if n_prompt_tokens else 1

    def measured(self, n_decode_tokens: int, n_prompt_tokens: int, seconds: float) -> None:
        assert seconds >= 0
        self.told.append((n_decode_tokens, n_prompt_tokens))


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "ThreadChoice", Recorded)


def made(context: FakeContext, **more: Any) -> Decoder:
    return Decoder(cast(Context, context), **more)


BATCH = cast(Batch, [0] * 5)


def test_number_that_was_asked_for_stays() -> None:
    context = FakeContext()
    fixed = made(context, follows_load=False)
    assert fixed.decode(BATCH, 0) == 0
    assert context.used == [4] and fixed.n_threads == 4


def test_each_decode_has_the_number_that_suits_it_and_is_learned_from() -> None:
    context = FakeContext()
    following = made(context, follows_load=True)
    following.decode(BATCH, 0)
    following.decode(BATCH, 3)
    assert context.used == [1, 4] and following.n_threads == 3
    choice = cast(Recorded, following._choice)
    assert choice.told == [(5, 0), (2, 3)]


def test_decode_that_failed_teaches_nothing() -> None:
    following = made(FakeContext(status=1), follows_load=True)
    assert following.decode(BATCH, 0) == 1
    assert cast(Recorded, following._choice).told == []
