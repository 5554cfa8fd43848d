"""What belongs to chats and messages, saved from broken databases of every version."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.data import migrations
from app.data.chat_options import ChatOptions
from app.data.chat_store import open_chat_store
from app.data.database import open_database
from app.data.stored_message import Attachment, MessageState, TurnNumbers
from engine.protocol import FinishReason

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def break_something(path: Path) -> None:
    """Zero the page of an index: nothing that salvaging reads."""
    with closing(sqlite3.connect(path)) as connection:
        [(page,)] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name IN ('message_tree', 'messages_of_chat')"
        )
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


def test_everything_about_a_chat_is_salvaged(path: Path) -> None:
    store = open_chat_store(path).store
    options = ChatOptions(system_prompt="Be brief.", n_ctx=512)
    chat, deleted = store.create_chat("Kept", options), store.create_chat("Deleted")
    store.set_chat_pinned(chat.id, True)
    store.delete_chat(deleted.id)
    question = store.add_user_message(chat.id, "one", [Attachment("a.py", "print()"), Attachment("b", "")])
    first = store.begin_reply(question, "m")
    numbers = TurnNumbers(3, 1.0, 2.0, 3.0, FinishReason.STOP, "edited", thinking_ms=5.0)
    store.finish_reply(first.id, "first", MessageState.COMPLETE, numbers)
    second = store.begin_reply(question, "m")
    store.finish_reply(second.id, "second", MessageState.INTERRUPTED, None)
    removed = store.add_user_message(chat.id, "removed")
    store.remove_message(removed.id)
    store.show_version(second, 1)
    for chat_id, draft in ((chat.id, "half"), (None, "new")):
        store.save_draft(chat_id, draft)
    written, summaries = store.messages(chat.id), store.list_chats()
    store.close()
    break_something(path)

    opened = open_chat_store(path)
    store = opened.store
    assert "2 chats with 4 messages could be saved" in (opened.notice or "")
    assert store.list_chats() == summaries
    assert store.options(chat.id) == options
    assert (store.draft(chat.id), store.draft(None)) == ("half", "new")
    assert (store.messages(chat.id), store.head(chat.id)) == (written, first.id)
    store.show_version(first, 2)
    assert [message.content for message in store.messages(chat.id)] == ["one", "second"]
    store.restore_message(removed.id, removed.id)
    assert [message.content for message in store.messages(chat.id)] == ["one", "second", "removed"]
    for _ in range(2):
        assert [hit.message_id for hit in store.search("second")] == [second.id]
    store.restore_chat(deleted.id)
    assert {shown.title for shown in store.list_chats()} == {"Kept", "Deleted"}
    store.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_broken_database_of_a_former_version_is_salvaged_with_its_branches(
    path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        with closing(open_database(path).connection) as old:
            old.execute("INSERT INTO chats VALUES ('a', '', 1.0, 2.0)")
            for text in ("one", "two", "TWO", "dos", "DOS"):
                old.execute(
                    "INSERT INTO messages (chat_id, role, state, created_at, content)"
                    " VALUES ('a', 'user', 'complete', 1.0, ?)",
                    (text,),
                )
            if version == 2:
                old.execute("UPDATE messages SET removed_at = 5.0 WHERE lower(content) = 'two'")
    break_something(path)
    opened = open_chat_store(path)
    assert "1 chat with 5 messages could be saved" in (opened.notice or "")
    messages = opened.store.messages("a")
    shown = ["one", "dos", "DOS"] if version == 2 else ["one", "two", "TWO", "dos", "DOS"]
    assert [message.content for message in messages] == shown
    if version == 2:
        opened.store.show_version(messages[1], 1)
        assert [message.content for message in opened.store.messages("a")] == ["one", "two", "TWO"]
    opened.store.close()


def test_links_that_lead_nowhere_are_mended(path: Path) -> None:
    store = open_chat_store(path).store
    chat = store.create_chat()
    for n in range(10):
        store.add_user_message(chat.id, f"{n}")
    messages = store.messages(chat.id)
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE chats SET head_id = 9999")
        connection.execute("UPDATE messages SET parent_id = 8888 WHERE id = ?", (messages[5].id,))
        connection.execute("UPDATE messages SET parent_id = id WHERE id = ?", (messages[7].id,))
        connection.commit()
    break_something(path)
    store = open_chat_store(path).store
    assert store.messages(messages[0].chat_id) == messages
    store.close()


def test_an_attachment_that_makes_no_sense_is_left_behind(path: Path) -> None:
    store = open_chat_store(path).store
    chat = store.create_chat()
    message = store.add_user_message(chat.id, "look", [Attachment("a.py", "print()"), Attachment("b", "c")])
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE attachments SET name = x'00' WHERE name = 'b'")
        connection.commit()
    opened = open_chat_store(path)
    assert opened.notice is not None
    assert opened.store.messages(chat.id) == [
        dataclasses.replace(message, attachments=message.attachments[:1])
    ]
    opened.store.close()
