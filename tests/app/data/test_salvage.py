"""Broken databases: kept aside, salvaged, told once."""

import dataclasses
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from app.data.chat_store import ChatStore, open_chat_store
from app.data.message_text import title_from
from app.data.set_aside import log_of
from app.data.stored_message import Attachment, StoredMessage
from engine.errors import KnownError

PAGE = 4096
N_CHATS = 12
N_MESSAGES = 30  # of each chat


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def write_chats(store: ChatStore, n_chats: int = N_CHATS) -> dict[str, list[StoredMessage]]:
    chats = [store.create_chat(f"Chat {n}") for n in range(n_chats)]
    for n in range(N_MESSAGES):
        for chat in chats:
            store.add_user_message(chat.id, f"{chat.title}, message {n} " + "text " * 60)
    return {chat.id: store.messages(chat.id) for chat in chats}


def new_database(path: Path, n_chats: int = N_CHATS) -> dict[str, list[StoredMessage]]:
    store = open_chat_store(path).store
    written = write_chats(store, n_chats)
    store.close()
    return written


def broken_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob("chats-broken-*"))


def reopened(path: Path) -> tuple[dict[str, list[StoredMessage]], str]:
    """What is left, and the notice; the next start must have none."""
    opened = open_chat_store(path)
    left = {chat.id: opened.store.messages(chat.id) for chat in opened.store.list_chats()}
    opened.store.add_user_message(opened.store.create_chat().id, "goes on")
    opened.store.close()
    assert opened.notice is not None
    again = open_chat_store(path)
    assert again.notice is None
    again.store.close()
    return left, opened.notice


