"""A sequence as it is kept on disk: its ledger as plain data, and the bytes of its cells.

A `SavedSequence` becomes a head of JSON with the token ids behind it, and comes back. A ledger that
contradicts itself is refused. Knows nothing about files, nor what the cells' bytes mean.
"""

from __future__ import annotations

import dataclasses
import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from engine.decoding.ledger import Run, Span
from engine.decoding.sequence import Pins
from engine.protocol import Message, Role


class RefusedState(Exception):
    """What was read is no saved sequence, or not the one that is wanted."""


@dataclass(frozen=True, slots=True)
class SavedSequence:
    """One chat's ledger (see `Ledger` for `ids`, `spans`, `runs`) with its `state` from `Context.save`.

    `seen`, `pins` and `half_character` are those of `Sequence`. A variant of a reply has its own `chat_id`.
    """

    chat_id: str
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    runs: tuple[Run, ...]
    state: bytes = field(repr=False)
    seen: Mapping[int, Message] = field(default_factory=dict)
    pins: Pins = field(default_factory=Pins)
    half_character: bytes = b""


def write_head(sequence: SavedSequence) -> bytes:
    """All of `sequence` but its token ids and its state, as JSON."""
    head = {
        "chat_id": sequence.chat_id,
        "spans": [dataclasses.astuple(span) for span in sequence.spans],
        "runs": [dataclasses.astuple(run) for run in sequence.runs],
        "seen": [[i, m.role.value, m.content, m.pinned] for i, m in sequence.seen.items()],
        "accepted": sorted(sequence.pins.accepted),
        "refused": sorted(sequence.pins.refused),
        "half_character": sequence.half_character.hex(),
    }
    return json.dumps(head).encode("ascii")  # escaped: a text may hold half a surrogate pair


def write_ids(sequence: SavedSequence) -> bytes:
    """The token ids, 4 bytes each."""
    return array("i", sequence.ids).tobytes()


def read_sequence(head: bytes, ids: bytes, state: bytes) -> SavedSequence:
    """What `write_head` and `write_ids` made. Raises RefusedState for anything else."""
    try:
        tokens = array("i", ids)
        sequence = _from_json(json.loads(head), tuple(tokens), state)
        is_whole = _is_whole(sequence)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RefusedState("the head is damaged") from error
    if not is_whole:
        raise RefusedState("the ledger contradicts itself")
    return sequence


def _from_json(head: dict[str, Any], ids: tuple[int, ...], state: bytes) -> SavedSequence:
    return SavedSequence(
        chat_id=head["chat_id"],
        ids=ids,
        spans=tuple(Span(*span) for span in head["spans"]),
        runs=tuple(Run(*run) for run in head["runs"]),
        state=state,
        seen={index: Message(Role(role), text, pinned) for index, role, text, pinned in head["seen"]},
        pins=Pins(frozenset(head["accepted"]), frozenset(head["refused"])),
        half_character=bytes.fromhex(head["half_character"]),
    )


def _is_whole(sequence: SavedSequence) -> bool:
    """Whether spans and runs are in order and lie within the tokens, which llama.cpp may be given."""
    starts = [span.start for span in sequence.spans]
    offsets = [0, *(bound for run in sequence.runs for bound in (run.start, run.end)), len(sequence.ids)]
    positions = [0, *(bound for run in sequence.runs for bound in run.positions)]
    in_order = all(low <= high for row in (starts, offsets, positions) for low, high in pairwise(row))
    is_inside = all(0 <= start <= len(sequence.ids) for start in starts)
    return in_order and is_inside and min(sequence.ids, default=0) >= 0
