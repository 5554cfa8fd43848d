"""From messages to tokens, message by message.

The template is rendered for growing prefixes of a chat; where one rendering ends in the next, one
message ends, so that every message gets the tokens that the template as a whole would give it. New
turns are rendered together with the turn before them only, whatever the length of the chat.

Promises: exactly one BOS; nothing in a message becomes a control token. Knows nothing about caches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Protocol

from engine.chat import control_text
from engine.chat.chat_template import ChatFormat
from engine.errors import TemplateError
from engine.protocol import Message, Role

# Noncharacters stand for contents, so that no template and no vocabulary contains them.
_USER, _REPLY, _NEXT = "\ufdd4", "\ufdd5", "\ufdd6"

PREAMBLE = -1
"""Message index of what a template puts before the first message, as a system prompt of its own."""


class Tokenizer(Protocol):
    """The part of `llama.model.Model` that is needed here."""

    @property
    def bos(self) -> int | None: ...  # noqa: D102

    @property
    def adds_bos(self) -> bool: ...  # noqa: D102

    def tokenize(self, text: str, parse_special: bool) -> list[int]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Part:
    """The tokens of one message; `message` is its index, `len(messages)` for the reply's opening."""

    message: int
    ids: list[int]


class PromptBuilder:
    """Renders and tokenizes chats in one format for one vocabulary."""

    def __init__(self, chat_format: ChatFormat, tokenizer: Tokenizer) -> None:
        self._format = chat_format
        self._tokenizer = tokenizer
        closing, self._preamble = self._probe()
        self.closing: list[int] = self._tokenize(closing)

    def whole(self, messages: Sequence[Message]) -> list[Part]:
        """Parts of all messages and of the reply's opening.

        Raises TemplateError if the template refuses the chat.
        """
        *texts, opening = self._texts(messages, 0)
        first = 0 if messages[0].role is Role.SYSTEM else PREAMBLE
        if first == PREAMBLE and texts[0].startswith(self._preamble):
            texts[:1] = [self._preamble, texts[0][len(self._preamble) :]]
        else:
            first = 0
        parts = [Part(first + i, self._tokenize(text)) for i, text in enumerate(texts)]
        parts.append(Part(len(messages), self._tokenize(opening)))
        return self._with_one_bos(parts)

    def rest(self, messages: Sequence[Message], first: int) -> list[Part]:
        """Parts of `messages[first:]`, at least one message before them, and the reply's opening.

        Raises TemplateError if the template refuses the chat.
        """
        turn = first - 1
        while turn > 0 and messages[turn].role is not Role.USER:
            turn -= 1
        has_system = turn > 0 and messages[0].role is Role.SYSTEM
        context = [*messages[: 1 if has_system else 0], *messages[turn:]]
        texts = self._texts(context, first - turn + has_system)
        return [Part(first + i, self._tokenize(text)) for i, text in enumerate(texts)]

    def count(self, message: Message) -> int:
        """Tokens of the text of a message alone, without what the template adds."""
        return len(self._tokenizer.tokenize(message.content, False))

    # --- text ---

    def _texts(self, messages: Sequence[Message], first: int) -> list[str]:
        """The rendered text of each of `messages[first:]`, then the opening of the reply."""
        whole = self._format.render(messages, True)
        ends = [
            control_text.outside_marks(whole, self._end_of(messages[:count], whole))
            for count in range(first, len(messages) + 1)
        ]
        if first == 0:
            ends[0] = 0
        for i in range(1, len(ends)):
            ends[i] = max(ends[i - 1], ends[i])
        bounds = [*ends, len(whole)]
        return [whole[start:end] for start, end in itertools.pairwise(bounds)]

    def _end_of(self, prefix: Sequence[Message], whole: str) -> int:
        """Where in `whole` the messages of `prefix` end."""
        if not prefix:
            return 0
        end = 0
        with suppress(TemplateError):  # as for a system prompt alone, where a template wants a user first
            end = _common_length(self._format.render(prefix, False), whole)
        if len(prefix) == 1 and prefix[0].role is Role.SYSTEM:
            content = prefix[0].content.strip()
            found = whole.find(content)
            end = max(end, found + len(content)) if found >= 0 else end
        return end

    def _probe(self) -> tuple[str, str]:
        """What closes a reply, and what the template puts before a first user message."""
        user, reply = Message(Role.USER, _USER), Message(Role.ASSISTANT, _REPLY)
        try:
            first = self._format.render([user], False)
            turn = self._format.render([user, reply], False)
            two = self._format.render([user, reply, Message(Role.USER, _NEXT)], False)
        except TemplateError:
            return "", ""
        closing = turn.rpartition(_REPLY)[2]
        header = two[_common_length(turn, two) :].partition(_NEXT)[0]
        opening = first.partition(_USER)[0]
        return closing, opening.removesuffix(header) if opening.endswith(header) else ""

    # --- tokens ---

    def _tokenize(self, text: str) -> list[int]:
        ids: list[int] = []
        for piece, parse_special in control_text.split(text):
            ids += self._tokenizer.tokenize(piece, parse_special)
        return ids

    def _with_one_bos(self, parts: list[Part]) -> list[Part]:
        """Exactly one BOS in front if the file or the template wants one (abetlen/llama-cpp-python#1501)."""
        bos = self._tokenizer.bos
        leading = list(takewhile(lambda token: token == bos, chain.from_iterable(p.ids for p in parts)))
        if bos is not None and self._tokenizer.adds_bos and not leading:
            parts[0].ids.insert(0, bos)
        for _ in leading[1:]:
            next(part.ids for part in parts if part.ids).pop(0)
        return [part for part in parts if part.ids or part.message != PREAMBLE]


def _common_length(one: str, two: str) -> int:
    """Length of the common beginning, by bisection: slices compare at memory speed."""
    if two.startswith(one):
        return len(one)
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
