"""The whole path of a chat: a worker of the chat's own kind is asked over a pipe, as the window asks it.

Questions go out, and the times until their answers are back come in: template, admission, scheduler,
sampling, text and process boundary are in them. Promises: the worker has ended when `close` returns.
Knows nothing about grids or exports.
"""

from __future__ import annotations

import contextlib
import queue
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from engine.errors import EngineGone, ModelLoadError
from engine.protocol import (
    BenchCase,
    Command,
    EngineDied,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    LoadOptions,
    Message,
    ModelLoaded,
    Role,
    Sampling,
    TextDelta,
    TurnStats,
    WholePath,
)

_CHAT_ID = "bench"
_MARGIN = 512  # tokens that templates put around messages, and what admission keeps free
_WAIT_S = 0.05
_SEED = 1


class Client(Protocol):
    """What is needed of `engine.client.EngineClient`."""

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""

    def send(self, command: Command) -> None:
        """Raises EngineGone when the worker is not there any more."""

    def close(self) -> None:
        """End the worker."""


ClientFactory = Callable[[Callable[[Event], None]], Client]


@dataclass(frozen=True, slots=True)
class ChatTime:
    """One question and its answer: seconds until the first token and until the end, and what was counted."""

    first: float | None
    total: float
    n_first: int
    stats: TurnStats

    @property
    def prompt_ts(self) -> float | None:
        """Tokens that were read over the time until the first one came."""
        return self.stats.tokens_prefilled / self.first if self.first else None

    @property
    def decode_ts(self) -> float | None:
        """Tokens after the first ones over the time since these came."""
        n_tokens = self.stats.tokens_generated - self.n_first
        if self.first is None or n_tokens < 1 or self.total <= self.first:
            return None
        return n_tokens / (self.total - self.first)


class ChatBench:
    """One worker with a loaded model. `texts` gives a text of so many tokens, another one at each call.

    `check` is called while something is waited for and may raise.
    """

    def __init__(
        self,
        path: str,
        case: BenchCase,
        texts: Callable[[int], str],
        make_client: ClientFactory,
        check: Callable[[], None],
        *,
        most_cells: int,
    ) -> None:
        """Load the model, with at most `most_cells` of context. Raises ModelLoadError if that fails."""
        self._case = case
        self._texts = texts
        self._check = check
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._client = make_client(self._events.put)
        self._next_id = 0
        self._before: tuple[Message, ...] = ()
        try:
            self._client.send(_load_command(path, case, min(_cells(case), most_cells)))
            self.loaded = self._wait_for_load()
            self._go_down()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return self._client.pid

    def close(self) -> None:
        """End the worker."""
        self._client.close()

    def ask(self) -> ChatTime:
        """A new question of the case's length, behind what came before."""
        question = Message(Role.USER, self._texts(self._case.n_prompt))
        return self._time((*self._before, question), self._case.n_gen)[0]

    def _go_down(self) -> None:
        """Let the chat have as many tokens as the case wants to have before."""
        if self._case.n_depth:
            question = Message(Role.USER, self._texts(self._case.n_depth))
            _time, text = self._time((question,), 1)
            self._before = (question, Message(Role.ASSISTANT, text or "-"))

    def _time(self, messages: tuple[Message, ...], n_gen: int) -> tuple[ChatTime, str]:
        self._next_id += 1
        command = Generate(
            self._next_id, _CHAT_ID, messages, Sampling(seed=_SEED), max_tokens=n_gen, ignore_eos=True
        )
        started = time.perf_counter()
        self._client.send(command)
        first, n_first = None, 0
        while True:
            event = self._next()
            if isinstance(event, TextDelta) and first is None:
                first, n_first = time.perf_counter() - started, event.n_generated
            elif isinstance(event, Finished) and event.error is None:
                return ChatTime(first, time.perf_counter() - started, n_first, event.stats), event.text
            elif isinstance(event, Finished | Failed) and event.error:
                raise ModelLoadError(f"The chat could not be measured: {event.error.message}")

    def _wait_for_load(self) -> ModelLoaded:
        while True:
            event = self._next()
            if isinstance(event, ModelLoaded):
                return event
            if isinstance(event, Failed):
                raise ModelLoadError(event.error.message)

    def _next(self) -> Event:
        while True:
            self._check()
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=_WAIT_S)
                if isinstance(event, EngineDied):
                    raise EngineGone(f"The chat's engine died ({event.cause or event.exit_code}).")
                return event


def whole_path(load_ms: float, times: list[ChatTime]) -> WholePath:
    """The medians of some answers."""
    return WholePath(
        load_ms=load_ms,
        ttft_ms=_median([time.first * 1000 for time in times if time.first is not None]),
        prompt_ts=_median([time.prompt_ts for time in times if time.prompt_ts is not None]),
        decode_ts=_median([time.decode_ts for time in times if time.decode_ts is not None]),
    )


def counted(case: BenchCase, times: list[ChatTime]) -> BenchCase:
    """The case with the tokens that were really read and written, as the last answer counts them."""
    if not times:
        return case
    stats = times[-1].stats
    return replace(case, n_prompt=stats.tokens_prefilled, n_gen=stats.tokens_generated)


def _load_command(path: str, case: BenchCase, n_ctx: int) -> LoadModel:
    return LoadModel(
        path,
        n_ctx=n_ctx,
        n_threads=case.n_threads,
        n_gpu_layers=case.n_gpu_layers,
        n_seq_max=1,
        kv_type=case.k_type,
        options=LoadOptions(
            v_type=case.v_type,
            flash_attention=case.flash_attention,
            n_batch=case.n_batch,
            n_ubatch=case.n_ubatch,
        ),
    )


def _cells(case: BenchCase) -> int:
    """Tokens of the context that the chat of a case wants."""
    return case.n_depth + case.n_prompt + case.n_gen + _MARGIN


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None
