"""The real engine in tests: in a worker process, or inside the test for a look at its insides."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from engine.chat.chat_template import ChatFormat, TemplateContext, open_chat_format
from engine.chat.control_text import ControlTexts
from engine.chat.prompt import PromptBuilder
from engine.client import EngineClient
from engine.decoding.scheduler import Scheduler
from engine.decoding.shelf import Shelf
from engine.llama.backend import Backend
from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.models.gguf_header import read_header
from engine.protocol import (
    EnduranceProgress,
    EnduranceReport,
    Endure,
    EngineDied,
    Event,
    Failed,
    Finished,
    FlashAttention,
    Generate,
    KVType,
    LoadModel,
    Message,
    ModelLoaded,
    Role,
    Sampling,
    TextDelta,
)

GREEDY = Sampling(temperature=0)
_SECONDS = 60.0
CACHE_KINDS = (
    "starter",
    "grouped heads",
    "heads by layer",
    "latent",
    "sliding",
    "recurrent",
    "hybrid",
    "convolutions",
)
"""Kinds of caches, for each of which the fixture `cache_models` has a model."""

EventType = TypeVar("EventType")


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def system(text: str) -> Message:
    return Message(Role.SYSTEM, text)


class RemoteEngine:
    """A worker process and the events that came from it."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.client = EngineClient(self._events.put)
        self._next_id = 0

    def next(self, *kinds: type[EventType]) -> EventType:
        """The next event of these kinds; others are passed over."""
        deadline = time.monotonic() + _SECONDS
        while True:
            event = self._events.get(timeout=max(0.01, deadline - time.monotonic()))
            if isinstance(event, kinds):
                return event

    def load(self, path: Path, n_ctx: int | None = None, **more: Any) -> ModelLoaded:
        self.client.send(LoadModel(str(path), n_ctx=n_ctx, n_threads=1, **more))
        return self.next(ModelLoaded)

    def generate(self, messages: Sequence[Message], *, chat: str = "chat", **more: Any) -> int:
        self._next_id += 1
        more.setdefault("sampling", GREEDY)
        self.client.send(Generate(self._next_id, chat, tuple(messages), **more))
        return self._next_id

    def ask(self, messages: Sequence[Message], **more: Any) -> Finished:
        """Generate and wait; checks on the way that the deltas make up the text."""
        request_id = self.generate(messages, **more)
        text = ""
        while True:
            event = self.next_of(request_id)
            if isinstance(event, Finished):
                assert event.text == text
                return event
            text += event.text

    def next_of(self, request_id: int) -> TextDelta | Finished:
        """The next text or the end of a reply that must not fail."""
        event: object = self.next(TextDelta, Finished, Failed)
        assert isinstance(event, TextDelta | Finished), event
        assert event.request_id == request_id
        return event


@contextmanager
def remote_engine() -> Iterator[RemoteEngine]:
    engine = RemoteEngine()
    try:
        yield engine
    finally:
        engine.client.close()


def endured(path: Path, n_ctx: int = 256, n_tokens: int = 400, **more: Any) -> EnduranceReport:
    """The report of an endurance run in a worker of its own."""
    end = _end_of_run(path, n_ctx, n_tokens, **more)
    assert isinstance(end, EnduranceReport), end
    return end


def refusal(path: Path, n_ctx: int = 256, n_tokens: int = 400, **more: Any) -> Failed:
    """How an endurance run was refused."""
    end = _end_of_run(path, n_ctx, n_tokens, **more)
    assert isinstance(end, Failed), end
    return end


def _end_of_run(path: Path, n_ctx: int, n_tokens: int, **more: Any) -> EnduranceReport | Failed | EngineDied:
    with remote_engine() as engine:
        engine.client.send(Endure(str(path), n_ctx, n_tokens, **{"n_threads": 1, **more}))
        while True:  # progress comes all the time, so that a long run is no timeout
            event: object = engine.next(EnduranceProgress, EnduranceReport, Failed, EngineDied)
            if isinstance(event, EnduranceReport | Failed | EngineDied):
                return event


class LocalEngine:
    """A scheduler over a real context in this process."""

    def __init__(
        self,
        model: Model,
        n_ctx: int,
        n_seq_max: int = 4,
        swa_full: bool = True,
        shelf: Shelf | None = None,
        kv_type: KVType = KVType.F16,
    ) -> None:
        self._open = ExitStack()
        self.model = model
        # As the worker makes it on a processor (`engine.memory.load_options`).
        flash_attention = FlashAttention.OFF if kv_type is KVType.F16 else FlashAttention.AUTO
        params = ContextParams(
            n_ctx, n_seq_max, swa_full=swa_full, kv_type=kv_type, flash_attention=flash_attention
        )
        self.context = Context(model, params)
        self._open.callback(self.context.close)
        chat_format = open_format(model)
        self._open.callback(chat_format.close)
        self.prompts = PromptBuilder(chat_format, model)
        self.scheduler = Scheduler(model, self.context, self.prompts, n_seq_max, shelf)
        self._open.callback(self.scheduler.close)
        self._next_id = 0

    def close(self) -> None:
        self._open.close()

    def submit(self, messages: Sequence[Message], *, chat: str = "chat", **more: Any) -> int:
        self._next_id += 1
        more.setdefault("sampling", GREEDY)
        self.scheduler.submit(Generate(self._next_id, chat, tuple(messages), **more))
        return self._next_id

    def run(
        self, until: Callable[[Event], bool] = lambda event: isinstance(event, Finished | Failed)
    ) -> list[Event]:
        """Step until an event satisfies `until`; returns all events so far."""
        events: list[Event] = []
        for _ in range(100_000):
            assert self.scheduler.busy, "the scheduler has nothing to do"
            new = self.scheduler.step()
            events += new
            if any(until(event) for event in new):
                return events
        raise AssertionError("the scheduler never got there")

    def ask(self, messages: Sequence[Message], **more: Any) -> Finished:
        self.submit(messages, **more)
        last = self.run()[-1]
        assert isinstance(last, Finished), last
        return last


def open_format(model: Model) -> ChatFormat:
    """The chat format that the model's file brings."""
    control_texts = ControlTexts(model.control_texts())
    context = TemplateContext(model.text_of(model.bos), model.text_of(model.eos), control_texts)
    return open_chat_format(read_header(model.path).text("tokenizer.chat_template"), context, None)


@contextmanager
def loaded(path: Path, *, dry_run: bool = False) -> Iterator[Model]:
    """A model in this process."""
    backend = Backend()
    model = Model(backend, path, dry_run=dry_run)
    try:
        yield model
    finally:
        model.close()
        backend.close()


def greedy_continuation(model: Model, ids: list[int], count: int) -> list[int]:
    """What a context that knows nothing else says after `ids`, at positions 0, 1, 2..."""
    params = ContextParams(len(ids) + count, flash_attention=FlashAttention.OFF)  # as `LocalEngine`
    context, sampler = Context(model, params), Sampler(GREEDY, model.n_vocab)
    batch, said = Batch(context.n_batch), list[int]()
    todo, position = ids, 0
    while len(said) < count:
        batch.clear()
        for token in todo[: batch.capacity]:
            index = batch.add(token, position, 0, position >= len(ids) - 1)
            position += 1
        todo = todo[batch.capacity :]
        assert context.decode(batch) == 0
        if not todo:
            said.append(sampler.sample(context, index))
            todo = said[-1:]
    for resource in (batch, sampler, context):
        resource.close()
    return said
