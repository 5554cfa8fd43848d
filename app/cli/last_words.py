"""What a worker said last, for people.

An `EngineDied` goes in, a few words come out: paths of the machine that llama.cpp was built on shrink to the
name of their file. Knows nothing about what the worker was doing.
"""

from __future__ import annotations

import re

from engine.protocol import EngineDied

_PATH = re.compile(r"(?:[A-Za-z]:)?[^\s:'\"()]*[/\\]([^\s:/\\'\"()]+\.(?:c|cc|cpp|cu|h|hpp|m|metal))\b")


def cause_in_words(event: EngineDied) -> str:
    """For example "ggml.c:123: GGML_ASSERT(n > 0) failed", or the exit code."""
    return _PATH.sub(r"\1", event.cause) or f"exit code {event.exit_code}"
