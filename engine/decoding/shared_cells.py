"""Which cells several sequences share, told from their ledgers.

Cells that were handed on (`Ledger.fork`) stand in several ledgers and lie in the cache once. An offset in a
run of one generation is one cell, whoever has it. Pure arithmetic over runs; knows nothing about llama.cpp.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from engine.decoding.ledger import Interval, Ledger

Cells = dict[int, list[Interval]]
"""Offsets of each generation, as disjoint intervals in order."""


def cells_of(ledgers: Iterable[Ledger]) -> Cells:
    """All cells that any of the ledgers has, each once."""
    found: defaultdict[int, list[Interval]] = defaultdict(list)
    for ledger in ledgers:
        for run in ledger.runs:
            found[run.generation].append((run.start, run.end))
    return {generation: _united(intervals) for generation, intervals in found.items()}


def n_cells(ledgers: Iterable[Ledger]) -> int:
    """How many cells the ledgers have together."""
    return sum(end - start for intervals in cells_of(ledgers).values() for start, end in intervals)


def n_shared(ledger: Ledger, others: Iterable[Ledger]) -> int:
    """How many cells of `ledger` any of the `others` has too."""
    cells = cells_of(others)
    return sum(_overlap(run.start, run.end, cells.get(run.generation, ())) for run in ledger.runs)


def common(ledger: Ledger, other: Ledger, intervals: Iterable[Interval]) -> list[Interval]:
    """What of `intervals` lies in cells that both ledgers have."""
    cells = cells_of([other])
    pairs = ((run, interval) for run in ledger.runs for interval in intervals)
    clipped = (
        (max(run.start, start, low), min(run.end, end, high))
        for run, (start, end) in pairs
        for low, high in cells.get(run.generation, ())
    )
    return _united([(low, high) for low, high in clipped if low < high])


def _united(intervals: list[Interval]) -> list[Interval]:
    united: list[Interval] = []
    for start, end in sorted(intervals):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united


def _overlap(start: int, end: int, intervals: Sequence[Interval]) -> int:
    return sum(max(0, min(end, high) - max(start, low)) for low, high in intervals)
