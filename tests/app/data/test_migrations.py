"""Databases of former versions: opened with everything that was in them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.data import migrations
from app.data.chat_store import ChatStore, open_chat_store
from app.data.database import open_database
from app.data.stored_message import ChatSummary, MessageState, StoredMessage, TurnNumbers
from engine.protocol import FinishReason, Role


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def old_database(path: Path, version: int) -> sqlite3.Connection:
    """An empty database as the Weir of that version made it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        connection = open_database(path).connection
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    return connection


def write_old(
    connection: sqlite3.Connection, chat_id: str, *messages: str, removed_at: float | None = None
) -> None:
    """Append messages to a chat of version 2; each is its own role's turn."""
    for content in messages:
        connection.execute(
            "INSERT INTO messages (chat_id, role, state, created_at, content, removed_at)"
            " VALUES (?, ?, 'complete', 1.0, ?, ?)",
            (chat_id, "assistant" if content.isupper() else "user", content, removed_at),
        )


def shown(store: ChatStore, chat_id: str = "a") -> str:
    return " ".join(message.content for message in store.messages(chat_id))


def version_of(store: ChatStore, content: str, chat_id: str = "a") -> StoredMessage:
    return next(message for message in store.messages(chat_id) if message.content == content)


def test_version_one_is_migrated_with_its_chats(path: Path) -> None:
    with closing(old_database(path, 1)) as old:
        old.execute("INSERT INTO chats VALUES ('a', 'Old', 1.0, 2.0)")
        old.execute("INSERT INTO chats VALUES ('b', 'Empty', 1.0, 1.5)")
        insert = "INSERT INTO messages (chat_id, role, state, created_at, model, tokens_generated, content)"
        old.execute(f"{insert} VALUES ('a', 'user', 'complete', 1.0, NULL, NULL, 'kept')")
        old.execute(f"{insert} VALUES ('a', 'assistant', 'complete', 2.0, 'm', 7, 'too')")
    opened = open_chat_store(path)
    store = opened.store
    assert opened.notice is None
    assert store.list_chats() == [ChatSummary("a", "Old", 1.0, 2.0), ChatSummary("b", "Empty", 1.0, 1.5)]
    assert store.messages("a") == [
        StoredMessage(1, "a", Role.USER, "kept", MessageState.COMPLETE, 1.0),
        StoredMessage(
            *(2, "a", Role.ASSISTANT, "too", MessageState.COMPLETE, 2.0, "m"),
            numbers=TurnNumbers(7, None, None, None),
            parent_id=1,
        ),
    ]
    assert (store.messages("b"), store.head("b")) == ([], None)
    assert [hit.message_id for _ in range(3) for hit in store.search("kept")] == [1, 1, 1]
    store.set_pinned(1, True)
    more = store.add_user_message("a", "more")
    assert (more.parent_id, store.messages("a")[0].pinned) == (2, True)
    store.close()


def test_version_two_is_migrated_with_pins_and_how_replies_ended(path: Path) -> None:
    with closing(old_database(path, 2)) as old:
        old.execute("INSERT INTO chats VALUES ('a', 'Old', 1.0, 2.0)")
        old.execute(
            "INSERT INTO messages (chat_id, role, state, created_at, tokens_generated, content, pinned,"
            " finish_reason, reevaluated_because)"
            " VALUES ('a', 'assistant', 'complete', 1.0, 3, 'x', 1, 'length', 'edited')"
        )
    store = open_chat_store(path).store
    [message] = store.messages("a")
    assert message.pinned
    assert message.numbers == TurnNumbers(3, None, None, None, FinishReason.LENGTH, "edited")
    store.close()


def test_what_version_two_had_replaced_becomes_a_branch_beside_what_came_instead(path: Path) -> None:
    with closing(old_database(path, 2)) as old:
        for chat_id in ("a", "b"):
            old.execute("INSERT INTO chats VALUES (?, '', 1.0, 2.0)", (chat_id,))
        write_old(old, "a", "one", "ONE")
        write_old(old, "b", "elsewhere")
        write_old(old, "a", "two", "TWO", "three", removed_at=5.0)
        write_old(old, "a", "dos")
        write_old(old, "a", "DOS", removed_at=6.0)
        write_old(old, "a", "again".upper(), "four")
    store = open_chat_store(path).store
    assert shown(store) == "one ONE dos AGAIN four"
    assert shown(store, "b") == "elsewhere"
    assert [(m.version, m.n_versions) for m in store.messages("a")] == [
        *((1, 1), (1, 1), (2, 2), (2, 2), (1, 1))
    ]
    store.show_version(version_of(store, "AGAIN"), 1)
    assert shown(store) == "one ONE dos DOS"
    store.show_version(version_of(store, "dos"), 1)
    assert shown(store) == "one ONE two TWO three"
    assert store._connection.execute("SELECT count(removed_at) FROM messages").fetchone() == (0,)
    store.close()


def test_a_first_message_that_version_two_had_replaced_is_a_version(path: Path) -> None:
    with closing(old_database(path, 2)) as old:
        old.execute("INSERT INTO chats VALUES ('a', '', 1.0, 2.0)")
        write_old(old, "a", "one", "ONE", removed_at=5.0)
        write_old(old, "a", "uno")
    store = open_chat_store(path).store
    assert shown(store) == "uno"
    store.show_version(version_of(store, "uno"), 1)
    assert shown(store) == "one ONE"
    store.close()


def test_a_chat_that_hid_everything_shows_its_newest_branch(path: Path) -> None:
    with closing(old_database(path, 2)) as old:
        old.execute("INSERT INTO chats VALUES ('a', '', 1.0, 2.0)")
        write_old(old, "a", "one", "ONE", removed_at=5.0)
    store = open_chat_store(path).store
    assert shown(store) == "one ONE"
    store.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_long_old_chat_is_migrated_quickly_and_in_order(path: Path, version: int) -> None:
    with closing(old_database(path, version)) as old:
        old.execute("INSERT INTO chats VALUES ('a', '', 1.0, 2.0)")
        old.execute("BEGIN")
        old.executemany(
            "INSERT INTO messages (chat_id, role, state, created_at, content)"
            " VALUES ('a', 'user', 'complete', 1.0, ?)",
            [(f"{n} " * 100,) for n in range(5_000)],
        )
        old.execute("COMMIT")
    store = open_chat_store(path).store
    messages = store.messages("a")
    store.close()
    assert [message.content for message in messages] == [f"{n} " * 100 for n in range(5_000)]
    assert [message.parent_id for message in messages] == [None, *range(1, 5_000)]
