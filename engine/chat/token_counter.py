"""Counting tokens beside the chat: a text of megabytes takes seconds, and no reply waits for it.

Questions go in, answers come out, in a thread of its own. Of several questions with one key only the
newest is answered, but a text that is being counted is counted to its end. Knows nothing about chats
or the process boundary.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.protocol import CountTokens, TokenCount


class TokenCounter:
    """Answers `CountTokens` through `put`, which is called in the counter's thread, as `count` is."""

    def __init__(self, count: Callable[[str], int], put: Callable[[TokenCount], None]) -> None:
        self._count = count
        self._put = put
        self._waiting: dict[str, str] = {}  # text by key, the oldest question first
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="weir-token-counter", daemon=True)
        self._thread.start()

    def ask(self, question: CountTokens) -> None:
        """Queue a question in place of one with its key; returns at once."""
        with self._changed:
            self._waiting[question.key] = question.text
            self._changed.notify()

    def close(self) -> None:
        """Drop what waits, and return when the text that is being counted is done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while question := self._next():
            key, text = question
            self._put(TokenCount(key, self._count(text)))

    def _next(self) -> tuple[str, str] | None:
        """The question that has waited longest; None after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            key = next(iter(self._waiting))
            return key, self._waiting.pop(key)
