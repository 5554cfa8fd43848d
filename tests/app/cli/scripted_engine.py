"""Engines that answer as a test's script says, in place of the worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.errors import EngineGone
from engine.protocol import (
    Cancel,
    Command,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    LoadModel,
    ModelInfo,
    ModelLoaded,
    TextDelta,
    TurnStats,
)

STATS = TurnStats(
    tokens_prompt=9,
    tokens_reused=4,
    tokens_prefilled=5,
    tokens_generated=2,
    tokens_evicted=0,
    ttft_ms=12.5,
    prefill_tps=400.0,
    decode_tps=None,
    kv_cells_used=11,
    kv_cells=512,
)

INFO = ModelInfo(
    path="model.gguf",
    name="Small",
    description="llama 1M Q4_0",
    size_bytes=1_000_000,
    n_params=1_000_000,
    n_ctx=512,
    n_ctx_train=2048,
    n_seq_max=1,
    n_threads=2,
    kv_bytes=None,
    chat_format="template",
    chat_format_reason=None,
    devices=(),
)

LOADED = (ModelLoaded(INFO, 5.0),)

Answer = Callable[[Generate], Sequence[Event]]


def replies(text: str, reason: FinishReason = FinishReason.STOP) -> Answer:
    """A reply that comes in two pieces."""
    middle = len(text) // 2
    return lambda request: [
        TextDelta(request.request_id, text[:middle], 1),
        TextDelta(request.request_id, text[middle:], 2),
        Finished(request.request_id, reason, text, STATS),
    ]


def fails(code: ErrorCode, message: str) -> Answer:
    return lambda request: [Failed(request.request_id, ErrorReport(code, message))]


def dies(after: str = "") -> Answer:
    """The worker ends in the middle of the reply, after the text `after`."""
    return lambda request: [TextDelta(request.request_id, after, 1), EngineDied(-9, "killed")]


class ScriptedEngines:
    """Makes one engine after another; each `Generate` takes the next of `answers`."""

    def __init__(self, *answers: Answer, load: Sequence[Event] = LOADED) -> None:
        self.answers = list(answers)
        self.load = load
        self.made: list[ScriptedEngine] = []

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedEngine:
        self.made.append(ScriptedEngine(self, on_event))
        return self.made[-1]

    @property
    def requests(self) -> list[Generate]:
        return [c for engine in self.made for c in engine.commands if isinstance(c, Generate)]

    @property
    def said(self) -> list[list[str]]:
        """For each request, the contents of the messages that it carried."""
        return [[message.content for message in request.messages] for request in self.requests]


class ScriptedEngine:
    def __init__(self, script: ScriptedEngines, on_event: Callable[[Event], None]) -> None:
        self.commands: list[Command] = []
        self.is_closed = False
        self.on_event = on_event
        self._script = script

    def send(self, command: Command) -> None:
        if self.is_closed:
            raise EngineGone("The engine is not there.")
        self.commands.append(command)
        match command:
            case LoadModel():
                self._emit(self._script.load)
            case Generate():
                self._emit(self._script.answers.pop(0)(command))
            case Cancel():
                self._emit([Finished(command.request_id, FinishReason.CANCELLED, "", STATS)])

    def close(self) -> None:
        self.is_closed = True

    def _emit(self, events: Sequence[Event]) -> None:
        for event in events:
            self.on_event(event)
