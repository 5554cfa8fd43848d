"""Prompt lookup: drafts from the chat itself, where its last tokens stood before.

Token ids go in as they come, what followed the longest known match comes out (Saxena, "Prompt Lookup
Decoding", 2023). A match that went on as it was predicted is followed without another search, so that a long
copy costs one comparison a token. Memory is fixed: three tables of offsets, where the newest occurrence
takes the place of an older one, or of another text with the same hash; a match is always compared by its ids.
Knows nothing about what drafts cost or whether they were right.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

_SIZES = (4, 3, 2)
"""Lengths of what is searched for, in tokens; the longest first."""
_LONGEST = 16
"""A match is not compared further back than this when it is found; it grows as it goes on."""
_MOST_AT_ONCE = 2048
"""Tokens that are read in one call: some 2 ms, so that a long chat delays no step that could be felt."""
_FOLLOWED = 32
"""Of many tokens at once only the last are compared with a match: it lies in them, or is a new one."""
_SMALLEST_TABLE, _LARGEST_TABLE = 2**12, 2**18


class PromptLookup:
    """The index over one sequence's ids, which may only grow while it is used.

    `n_expected` is about how many ids will come.
    """

    def __init__(self, n_expected: int) -> None:
        n_slots = _SMALLEST_TABLE
        while n_slots < min(2 * n_expected, _LARGEST_TABLE):
            n_slots *= 2
        self._mask = n_slots - 1
        self._tables = {size: array("i", [0]) * n_slots for size in _SIZES}  # 0: nothing stands before it
        self._n_read = 0
        self._next = 0
        """Offset of the token that should come next, 0 without a match."""
        self._n_matched = 0

    @property
    def n_matched(self) -> int:
        """How many of the last tokens stood just so before; 0 for none."""
        return self._n_matched

    def read(self, ids: Sequence[int]) -> bool:
        """Take in what is new of `ids`; False if so much is that there is more for another call."""
        end = min(len(ids), self._n_read + _MOST_AT_ONCE)
        last_few = max(self._n_read, end - _FOLLOWED)
        self._enter(ids, self._n_read, last_few)
        is_gap = last_few > self._n_read
        for offset in range(last_few, end):
            self._enter(ids, offset, offset + 1)
            if is_gap or not self._goes_on(ids, offset):
                self._next, self._n_matched = self._longest_match(ids, offset + 1)
            is_gap = False
        self._n_read = end
        return end == len(ids)

    def _enter(self, ids: Sequence[int], start: int, end: int) -> None:
        """Note for each token of [start, end) what stands before it."""
        for size, table in self._tables.items():
            first = max(start, size)
            before = [ids[first - size + shift : max(0, end - size + shift)] for shift in range(size)]
            for offset, group in enumerate(zip(*before, strict=False), first):
                table[hash(group) & self._mask] = offset

    def _goes_on(self, ids: Sequence[int], offset: int) -> bool:
        """True if the token at `offset` is what the match said; it is one longer then."""
        if not self._n_matched or ids[self._next] != ids[offset]:
            return False
        self._next += 1
        self._n_matched += 1
        return True

    def _longest_match(self, ids: Sequence[int], end: int) -> tuple[int, int]:
        """Where the tokens before `end` went on before, and how many agree; (0, 0) if they are new."""
        for size in _SIZES:
            if end < size:
                continue
            found = self._tables[size][hash(tuple(ids[end - size : end])) & self._mask]
            n_agreeing = _n_agreeing(ids, found, end) if found else 0
            if n_agreeing >= size:
                return found, n_agreeing
        return 0, 0

    def draft(self, ids: Sequence[int], n_tokens: int) -> list[int]:
        """What came after the match, up to `n_tokens`; what repeats itself goes on repeating itself."""
        if not self._n_matched:
            return []
        draft = list(ids[self._next : self._next + n_tokens])
        period = len(ids) - self._next
        while len(draft) < n_tokens:
            draft.append(draft[len(draft) - period])
        return draft


def _n_agreeing(ids: Sequence[int], found: int, end: int) -> int:
    """How many tokens before offset `found` are those before `end`."""
    count, most = 0, min(found, _LONGEST)
    while count < most and ids[found - 1 - count] == ids[end - 1 - count]:
        count += 1
    return count
