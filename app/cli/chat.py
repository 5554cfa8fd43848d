"""`weir chat`: lines of standard input become messages, replies go to standard output.

In: `ChatOptions` and the process's standard streams. Out: an exit status: 0; 1 if the model could
not be loaded or the last message failed; 2 for values that make no sense. It chooses the model and
owns the terminal (prompt, Ctrl+C); the chat itself is `ChatSession`'s.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from app.cli.arguments import ChatOptions
from app.cli.chat_session import ChatSession, EngineFactory
from app.cli.interrupts import INTERRUPTED, first_interrupt_calls
from app.cli.learning_output import LearningOutput
from app.cli.output import JsonOutput, Output, PlainOutput
from app.data.paths import settings_path
from app.data.settings import SettingsStore
from engine.errors import KnownError, ModelFileError
from engine.models.starter import starter_model_path
from engine.protocol import ErrorCode, ErrorReport, Failed


def run_chat(options: ChatOptions, make_engine: EngineFactory | None = None) -> int:
    """Hold one chat over the standard streams; returns the exit status.

    `make_engine` None takes the real engine in a process of its own.
    """
    out = sys.stdout or io.StringIO()  # None where the caller closed it
    output: Output = JsonOutput(out, sys.stderr) if options.as_json else PlainOutput(out, sys.stderr)
    try:
        return _chat(options, output, make_engine or _real_engine())
    except KeyboardInterrupt:
        return INTERRUPTED


def _chat(options: ChatOptions, output: Output, make_engine: EngineFactory) -> int:
    try:
        path = choose_model(options.model, output.note)
    except ModelFileError as error:
        output.show(Failed(None, ErrorReport(ErrorCode.MODEL_FILE, str(error))))
        return 1
    session = ChatSession(options.load_command(path), options, LearningOutput(output), make_engine)
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    with contextlib.closing(session):
        if not session.load():
            return session.exit_code
        for text in _terminal_lines(not options.as_json) if is_terminal else _piped_lines():
            with first_interrupt_calls(session.cancel) as was_interrupted:
                session.say(text)
            if was_interrupted() and not is_terminal:
                return INTERRUPTED  # nobody is there to type the next message
            if session.is_over:
                break
    return session.exit_code


def choose_model(asked: str | None, note: Callable[[str], None]) -> str:
    """The model file to load: the one asked for, else the window's last one, else the starter.

    Raises ModelFileError if there is none at all. `note` is told what is wrong with the settings.
    """
    if asked is not None and not asked.strip():
        raise ModelFileError("The name of the model file is empty: name a GGUF file.")
    if asked is not None:
        return asked
    last_model = _last_model(note)
    if last_model is not None and Path(last_model).is_file():
        return last_model
    starter = starter_model_path()
    if starter is None:
        raise ModelFileError(
            "There is no model to chat with: the starter model is not installed. "
            "Run `make run` to install it, or name a GGUF file: weir chat MODEL"
        )
    return str(starter)


def _last_model(note: Callable[[str], None]) -> str | None:
    try:
        settings, problem = SettingsStore(settings_path()).load()
    except KnownError as error:  # a data folder that cannot be used stops no chat that stores nothing
        note(str(error))
        return None
    if problem is not None:
        note(problem)
    return settings.last_model


def _real_engine() -> EngineFactory:
    from engine.client import EngineClient

    return EngineClient


def _piped_lines() -> Iterator[str]:
    """The messages on standard input; bytes that are not UTF-8 become U+FFFD."""
    if sys.stdin is None:  # closed by the caller
        return
    for raw in sys.stdin.buffer:
        text = raw.decode("utf-8", errors="replace").rstrip("\r\n").removeprefix("\N{BOM}")
        if text.strip():
            yield text


def _terminal_lines(prompts_on_stdout: bool) -> Iterator[str]:
    """The messages typed at a prompt, until Ctrl+D or Ctrl+C."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 # gives input() its line editing; not on Windows
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            text = _ask(prompts_on_stdout and sys.stdout.isatty())
            if text.strip():
                yield text
    print(file=sys.stderr)


def _ask(prompts_on_stdout: bool) -> str:
    if prompts_on_stdout:
        return input("> ")
    print("> ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")
