"""A thousand random faults in a file of saved KV, and ledgers of all kinds that come back as they were."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.kv_store import KVStore
from engine.decoding.ledger import Ledger, Run, Span
from engine.decoding.saved_sequence import (
    RefusedState,
    SavedSequence,
    read_sequence,
    write_head,
    write_ids,
)
from engine.decoding.sequence import Pins
from engine.protocol import Message, Role
from tests.engine.decoding.saved_kv_stage import KEY, saved_chat

N_FAULTS = 1000


def test_none_of_a_thousand_random_faults_gets_through(tmp_path: Path) -> None:
    """Flips of one to eight bits anywhere, half of them in the file's first kilobyte."""
    store = KVStore(tmp_path, 10_000_000)
    store.save(KEY, saved_chat(state=random.Random(1).randbytes(20_000)))
    path = store.files()[0].path
    whole = path.read_bytes()
    chance = random.Random(20260)
    for fault in range(N_FAULTS):
        damaged = bytearray(whole)
        reach = 1000 if fault % 2 else len(whole)
        for place in chance.sample(range(reach * 8), chance.randint(1, 8)):
            damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert store.load(KEY, "chat-1") is None, f"fault {fault}"
        assert not path.exists(), f"fault {fault}"


def test_none_of_a_thousand_random_texts_is_taken_for_a_head() -> None:
    """As a hostile file with a right digest would hold them."""
    chance = random.Random(20261)
    head = write_head(saved_chat())
    for _ in range(N_FAULTS):
        damaged = bytearray(head)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_sequence(bytes(damaged), write_ids(saved_chat()), b"")
        except RefusedState:
            continue


@pytest.mark.parametrize(
    "change",
    [
        {"spans": [[0, 0], [50, 1]]},
        {"spans": [[4, 0], [2, 1]]},
        {"spans": [[-1, 0]]},
        {"runs": [[0, 50, 0]]},
        {"runs": [[0, 20, 0], [10, 30, 20]]},
        {"runs": [[0, 20, 0], [20, 30, 10]]},
        {"runs": [[-5, 20, 0]]},
        {"runs": [[0, 20, -1]]},
        {"runs": [[30, 20, 0]]},
        {"runs": [["0", 20, 0]]},
        {"runs": [[0, 20]]},
        {"seen": [[0, "robot", "hello", False]]},
        {"seen": None},
        {"half_character": "zz"},
    ],
)
def test_a_ledger_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    head = json.dumps(json.loads(write_head(saved_chat())) | change).encode()
    with pytest.raises(RefusedState):
        read_sequence(head, write_ids(saved_chat()), b"")


@pytest.mark.parametrize("head", [b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_head_is_refused(head: bytes) -> None:
    with pytest.raises(RefusedState):
        read_sequence(head, b"", b"")


@pytest.mark.parametrize("ids", [b"abc", b"\xff\xff\xff\xff" * 40])
def test_what_are_no_token_ids_is_refused(ids: bytes) -> None:
    with pytest.raises(RefusedState):
        read_sequence(write_head(saved_chat()), ids, b"")


@st.composite
def sequences(draw: st.DrawFn) -> SavedSequence:
    """What chats leave that grow, lose turns, close gaps and are cut."""
    ledger = Ledger()
    for message in range(draw(st.integers(1, 6))):
        ledger.open_span(message - 1, is_sink=draw(st.booleans()), starts_turn=draw(st.booleans()))
        start, ids = len(ledger), draw(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=12))
        ledger.append(ids)
        ledger.mark_decoded(start, len(ledger))
        first = draw(st.integers(0, len(ledger)))
        ledger.evict(first, draw(st.integers(first, len(ledger))))
        if draw(st.booleans()):
            ledger.compact()
    ledger.truncate(draw(st.integers(0, len(ledger))))
    messages = st.builds(Message, st.sampled_from(Role), st.text(st.characters()), st.booleans())
    return SavedSequence(
        chat_id=draw(st.text(max_size=8)),
        ids=tuple(ledger.ids),
        spans=tuple(ledger.spans),
        runs=tuple(ledger.runs),
        state=draw(st.binary(max_size=64)),
        seen=draw(st.dictionaries(st.integers(-1, 9), messages, max_size=4)),
        pins=Pins(draw(st.frozensets(st.integers(0, 9))), draw(st.frozensets(st.integers(0, 9)))),
        half_character=draw(st.binary(max_size=3)),
    )


@given(sequences())
def test_every_ledger_comes_back_as_it_was(sequence: SavedSequence) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = KVStore(Path(folder), 1_000_000)
        assert store.save(KEY, sequence)
        loaded = store.load(KEY, sequence.chat_id)
    assert loaded == sequence
    assert loaded is not None and list(loaded.seen) == list(sequence.seen)
    assert [m.pinned for m in loaded.seen.values()] == [m.pinned for m in sequence.seen.values()]
    assert all(type(span) is Span for span in loaded.spans)
    assert all(type(run) is Run for run in loaded.runs)
