"""Several replies to one message, and the numbers of replies, as they are stored."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.data import migrations
from app.data.chat_export import export_json
from app.data.chat_import import import_chats
from app.data.chat_store import ChatStore, open_chat_store
from app.data.database import open_database
from app.data.stored_message import MessageState, StoredMessage, TurnNumbers
from engine.errors import KnownError
from engine.protocol import FinishReason

NUMBERS = TurnNumbers(
    *(118, 41.2, 210.0, 380.0, FinishReason.STOP, None, None),
    *(3200, 1000, 60, 41),
    draft_gain=1.3,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(path).store
    yield store
    store.close()


def _asked(store: ChatStore) -> StoredMessage:
    return store.add_user_message(store.create_chat().id, "Why?")


def test_variants_are_versions_of_each_other_and_the_first_one_is_shown(store: ChatStore) -> None:
    question = _asked(store)
    replies = store.begin_replies(question, "m", 4)
    assert [(reply.version, reply.n_versions) for reply in replies] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {reply.parent_id for reply in replies} == {question.id}
    assert store.head(question.chat_id) == replies[0].id
    assert store.messages(question.chat_id) == [question, replies[0]]
    assert store.some_messages(question.chat_id, [reply.id for reply in replies]) == replies


def test_variants_come_after_the_versions_that_were_there(store: ChatStore) -> None:
    question = _asked(store)
    former = store.begin_reply(question, "m")
    first, second = store.begin_replies(question, "m", 2)
    assert (first.version, second.version, second.n_versions) == (2, 3, 3)
    assert store.head(question.chat_id) == first.id
    assert store.some_messages(question.chat_id, [former.id])[0].n_versions == 3


def test_all_variants_are_begun_or_none(store: ChatStore) -> None:
    question = _asked(store)
    store.delete_chat(question.chat_id)
    with pytest.raises(KnownError):
        store.begin_replies(question, "m", 3)
    [count] = store._connection.execute("SELECT count(*) FROM messages WHERE role = 'assistant'").fetchone()
    assert count == 0


def test_messages_that_were_removed_or_never_were_are_not_given_out(store: ChatStore) -> None:
    question = _asked(store)
    first, second = store.begin_replies(question, "m", 2)
    store.remove_message(second.id)
    assert [m.id for m in store.some_messages(question.chat_id, [first.id, second.id, 999])] == [first.id]


def test_every_variant_of_a_killed_process_keeps_its_text(path: Path) -> None:
    store = open_chat_store(path).store
    question = _asked(store)
    replies = store.begin_replies(question, "m", 3)
    for number, reply in enumerate(replies):
        store.save_partial(reply.id, f"half {number}")
    with closing(sqlite3.connect(path)) as other:  # as if the process that writes them were gone
        other.execute("UPDATE messages SET owner_pid = 1, owner_started = 1.0 WHERE state = 'streaming'")
        other.commit()
    store.close()
    with closing(open_chat_store(path).store) as again:
        kept = again.some_messages(question.chat_id, [reply.id for reply in replies])
    assert [(m.content, m.state) for m in kept] == [
        (f"half {number}", MessageState.INTERRUPTED) for number in range(3)
    ]


def test_what_was_not_read_and_what_was_drafted_is_stored(store: ChatStore) -> None:
    reply = store.begin_reply(_asked(store), "m")
    store.finish_reply(reply.id, "Because.", MessageState.COMPLETE, NUMBERS)
    assert store.messages(reply.chat_id)[1].numbers == NUMBERS


def test_numbers_survive_export_and_import(store: ChatStore) -> None:
    reply = store.begin_reply(_asked(store), "m")
    store.finish_reply(reply.id, "Because.", MessageState.COMPLETE, NUMBERS)
    imported = import_chats(store, export_json(store, [reply.chat_id]))
    assert imported
    chats = [chat.id for chat in store.list_chats() if chat.id != reply.chat_id]
    assert [store.messages(chat)[1].numbers for chat in chats] == [NUMBERS]


def test_replies_of_version_three_have_nothing_drafted(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:3])
        with closing(open_database(path).connection) as old:
            old.execute(
                "INSERT INTO chats (id, title, created_at, updated_at, head_id) VALUES ('a', '', 1.0, 1.0, 1)"
            )
            old.execute(
                "INSERT INTO messages (id, chat_id, role, state, created_at, tokens_generated, content)"
                " VALUES (1, 'a', 'assistant', 'complete', 1.0, 7, 'text')"
            )
    with closing(open_chat_store(path).store) as store:
        [message] = store.messages("a")
    assert message.numbers == TurnNumbers(7, None, None, None)


def test_a_reply_that_went_on_counts_both_parts() -> None:
    later = dataclasses.replace(NUMBERS, tokens_restored=0, tokens_shared=0, draft_gain=1.1)
    both = NUMBERS.followed_by(later)
    assert (both.tokens_drafted, both.tokens_accepted) == (120, 82)
    assert (both.tokens_restored, both.tokens_shared) == (3200, 1000)
    assert both.draft_gain == pytest.approx(1.2)
    without = TurnNumbers(10, 10.0, 1.0, 1.0)
    assert without.followed_by(without).draft_gain is None
    assert without.followed_by(TurnNumbers(10, 10.0, 1.0, 1.0, draft_gain=1.5)).draft_gain == pytest.approx(
        1.25
    )
