"""A cache of plain Python for tests of the bookkeeping: it holds token ids, so that they can be compared."""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.decoding.sequence import Sequence
from engine.protocol import Message, Role


class SimulatedContext:
    """Does to a dictionary of positions what llama.cpp does to its cells, for one sequence.

    `keeps_middle`: as a recurrent state, it cannot drop its middle and refuses to drop its tail.
    """

    def __init__(self, keeps_middle: bool = False) -> None:
        self.cells: dict[int, int] = {}
        self.keeps_middle = keeps_middle

    def remove(self, seq_id: int, start: int, end: int = -1) -> bool:
        if start < 0:
            self.cells = {}
            return True
        last = max(self.cells, default=-1) + 1 if end < 0 else end
        doomed = [position for position in self.cells if start <= position < last]
        if self.keeps_middle and doomed:
            return max(doomed) != max(self.cells)  # a no-op in the middle, a refusal at the tail
        for position in doomed:
            del self.cells[position]
        return True

    def shift(self, seq_id: int, start: int, end: int, delta: int) -> None:
        moved = {p + delta: t for p, t in self.cells.items() if start <= p < end}
        self.cells = {p: t for p, t in self.cells.items() if not start <= p < end} | moved

    def position_range(self, seq_id: int) -> tuple[int, int]:
        return min(self.cells, default=-1), max(self.cells, default=-1)

    def decode(self, sequence: Sequence) -> int:
        """Decode everything that is pending; returns how many tokens that were."""
        count = sequence.n_pending
        for start, end in sequence.pending:
            position = sequence.ledger.next_position
            for offset in range(start, end):
                assert position + offset - start not in self.cells
                self.cells[position + offset - start] = sequence.ledger.ids[offset]
            sequence.ledger.mark_decoded(start, end)
        sequence.pending = []
        return count

    def text(self) -> str:
        """What the model sees, in the order of positions."""
        return "".join(chr(token) for _position, token in sorted(self.cells.items()))


class PlainFormat:
    """`S:...|` for a system prompt, `U:...|` and `A:...|` for the turns."""

    def __init__(self, preamble: str = "") -> None:
        self.preamble = preamble

    def render(self, messages: Many[Message], add_generation_prompt: bool) -> str:
        head = self.preamble if messages[0].role is not Role.SYSTEM else ""
        body = "".join(f"{message.role.value[0].upper()}:{message.content}|" for message in messages)
        return head + body + ("A:" if add_generation_prompt else "")

    def marked(self, content: str) -> str:
        return content


class CharacterTokenizer:
    """One token for each character."""

    bos: int | None = None
    adds_bos = False

    def tokenize(self, text: str, parse_special: bool) -> list[int]:
        return [ord(character) for character in text]

    def count(self, text: str) -> int:
        return len(text)