def unlinked(messages: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Without what follows what, which changes where a message between them is lost."""
    return [dataclasses.replace(message, parent_id=None) for message in messages]


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\0" * 50_000, b"Dear diary,\n" * 500, b"xy", b"SQLite format 3\0"]
)
def test_a_file_that_is_no_database_is_kept_aside(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    left, notice = reopened(path)
    assert left == {}
    [aside] = broken_files(path)
    assert aside.read_bytes() == content
    assert notice == (
        "Your chats file was damaged: no chat could be read from it, "
        f"and the damaged file is kept as {aside}."
    )


def test_half_a_database_gives_back_its_half(path: Path) -> None:
    written = new_database(path)
    half = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(half)
    left, notice = reopened(path)
    [aside] = broken_files(path)
    assert aside.read_bytes() == half
    assert sum(map(len, left.values())) > N_CHATS * N_MESSAGES // 3
    whole = {message.id: message.content for messages in written.values() for message in messages}
    saved = [message for messages in left.values() for message in messages]
    assert all(whole[message.id].startswith(message.content) for message in saved)
    # One message may lie across the cut.
    assert sum(1 for message in saved if whole[message.id] != message.content) <= 1
    assert f"{len(left)} chats with {sum(map(len, left.values()))} messages could be saved" in notice


def test_every_page_but_the_first_may_be_zeroed(path: Path, tmp_path: Path) -> None:
    written = new_database(path)
    n_written = N_CHATS * N_MESSAGES
    whole = path.read_bytes()
    for page in range(1, len(whole) // PAGE, 5):
        case = tmp_path / f"page-{page}"
        case.mkdir()
        broken = whole[: page * PAGE] + bytes(PAGE) + whole[(page + 1) * PAGE :]
        (case / "chats.db").write_bytes(broken)
        left, _ = reopened(case / "chats.db")
        [aside] = broken_files(case / "chats.db")
        assert aside.read_bytes() == broken
        saved = [message for messages in left.values() for message in messages]
        whole_chats = {chat_id: unlinked(messages) for chat_id, messages in written.items()}
        assert all(message in whole_chats[message.chat_id] for message in unlinked(saved))
        # A page holds about ten of these messages.
        assert len(saved) > n_written - 20, page


def test_half_a_database_gives_back_its_half_though_the_list_of_tables_is_in_the_other(path: Path) -> None:
    store = open_chat_store(path).store
    write_chats(store)
    assert store.search("Chat")  # makes the tables of search, which come last in the file
    store.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    left, _ = reopened(path)
    assert sum(map(len, left.values())) > N_CHATS * N_MESSAGES // 5


def test_half_a_large_database_is_rescued_quickly(path: Path) -> None:
    new_database(path, n_chats=100)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    start_s = time.perf_counter()
    opened = open_chat_store(path)
    took_s = time.perf_counter() - start_s
    opened.store.close()
    assert took_s < 2


def test_page_three_zeroed_keeps_the_chats(path: Path) -> None:
    written = new_database(path)
    overwrite(path, 2 * PAGE, bytes(PAGE))
    left, _ = reopened(path)
    assert left == written


def test_messages_whose_chat_is_lost_get_a_new_one(path: Path) -> None:
    written = new_database(path, n_chats=2)
    overwrite(path, 1 * PAGE, bytes(PAGE))  # the table of chats
    store = open_chat_store(path).store
    titles = {chat.id: chat.title for chat in store.list_chats()}
    assert titles == {chat_id: title_from(messages[0].content) for chat_id, messages in written.items()}
    assert all(title.startswith(f"Chat {n}, message 0 ") for n, title in enumerate(sorted(titles.values())))
    assert {chat_id: store.messages(chat_id) for chat_id in written} == written
    store.close()


def test_a_recovered_chat_without_words_has_the_name_of_its_first_file_or_says_what_it_is(path: Path) -> None:
    store = open_chat_store(path).store
    with_file, without = store.create_chat("a"), store.create_chat("b")
    store.add_user_message(with_file.id, "", [Attachment("a.py", ""), Attachment("b.py", "")])
    store.add_user_message(without.id, "")
    store.close()
    overwrite(path, 1 * PAGE, bytes(PAGE))  # the table of chats
    store = open_chat_store(path).store
    assert {chat.id: chat.title for chat in store.list_chats()} == {
        with_file.id: "a.py",
        without.id: "Recovered chat",
    }
    store.close()


def test_values_that_make_no_sense_are_left_behind(path: Path) -> None:
    written = new_database(path, n_chats=1)
    content = path.read_bytes()
    at = content.rindex(b"usercomplete")
    overwrite(path, at, b"us\xffr")
    left, notice = reopened(path)
    [messages] = written.values()
    [saved] = left.values()
    assert len(saved) == len(messages) - 1
    assert all(message in unlinked(messages) for message in unlinked(saved))
    assert "1 chat with 29 messages" in notice


def test_chats_that_are_only_in_the_log_are_salvaged(path: Path) -> None:
    store = open_chat_store(path).store
    written = write_chats(store, n_chats=2)
    log = log_of(path).read_bytes()
    store.close()
    path.write_bytes(b"")
    log_of(path).write_bytes(log)
    left, _ = reopened(path)
    assert left == written
    aside_database, aside_log = broken_files(path)
    assert aside_database.read_bytes() == b""
    assert aside_log.read_bytes() == log


@pytest.mark.parametrize("log", [b"\0" * 40_000, b"not a log" * 500])
def test_a_log_full_of_nonsense_takes_nothing_away(path: Path, log: bytes) -> None:
    written = new_database(path, n_chats=2)
    log_of(path).write_bytes(log)
    opened = open_chat_store(path)
    assert opened.notice is None
    assert {chat.id: opened.store.messages(chat.id) for chat in opened.store.list_chats()} == written
    opened.store.close()


def test_a_log_from_before_takes_nothing_away(path: Path) -> None:
    store = open_chat_store(path).store
    write_chats(store, n_chats=1)
    old_log = log_of(path).read_bytes()
    write_chats(store, n_chats=3)
    written = {chat.id: store.messages(chat.id) for chat in store.list_chats()}
    store.close()
    log_of(path).write_bytes(old_log)
    database = path.read_bytes()
    left, _ = reopened(path)
    assert left == written
    aside_database, _, aside_log = broken_files(path)  # between them, SQLite's index of the log
    assert aside_database.read_bytes() == database
    assert aside_log.read_bytes() == old_log


def test_the_log_of_another_database_takes_nothing_away(path: Path, tmp_path: Path) -> None:
    written = new_database(path)
    other = open_chat_store(tmp_path / "other.db").store
    write_chats(other, n_chats=1)
    shutil.copyfile(tmp_path / "other.db-wal", log_of(path))
    other.close()
    left, _ = reopened(path)
    assert {chat_id: left[chat_id] for chat_id in written} == written


def test_another_programs_database_is_kept_aside(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    content = path.read_bytes()
    left, _ = reopened(path)
    assert left == {}
    assert broken_files(path)[0].read_bytes() == content


def test_a_database_without_its_messages_is_kept_aside(path: Path) -> None:
    written = new_database(path, n_chats=2)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE messages")
    left, notice = reopened(path)
    assert left == {chat_id: [] for chat_id in written}
    assert "2 chats with 0 messages" in notice


def test_a_kill_between_the_two_renames_is_finished(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_chat_store(path).store
    write_chats(store, n_chats=1)
    old_log = log_of(path).read_bytes()
    write_chats(store)
    written = {chat.id: store.messages(chat.id) for chat in store.list_chats()}
    store.close()
    log_of(path).write_bytes(old_log)

    def die(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            open_chat_store(path)
    assert not path.exists()
    log_of(path).write_bytes(old_log)  # as if the kill came before this one was moved away
    left, notice = reopened(path)
    assert left == written
    assert notice == (
        "Your chats file was damaged, or made by a newer Weir: what could be read was saved, "
        f"and the original file is kept in {tmp_path}."
    )


HOLD_OPEN = "import sys; file = open(sys.argv[1]); print(flush=True); sys.stdin.read()"


def test_a_broken_database_that_is_in_use_stays_in_place(path: Path) -> None:
    path.write_bytes(b"broken")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLD_OPEN,
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(KnownError, match="another Weir still uses them"):
        open_chat_store(path)
    assert path.read_bytes() == b"broken"
    holder.communicate()
