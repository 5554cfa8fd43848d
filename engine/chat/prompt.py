"""From messages to tokens, message by message.

The template is rendered for growing prefixes of a chat; where one rendering ends in the next, one
message ends, so that every message gets the tokens that the template as a whole would give it. New
turns are rendered together with the turn before them only, whatever the length of the chat.

A chat that ends with a reply is to be gone on with: the reply stands behind its opening as the model
wrote it, and the template neither closes nor changes it.

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

    def count(self, text: str) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Part:
    """The tokens of one message; `message` is its index, that of the reply to come for its opening."""

    message: int
    ids: list[int]


class PromptBuilder:
    """Renders and tokenizes chats in one format for one vocabulary.

    `closing` ends a reply. `n_around`: tokens that a user's message costs beside those of its text, None
    where the template does not say.
    """

    def __init__(self, chat_format: ChatFormat, tokenizer: Tokenizer) -> None:
        self._format = chat_format
        self._tokenizer = tokenizer
        closing, self._preamble = self._probe()
        self.closing: list[int] = self._tokenize(closing)
        self.n_around = self._count_around()

    def whole(self, messages: Sequence[Message]) -> list[Part]:
        """Parts of all messages and of the reply's opening, in one part with the reply so far.

        Raises TemplateError if the template refuses the chat.
        """
        asked, reply = _parted(messages)
        *texts, opening = self._texts(asked, 0)
        first = 0 if messages[0].role is Role.SYSTEM else PREAMBLE
        if first == PREAMBLE and texts[0].startswith(self._preamble):
            texts[:1] = [self._preamble, texts[0][len(self._preamble) :]]
        else:
            first = 0
        parts = [Part(first + i, self._tokenize(text)) for i, text in enumerate(texts)]
        parts.append(Part(len(asked), self._open_reply(opening, reply)))
        return self._with_one_bos(parts)

    def rest(self, messages: Sequence[Message], first: int) -> list[Part]:
        """Parts of `messages[first:]` and of the reply's opening, in one part with the reply so far.

        At least one message stands before them. Raises TemplateError if the template refuses the chat.
        """
        asked, reply = _parted(messages)
        turn = first - 1
        while turn > 0 and asked[turn].role is not Role.USER:
            turn -= 1
        has_system = turn > 0 and asked[0].role is Role.SYSTEM
        context = [*asked[: 1 if has_system else 0], *asked[turn:]]
        *texts, opening = self._texts(context, first - turn + has_system)
        parts = [Part(first + i, self._tokenize(text)) for i, text in enumerate(texts)]
        return [*parts, Part(len(asked), self._open_reply(opening, reply))]

    def count(self, message: Message) -> int:
        """Tokens of the text of a message alone, without what the template adds."""
        return self._tokenizer.count(message.content)

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

    def _count_around(self) -> int | None:
        probe = Message(Role.USER, "?")
        try:
            parts = self.rest([probe, Message(Role.ASSISTANT, "!"), probe], 2)
        except TemplateError:
            return None
        return sum(len(part.ids) for part in parts) - self.count(probe)

    # --- tokens ---

    def _open_reply(self, opening: str, reply: str) -> list[int]:
        """The tokens of the reply's opening and of what it says so far.

        In one go, since some vocabularies begin each text with a space; but the opening keeps the tokens
        that it had when the model answered it.
        """
        ids, content = self._tokenize(opening), self._format.marked(reply)
        both = self._tokenize(opening + content)
        return both if both[: len(ids)] == ids else ids + self._tokenize(content)

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


def _parted(messages: Sequence[Message]) -> tuple[Sequence[Message], str]:
    """What is to be answered, and the reply that is to be gone on with; "" if there is none."""
    if messages[-1].role is Role.ASSISTANT:
        return messages[:-1], messages[-1].content
    return messages, ""


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
