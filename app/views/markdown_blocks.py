"""A parsed text -> the blocks that are written one by one, and how many of them are settled.

A block is what stands at the outermost level; of a list, each item is one, so that a long list which still
grows costs its last item only. A block is settled when nothing that may follow can change it. Knows nothing
about how blocks look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

LISTS = frozenset({"bullet_list_open", "ordered_list_open"})

_FORMULAS = ("$$", "\\[", "\\begin{")


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens without lines: blocks are equal if they look the same, wherever they stand.

    `line`: where the block begins. `number`: of an item in its list, None for others.
    """

    line: int
    tokens: list[Token]
    number: int | None = None


def blocks_of(tokens: Sequence[Token], source: str, number: int | None) -> list[Block]:
    """The blocks of `tokens`, which were parsed from `source`.

    `number`: which number the first item has if `source` begins inside a list, else None.
    """
    _set_tight(tokens, source.split("\n"))
    blocks: list[Block] = []
    for group in _groups(tokens):
        line = (group[0].map or [0])[0]
        if group[0].type in LISTS:
            first = int(group[0].attrs.get("start", 1)) if number is None or blocks else number
            blocks.extend(_items(group, first))
        else:
            blocks.append(Block(line, group))
    for token in tokens:
        token.map = None
    return blocks


def n_settled(blocks: Sequence[Block], source: str) -> int:
    """How many of `blocks` keep their meaning whatever follows `source`.

    They end before the last block that begins with a whole line, behind an empty line or with an item.
    """
    lines = source.split("\n")
    for count in range(len(blocks) - 1, 0, -1):
        line = blocks[count].line
        if line < len(lines) - 1 and (not lines[line - 1].strip() or _follows_item(blocks, count, lines)):
            return count
    return 0


def _follows_item(blocks: Sequence[Block], count: int, lines: Sequence[str]) -> bool:
    """Whether the block is an item of the list that the block before it is an item of.

    Not if a formula may have begun right in front of the list: it would swallow the items when it ends.
    """
    before, number = blocks[count - 1].number, blocks[count].number
    if before is None or number != before + 1 or blocks[count - 1].tokens[-1].meta.get("last"):
        return False
    line = blocks[count].line
    while line > 0 and lines[line - 1].strip():
        line -= 1
        if any(mark in lines[line] for mark in _FORMULAS):
            return False
    return True


def _groups(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def _items(group: list[Token], first: int) -> Iterator[Block]:
    """A list's items, each as a list of its own with its number; the last one is marked."""
    opening, inner = group[0], group[1:-1]
    ends = [
        number for number, token in enumerate(inner) if token.type == "list_item_close" and token.level == 1
    ]
    begin = 0
    for count, end in enumerate(ends):
        item = inner[begin : end + 1]
        begin = end + 1
        alone = Token(opening.type, opening.tag, 1, attrs={"start": first + count}, markup=opening.markup)
        closing = Token(group[-1].type, opening.tag, -1, meta={"last": count == len(ends) - 1})
        yield Block((item[0].map or [0])[0], [alone, *item, closing], first + count)


def _set_tight(tokens: Sequence[Token], lines: Sequence[str]) -> None:
    """Paragraphs in lists stand close where no empty line follows them: `hidden` says so.

    CommonMark asks the whole list, and would move every item when an empty line comes.
    """
    depth = 0
    for token in tokens:
        if token.type in LISTS:
            depth += 1
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            depth -= 1
        elif token.type == "paragraph_open" and token.map:
            end = token.map[1]
            token.hidden = depth > 0 and (end >= len(lines) or bool(lines[end].strip(" \t>")))
