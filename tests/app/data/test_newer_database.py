"""Databases of a newer Weir: kept for it byte for byte, what is readable copied, told once."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.data.chat_store import open_chat_store
from app.data.set_aside import log_of
from app.data.stored_message import StoredMessage
from engine.errors import KnownError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def write_newer(path: Path) -> list[StoredMessage]:
    """A database with tables, columns and rows that this Weir does not know."""
    store = open_chat_store(path).store
    chat = store.create_chat("Kept")
    for n in range(3):
        store.add_user_message(chat.id, f"message {n}")
    messages = store.messages(chat.id)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("ALTER TABLE messages ADD COLUMN mood TEXT")
        newer.execute("CREATE TABLE moods (name TEXT)")
        newer.execute("PRAGMA user_version = 999")
    return messages


def test_a_newer_database_is_kept_and_copied_and_told_once(path: Path) -> None:
    messages = write_newer(path)
    content = path.read_bytes()
    opened = open_chat_store(path)
    [aside] = path.parent.glob("chats-newer-*")
    assert aside.read_bytes() == content
    assert opened.notice == (
        "Your chats file was made by a newer Weir: 1 chat with 3 messages could be copied from it, and the "
        f"original is kept unchanged as {aside}. The newer Weir can open it again once it is renamed to "
        "chats.db."
    )
    assert [chat.title for chat in opened.store.list_chats()] == ["Kept"]
    assert opened.store.messages(messages[0].chat_id) == messages
    opened.store.close()
    again = open_chat_store(path)
    assert again.notice is None
    again.store.close()


def test_what_is_only_in_the_log_of_a_newer_database_is_kept_with_it(path: Path) -> None:
    messages = write_newer(path)
    newer = sqlite3.connect(path, isolation_level=None)
    newer.execute("UPDATE messages SET content = 'changed' WHERE id = ?", (messages[0].id,))
    before = [file.read_bytes() for file in (path, log_of(path))]
    opened = open_chat_store(path)
    assert opened.store.messages(messages[0].chat_id)[0].content == "changed"
    opened.store.close()
    newer.close()
    [aside] = path.parent.glob("chats-newer-*.db")
    assert [file.read_bytes() for file in (aside, log_of(aside))] == before


def test_a_damaged_newer_database_is_called_damaged(path: Path) -> None:
    write_newer(path)
    path.write_bytes(path.read_bytes()[:-4096])
    opened = open_chat_store(path)
    opened.store.close()
    assert "was damaged" in (opened.notice or "")
    assert len(list(path.parent.glob("chats-broken-*"))) == 1


def test_a_newer_database_of_another_program_is_no_newer_weir(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.execute("PRAGMA user_version = 999")
    opened = open_chat_store(path)
    opened.store.close()
    assert len(list(path.parent.glob("chats-broken-*"))) == 1


def test_a_newer_database_that_the_newer_weir_has_open_stays_in_place(path: Path) -> None:
    write_newer(path)
    content = path.read_bytes()
    hold = "import sys; file = open(sys.argv[1]); print(flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(KnownError, match="another Weir still uses them"):
        open_chat_store(path)
    assert path.read_bytes() == content
    holder.communicate()
