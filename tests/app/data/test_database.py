"""Opening, migrating and writing the database."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.data import database, migrations
from app.data.chat_store import open_chat_store
from app.data.database import explained, open_database, transaction
from engine.errors import KnownError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def test_a_new_database_has_the_newest_version_and_safe_settings(path: Path) -> None:
    opened = open_database(path)
    with closing(opened.connection) as connection:
        pragmas = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("user_version", "journal_mode", "foreign_keys", "application_id", "busy_timeout")
        }
    assert opened.notice is None
    assert pragmas == {
        "user_version": len(migrations.MIGRATIONS),
        "journal_mode": "wal",
        "foreign_keys": 1,
        "application_id": migrations.APPLICATION_ID,
        "busy_timeout": 10_000,
    }


def test_a_kill_while_the_database_is_made_leaves_nothing_to_rescue(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(connection: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", [die])
        with pytest.raises(KeyboardInterrupt):
            open_database(path)
    assert not path.exists()
    opened = open_database(path)
    opened.connection.close()
    assert opened.notice is None
    assert sorted(path.parent.iterdir()) == [path, path.with_name("chats.db-opening.lock")]


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_only_durable_transactions_wait_for_the_disk(path: Path, durable: bool, level: int) -> None:
    with closing(open_database(path).connection) as connection, transaction(connection, durable=durable):
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == level


def test_a_failing_migration_leaves_the_old_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_database(path).connection.close()

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE messages")
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", [*migrations.MIGRATIONS, fail])
        with pytest.raises(ZeroDivisionError):
            open_database(path)
    store = open_chat_store(path).store
    assert store.messages("none") == []
    store.close()


def test_a_transaction_that_fails_changes_nothing(path: Path) -> None:
    with closing(open_database(path).connection) as connection:
        with pytest.raises(ZeroDivisionError), transaction(connection):
            connection.execute("INSERT INTO drafts VALUES ('', 'text')")
            raise ZeroDivisionError
        assert connection.execute("SELECT count(*) FROM drafts").fetchone() == (0,)


def test_a_full_disk_is_explained_and_loses_nothing(path: Path) -> None:
    store = open_chat_store(path).store
    chat = store.create_chat()
    message = store.add_user_message(chat.id, "kept")
    n_pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(KnownError, match="is full"):
        store.add_user_message(chat.id, "x" * 100_000)
    assert store.messages(chat.id) == [message]
    store.close()


def test_a_program_that_never_lets_go_is_explained(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.1)
    store = open_chat_store(path).store
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(KnownError, match="Another program is using"):
            store.create_chat()
    store.close()


def test_wrong_sql_is_not_blamed_on_the_disk(path: Path) -> None:
    connection = open_database(path).connection
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError), explained(path):
        connection.execute("SELECT 1")


def test_a_folder_in_the_databases_place_is_explained(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KnownError, match="could not be"):
        open_database(path)


OPEN_AND_WRITE = """
import sys
from pathlib import Path
from app.data.chat_store import open_chat_store
opened = open_chat_store(Path(sys.argv[1]))
print(opened.notice or "")
chat = opened.store.create_chat(sys.argv[2])
for n in range(100):
    opened.store.add_user_message(chat.id, f"{n}")
opened.store.close()
"""


@pytest.mark.parametrize(("content", "n_asides"), [(None, 0), (b"", 1), (b"broken" * 1000, 1)])
def test_instances_that_start_and_write_at_once_lose_nothing(
    path: Path, content: bytes | None, n_asides: int
) -> None:
    if content is not None:
        path.write_bytes(content)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_WRITE, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("a", "b", "c")
    ]
    notices = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    store = open_chat_store(path).store
    chats = store.list_chats()
    assert sorted(chat.title for chat in chats) == ["a", "b", "c"]
    for chat in chats:
        assert [message.content for message in store.messages(chat.id)] == [f"{n}" for n in range(100)]
    store.close()
    n_broken = len(list(path.parent.glob("chats-broken-*")))
    assert n_broken == sum(1 for notice in notices if notice) == n_asides
