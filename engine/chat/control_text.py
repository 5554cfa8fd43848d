"""Text from a message never becomes a control token.

A chat template puts contents and control tokens into one string, where `<|im_end|>` typed by a
person looks like the template's own. So each control token's text inside a content is put between
two marks before rendering; the tokenizer then reads what lies between marks as plain text. The
marks are the noncharacters U+FDD0 and U+FDD1, which Unicode keeps for such inner use; a content
that holds them loses them.

    content --mark--> template --keep_whole_marks, split--> [(text, parse_special), ...]

Only whole control texts are marked, so that a template's `content | trim` and
`content.split('</think>')` work as on the bare text, but for white space beside a mark. What this
does not see: a control text that a template itself puts together out of harmless pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_ANY_MARK = re.compile(f"[{_OPEN}{_CLOSE}]")
_MARKED = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


class ControlTexts:
    """The texts of a vocabulary's control tokens, prepared once for quick searching.

    Searching costs a few slices at each place where the first two characters fit, however many
    texts there are: Gemma's vocabulary has more than 6,000.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(text for text in texts if text)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            lengths.setdefault(text[:2], set()).add(len(text))
        self._lengths = {head: sorted(found, reverse=True) for head, found in lengths.items()}
        self._first = re.compile(_first_character(lengths))

    def __contains__(self, text: str) -> bool:
        return text in self._texts

    def spans(self, content: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each control text in `content`, left to right, the longest at each place."""
        position = 0
        while found := self._first.search(content, position):
            end = self._end(content, found.start())
            if end is not None:
                yield found.start(), end
            position = end or found.end()

    def _end(self, content: str, start: int) -> int | None:
        """Where the longest control text ends that starts at `start`."""
        for head in (content[start : start + 2], content[start]):
            for length in self._lengths.get(head, ()):
                if content[start : start + length] in self._texts:
                    return start + length
        return None


def _first_character(heads: Collection[str]) -> str:
    """A pattern for a character where one of `heads`, of one or two characters, may start."""
    if not heads:
        return "(?!)"  # matches nowhere
    firsts, seconds = (re.escape("".join({head[at:][:1] for head in heads})) for at in (0, 1))
    return f"[{firsts}](?=[{seconds}])" if min(map(len, heads)) == 2 else f"[{firsts}]"


def mark(content: str, control_texts: ControlTexts) -> str:
    """`content` with each control token's text between marks, and without marks of its own."""
    content = _ANY_MARK.sub("", content)
    parts: list[str] = []
    done = 0
    for start, end in control_texts.spans(content):
        parts += (content[done:start], _OPEN, content[start:end], _CLOSE)
        done = end
    return "".join(parts) + content[done:]


def keep_whole_marks(rendered: str, control_texts: ControlTexts) -> str:
    """`rendered` without the pairs of marks that hold anything but one control text.

    A template that cuts contents can leave the opening mark of one and the closing mark of another
    with text of its own between them, which must not lose its control tokens.
    """
    return _MARKED.sub(lambda found: found[0] if found[1] in control_texts else found[1], rendered)


def outside_marks(rendered: str, position: int) -> int:
    """`position`, or the end of the marked text that it falls into: a cut there would undo the mark."""
    opened, closed = rendered.rfind(_OPEN, 0, position), rendered.rfind(_CLOSE, 0, position)
    closing = rendered.find(_CLOSE, position)
    return closing + 1 if opened > closed and closing >= 0 else position


def split(rendered: str) -> list[tuple[str, bool]]:
    """A rendered chat as pieces (text, parse_special) for the tokenizer.

    What lies between a pair of marks has parse_special False. The marks are gone, a mark without
    its partner too. No piece is empty, and neighbours differ in parse_special.
    """
    pieces: list[tuple[str, bool]] = []
    # re.split with one group: what the group caught stands at the odd places.
    for index, part in enumerate(_MARKED.split(rendered)):
        text, parse_special = _ANY_MARK.sub("", part), index % 2 == 0
        if text and pieces and pieces[-1][1] == parse_special:
            text = pieces.pop()[0] + text
        if text:
            pieces.append((text, parse_special))
    return pieces
