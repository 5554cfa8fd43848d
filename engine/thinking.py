"""What a model thinks before it answers, told apart from the answer.

The text of a reply goes in as the model wrote it, whole or still growing; the thought and the answer
come out. Knows nothing about tokens, windows or how a thought is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

_PAIRS = (
    ("<think>", "</think>"),  # DeepSeek, Qwen, and most others
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|channel|>analysis<|message|>", "<|end|>"),  # gpt-oss
)


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
    for opening, closing in _PAIRS[:4]:
        thought, closed, answer = text.partition(closing)
        if closed and opening not in thought:
            return Thinking(thought.strip("\n"), answer.lstrip("\n"))
    return Thinking(None, text)
