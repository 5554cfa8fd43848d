"""A chat with a scripted engine, to be run at a pseudo-terminal or in a pipe by a test.

The first message's reply goes on until it is cancelled; every other one is answered at once.
"""

from __future__ import annotations

import sys

from app import __main__ as weir
from app.cli import chat
from engine.protocol import Event, Generate, TextDelta
from tests.app.cli.scripted_engine import ScriptedEngines, replies


def endless(request: Generate) -> list[Event]:
    return [TextDelta(request.request_id, "It goes on", 1)]


if __name__ == "__main__":
    if sys.stdin.isatty():
        import fcntl
        import termios

        # The process leads a session of its own; Ctrl+C reaches it once the terminal is that session's.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    answers = [endless, replies("Short.")] if "--endless" in sys.argv else [replies("Line.\nLine.\n")] * 3
    chat._real_engine = lambda: ScriptedEngines(*answers)
    sys.exit(weir.main(["chat", "model.gguf"]))
