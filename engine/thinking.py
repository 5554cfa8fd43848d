"""What a model thinks before it answers, told apart from the answer.

The text of a reply goes in as the model wrote it, whole or still growing; the thought and the answer
come out. It may also be followed piece by piece, which tells only whether the thought is over. Knows
nothing about tokens, windows or how a thought is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

_PAIRS = (
    ("<think>", "</think>"),  # DeepSeek, Qwen, and most others
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
)


_MAY_BEGIN_IN_PROMPT = _PAIRS[:4]
_LONGEST = max(map(len, chain.from_iterable(_PAIRS)))


@dataclass(frozen=True, slots=True)
class Thinking:
    """A reply in two parts; `thought` None: the model did not think. `is_open`: it still does."""

    thought: str | None
    answer: str
    is_open: bool = False


def split_thinking(text: str) -> Thinking:
    """Tell the thought at the beginning of `text` from the answer.

    A reply that only closes a thought began inside it: some templates open it in the prompt.
    """
    begin = text.lstrip()
    for opening, closing in _PAIRS:
        if begin.startswith(opening):
            thought, closed, answer = begin[len(opening) :].partition(closing)
            return Thinking(thought.strip("\n"), answer.lstrip("\n"), is_open=not closed)
    for opening, closing in _MAY_BEGIN_IN_PROMPT:
        thought, closed, answer = text.partition(closing)
        if closed and opening not in thought:
            return Thinking(thought.strip("\n"), answer.lstrip("\n"))
    return Thinking(None, text)


class ThoughtWatch:
    """Follows a growing reply; the work for a piece does not depend on the text before it.

    `is_open` while the model thinks, `is_over` once it has thought: as `split_thinking` tells of the
    whole text.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.is_over = False
        self._has_begun = False
        self._recent = ""  # what a marker may have begun in
        self._pairs: tuple[tuple[str, str], ...] = _MAY_BEGIN_IN_PROMPT

    def push(self, piece: str) -> None:
        """More of the reply."""
        if self.is_over:
            return
        self._recent += piece
        if not self._has_begun:
            self._begin()
        if self._has_begun:
            self._look_for_the_end()
            self._recent = self._recent[-_LONGEST:]

    def _begin(self) -> None:
        begin = self._recent = self._recent.lstrip()
        opened = [pair for pair in _PAIRS if begin.startswith(pair[0])]
        if opened:
            self.is_open, self._pairs = True, tuple(opened)
            self._recent = begin[len(opened[0][0]) :]
        self._has_begun = self.is_open or not any(opening.startswith(begin) for opening, _closing in _PAIRS)

    def _look_for_the_end(self) -> None:
        for pair in self._pairs:
            start, end = map(self._recent.find, pair)
            if end >= 0 and (self.is_open or not 0 <= start < end):
                self.is_open, self.is_over = False, True
                return
            if start >= 0 and not self.is_open:  # told of in the answer: no thought began in the prompt
                self._pairs = tuple(other for other in self._pairs if other != pair)
