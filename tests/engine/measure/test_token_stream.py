"""A text through a simulated cache: every token is predicted once, and the cells are those of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from engine.errors import BugError
from engine.llama.batch import Batch
from engine.llama.context import Context
from engine.measure.token_stream import StreamPolicy, TokenStream
from engine.protocol import EnduranceRun, Shift
from tests.engine.decoding.simulated import SimulatedContext

CAPACITY, N_SINKS, SLICE = 64, 4, 8


class StreamedContext(SimulatedContext):
    """Takes batches; a token's log-probability is what the model saw then: (batch index, token, cells)."""

    n_batch = 16

    def __init__(self) -> None:
        super().__init__()
        self.most_cells = 0
        self.largest_position = 0
        self.predicted: list[int] = []
        self.n_decoded = 0
        self.status = 0
        self._kept: list[bool] = []

    def decode(self, batch: Batch) -> int:  # type: ignore[override]
        raw = cast(Any, batch.raw)
        for index in range(len(batch)):
            assert raw.pos[index] == max(self.cells, default=-1) + 1
            self.cells[raw.pos[index]] = raw.token[index]
        self._kept = [bool(raw.logits[index]) for index in range(len(batch))]
        self.most_cells = max(self.most_cells, len(self.cells))
        self.largest_position = max(self.largest_position, *self.cells)
        self.n_decoded += len(batch)
        return self.status

    def log_probabilities(self, wanted: Sequence[tuple[int, int]]) -> list[float]:
        assert all(self._kept[index] for index, _token in wanted)
        self.predicted += [token for _index, token in wanted]
        return [-1.0] * len(wanted)


def streamed(run: EnduranceRun, n_tokens: int, **more: Any) -> tuple[StreamedContext, TokenStream]:
    """Stream the ids 100, 101, ... to their end."""
    fields: dict[str, Any] = {
        "shift": Shift.LAZY,
        "n_sinks": N_SINKS,
        "last_position": 10_000,
        "slice_size": SLICE,
    } | more
    context = StreamedContext()
    stream = TokenStream(
        cast(Context, context),
        StreamPolicy(run, capacity=CAPACITY, **(fields | more)),
        range(100, 100 + n_tokens),
    )
    while stream.n_done < n_tokens:
        stream.step()
    stream.close()
    assert context.predicted == list(range(101, 100 + n_tokens))
    assert context.most_cells <= CAPACITY
    return context, stream


def seen(context: StreamedContext) -> list[int]:
    return [token for _position, token in sorted(context.cells.items())]


def test_a_text_that_fits_is_read_once_and_nothing_is_evicted() -> None:
    context, stream = streamed(EnduranceRun.ENDLESS, 61)
    assert seen(context) == list(range(100, 161))
    assert (stream.evictions, stream.shifts, context.n_decoded) == (0, 0, 61)


def test_endless_keeps_the_sinks_and_the_newest_and_reads_nothing_again() -> None:
    context, stream = streamed(EnduranceRun.ENDLESS, 500)
    tokens = seen(context)
    n_newest = len(tokens) - N_SINKS
    assert tokens == [*range(100, 100 + N_SINKS), *range(600 - n_newest, 600)]
    assert CAPACITY - N_SINKS - n_newest < 15 + SLICE  # no emptier than a step and a slice
    assert context.n_decoded == 500
    assert stream.evictions == pytest.approx((500 - CAPACITY) / 15, abs=2)


def test_a_window_without_sinks_keeps_the_newest_only() -> None:
    context, _stream = streamed(EnduranceRun.WINDOW, 500, n_sinks=0)
    tokens = seen(context)
    assert tokens == list(range(600 - len(tokens), 600))


def test_exact_reads_what_remains_again_from_position_0() -> None:
    context, stream = streamed(EnduranceRun.EXACT, 500)
    assert sorted(context.cells) == list(range(len(context.cells)))
    assert seen(context)[:N_SINKS] == list(range(100, 100 + N_SINKS))
    assert context.n_decoded > 500 + stream.evictions * (CAPACITY - 15 - SLICE)
    assert stream.evictions > 20 and stream.shifts == 0


def test_lazy_positions_move_only_at_the_end_of_the_trained_context() -> None:
    context, stream = streamed(EnduranceRun.ENDLESS, 500, last_position=200)
    assert CAPACITY < context.largest_position < 200
    assert 0 < stream.shifts < stream.evictions / 3
    assert streamed(EnduranceRun.ENDLESS, 500)[1].shifts == 0


def test_eager_positions_move_with_each_eviction() -> None:
    context, stream = streamed(EnduranceRun.ENDLESS, 500, shift=Shift.EAGER)
    assert context.largest_position < CAPACITY
    assert stream.shifts == stream.evictions > 20


def test_the_cost_of_a_shift_is_told_apart_from_that_of_tokens_and_cells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    class TimedContext(StreamedContext):
        has_shifted = False

        def shift(self, *arguments: int) -> None:
            super().shift(*arguments)
            self.has_shifted = True

        def decode(self, batch: Batch) -> int:  # type: ignore[override]
            nonlocal now
            status = super().decode(batch)
            now += len(batch) + 0.01 * len(self.cells) + 5 * self.has_shifted
            self.has_shifted = False
            return status

    monkeypatch.setattr("engine.measure.token_stream.time.perf_counter", lambda: now)
    context = TimedContext()
    policy = StreamPolicy(EnduranceRun.ENDLESS, Shift.EAGER, CAPACITY, N_SINKS, 1000, SLICE)
    stream = TokenStream(cast(Context, context), policy, range(1000))
    while stream.n_done < 1000:
        stream.step()
    stream.close()
    assert stream.shift_seconds == pytest.approx(5, abs=0.02)
    assert stream.shifts > 50 and stream.seconds == pytest.approx(now)


def test_token_by_token_sees_the_same_as_slices() -> None:
    context, stream = streamed(EnduranceRun.ENDLESS, 300, slice_size=1)
    assert seen(context)[:N_SINKS] == list(range(100, 100 + N_SINKS))
    assert context.most_cells == CAPACITY and stream.evictions == pytest.approx((300 - CAPACITY) / 15, abs=1)


def test_a_decode_that_fails_ends_the_run() -> None:
    context = StreamedContext()
    context.status = 1
    policy = StreamPolicy(EnduranceRun.ENDLESS, Shift.LAZY, CAPACITY, 0, 1000, SLICE)
    stream = TokenStream(cast(Context, context), policy, range(20))
    with pytest.raises(BugError, match="code 1"):
        stream.step()
    assert stream.n_done == 0
    stream.close()
