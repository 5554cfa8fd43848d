"""One chat with one engine, from the user's lines to the history that the next message carries.

In: the texts of messages. Out: the engine's events, passed on to an `Output`. It promises that the
history holds only what was answered, that a dead engine is replaced at the next message, and that
two deaths without a finished reply between them end the chat. It knows nothing about terminals,
files or how the worker process is run.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from typing import Protocol

from app.cli.arguments import ChatOptions
from app.cli.engine_events import next_event
from app.cli.last_words import cause_in_words
from app.cli.output import Output
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
    Gauges,
    Generate,
    LoadModel,
    Message,
    ModelInfo,
    ModelLoaded,
    Role,
    TextDelta,
    max_sinks,
)

_MAX_DEATHS = 2
_CHAT_ID = "terminal"


class Engine(Protocol):
    """The seam to the worker process; `engine.client.EngineClient` is the real one."""

    def send(self, command: Command) -> None:
        """Send a command. Raises EngineGone."""

    def close(self) -> None:
        """End the worker process."""


EngineFactory = Callable[[Callable[[Event], None]], Engine]


class ChatSession:
    """A chat whose messages are said one after the other.

    `exit_code` is that of the last thing that happened: 0 for an answer, 1 for a failure or a message that
    a full context refused, 2 if the engine called the options impossible. After `is_over` nothing more can
    be said.
    """

    def __init__(
        self, load: LoadModel, options: ChatOptions, output: Output, make_engine: EngineFactory
    ) -> None:
        self.exit_code = 0
        self.is_over = False
        self._load_command = load
        self._options = options
        self._output = output
        self._make_engine = make_engine
        self._engine: Engine | None = None
        self._events: queue.SimpleQueue[Event | Cancel] = queue.SimpleQueue()
        self._deaths = 0
        self._request_id = 0
        self._told_full = False
        system = (options.system or "").strip()
        self._history = [Message(Role.SYSTEM, system)] if system else []

    def load(self) -> bool:
        """Start an engine and load the model; False if that failed, and then the chat is over."""
        # A queue for each engine: what a dead one said last must not be taken for the new one's.
        self._events = queue.SimpleQueue()
        self._engine = self._make_engine(self._events.put)
        with contextlib.suppress(EngineGone):  # its EngineDied is on the way, and knows the cause
            self._engine.send(self._load_command)
        while True:
            match event := self._next_event():
                case ModelLoaded():
                    self._output.show(event)
                    return self._loaded(event.info)
                case Failed():
                    return self._load_failed(event.error)
                case EngineDied():
                    return self._load_failed(self._died_loading(cause_in_words(event)))
                case Cancel():
                    raise KeyboardInterrupt
                case _:
                    self._output.show(event)

    def say(self, text: str) -> None:
        """Send one message with the whole history and show the reply until its end."""
        if not (self._is_engine_alive() or self.load()):
            return
        assert self._engine is not None
        self._request_id += 1
        request = self._generate(Message(Role.USER, text))
        try:
            self._engine.send(request)
        except EngineGone as error:
            self._engine_died(request, "", str(error))
        else:
            self._follow(request)

    def cancel(self) -> None:
        """Stop the reply that is being written; may be called from a signal handler."""
        self._events.put(Cancel(self._request_id))

    def close(self) -> None:
        """End the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _follow(self, request: Generate) -> None:
        text = ""
        while True:
            match event := self._next_event():
                case TextDelta():
                    text += event.text
                    self._output.show(event)
                case Finished():
                    self._output.show(event)
                    return self._finished(request, event)
                case Failed():
                    self._output.show(event)
                    self._output.note("That message is left out of the chat; the chat goes on.")
                    self.exit_code = 1
                    return None
                case EngineDied():
                    return self._engine_died(request, text, cause_in_words(event))
                case Cancel():
                    self._send_cancel(event)
                case _:
                    self._output.show(event)

    def _finished(self, request: Generate, event: Finished) -> None:
        self._deaths = 0
        self.exit_code = int(event.reason is FinishReason.ERROR)
        if event.text or event.reason is FinishReason.STOP:
            self._remember(request, event.text)
        if event.reason is FinishReason.ERROR:
            self._output.note("The engine failed in the middle of that reply; the text so far is kept.")
        elif event.reason is FinishReason.CONTEXT_FULL:
            self._note_full(was_refused=event.error is not None)

    def _note_full(self, was_refused: bool) -> None:
        what = "That message was not read" if was_refused else "The reply ends here, and its text is kept"
        why = "the context is full"
        if not self._told_full:
            why += " and the policy is to stop there. Start again with --policy endless or a larger --ctx"
        self._told_full = True
        self.exit_code = int(was_refused)
        self._output.note(f"{what}: {why}.")

    def _engine_died(self, request: Generate, text: str, cause: str) -> None:
        self.close()
        self.exit_code = 1
        self._deaths += 1
        self.is_over = self._deaths >= _MAX_DEATHS
        if text:
            self._remember(request, text)
        kept = "The text so far is kept" if text else "That message is left out of the chat"
        after = (
            "it died twice in a row, so the chat ends." if self.is_over else "the next one starts it anew."
        )
        message = f"The engine died ({cause}). {kept}; {after}"
        self._output.show(Failed(request.request_id, ErrorReport(ErrorCode.ENGINE_DIED, message)))

    def _is_engine_alive(self) -> bool:
        """Look at what came since the last reply: an engine that died meanwhile is closed."""
        with contextlib.suppress(queue.Empty):
            while self._engine is not None:
                event = self._events.get_nowait()
                if isinstance(event, EngineDied):
                    self._deaths += 1
                    self._output.note("The engine died since the last reply; a new one is started.")
                    self.close()
        return self._engine is not None

    def _load_failed(self, error: ErrorReport) -> bool:
        self._output.show(Failed(None, error))
        self.close()
        self.is_over = True
        self.exit_code = 2 if error.code is ErrorCode.BAD_REQUEST else 1
        return False

    def _died_loading(self, cause: str) -> ErrorReport:
        message = (
            f"The engine stopped while it loaded {self._load_command.path}: {cause.rstrip('.')}. "
            "Try another model file; `weir doctor` tells whether the engine itself can start."
        )
        return ErrorReport(ErrorCode.MODEL_LOAD, message)

    def _loaded(self, info: ModelInfo) -> bool:
        """Tell what is not as it was asked for; False if the context is too small for the sinks."""
        asked, n_sinks = self._options.n_ctx, self._options.cache.n_sinks
        if asked not in (None, info.n_ctx):
            self._output.note(
                f"The context has {info.n_ctx:,} tokens, not {asked:,}: it is made in steps of 256."
            )
        for notice in info.notices:
            self._output.note(notice)
        if info.chat_format_reason is not None:
            self._output.note(f"{info.chat_format_reason} (--chat-format NAME chooses.)")
        if n_sinks <= max_sinks(info.n_ctx):
            return True
        message = (
            f"The first {n_sinks:,} tokens cannot all stay: sinks may take half of the context, here "
            f"{max_sinks(info.n_ctx):,} tokens. Choose fewer (--sinks) or a larger context (--ctx)."
        )
        self._load_failed(ErrorReport(ErrorCode.BAD_REQUEST, message))
        self.exit_code = 1  # nothing was wrong with the words: it depends on the model
        return False

    def _send_cancel(self, cancel: Cancel) -> None:
        # If the engine is gone, its EngineDied is on the way and ends the reply.
        if self._engine is not None:
            with contextlib.suppress(EngineGone):
                self._engine.send(cancel)

    def _remember(self, request: Generate, reply: str) -> None:
        self._history += [request.messages[-1], Message(Role.ASSISTANT, reply)]

    def _generate(self, message: Message) -> Generate:
        options = self._options
        return Generate(
            request_id=self._request_id,
            chat_id=_CHAT_ID,
            messages=(*self._history, message),
            sampling=options.sampling,
            max_tokens=options.max_tokens,
            stop=options.stop,
            ignore_eos=options.ignore_eos,
            cache=options.cache,
            speculate=options.speculate,
        )

    def _next_event(self) -> Event | Cancel:
        while isinstance(event := next_event(self._events), Gauges):
            pass
        return event
