"""A broken or newer database: set aside, and what is readable saved into a new one.

A path of a file that Weir cannot use goes in; a new database is in its place afterwards, and a sentence
for the user comes out. Promises that the old file and its log stay byte for byte, under the name
`chats-broken-<date>.db` or `chats-newer-<date>.db`, and that at every moment, also if power fails in
between, either the old file or the complete new one is at the path or about to be moved there by
`finish_replacing`. Copies whatever columns both databases have, mends the links between messages and the
titles of chats; knows nothing else about what is in them.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from app.data import branch_links
from app.data.message_text import title_of
from app.data.readable_rows import (
    Create,
    columns_of_table,
    copy_of,
    last_message_id,
    readable_rows,
)
from app.data.set_aside import log_of, refuse_while_in_use, set_aside

_BROKEN, _NEWER = "broken", "newer"


def finish_replacing(path: Path) -> str | None:
    """Do the last step of a `replace` that was killed right before it; what to tell the user."""
    if path.exists() or not _rebuilt(path).exists():
        return None
    set_aside(path, _BROKEN)  # a log of the old database must not be taken for the new one's
    _rebuilt(path).replace(path)
    return (
        "Your chats file was damaged, or made by a newer Weir: what could be read was saved, and the "
        f"original file is kept in {path.parent}."
    )


def replace(path: Path, create: Create, *, is_newer: bool) -> str:
    """Put a new database with everything readable in the place of the one at `path`; what to tell the user.

    `create` makes an empty database. Raises KnownError when another instance still uses the old one.
    """
    refuse_while_in_use(path)
    rebuilt = _rebuilt(path)
    for leftover in (rebuilt, log_of(rebuilt)):
        leftover.unlink(missing_ok=True)
    with closing(create(rebuilt)) as new:
        _copy_readable(path, new, create)
        n_chats, n_messages = (_count(new, table) for table in ("chats", "messages"))
    aside = set_aside(path, _NEWER if is_newer else _BROKEN)
    rebuilt.replace(path)
    saved = f"{_number_of('chat', n_chats)} with {_number_of('message', n_messages)} " if n_chats else ""
    return _notice_of_newer(path, aside, saved) if is_newer else _notice_of_broken(aside, saved)


def _rebuilt(path: Path) -> Path:
    return path.with_name(f"{path.stem}-rebuilt{path.suffix}")


def _notice_of_broken(aside: Path, saved: str) -> str:
    what = f"{saved}could be saved from it" if saved else "no chat could be read from it"
    return f"Your chats file was damaged: {what}, and the damaged file is kept as {aside}."


def _notice_of_newer(path: Path, aside: Path, saved: str) -> str:
    what = f"{saved}could be copied from it" if saved else "no chat could be read from it"
    return (
        f"Your chats file was made by a newer Weir: {what}, and the original is kept unchanged as {aside}. "
        f"The newer Weir can open it again once it is renamed to {path.name}."
    )


def _number_of(noun: str, n: int) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _copy_readable(path: Path, new: sqlite3.Connection, create: Create) -> None:
    """Copy what can be read with the log and without it; where both have a row, the newer one."""
    with (
        tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as opened,
    ):
        copies = [
            opened.enter_context(
                closing(copy_of(path, Path(folder) / f"{with_log}.db", create, with_log=with_log))
            )
            for with_log in ((True, False) if log_of(path).exists() else (False,))
        ]
        copies.sort(key=last_message_id, reverse=True)
        # Table by table, so that a chat whose row only one copy has is there before its messages.
        for table in ("chats", "messages", "attachments", "drafts"):
            for old in copies:
                _copy_table(old, new, table)
    _mend(new)


def _mend(new: sqlite3.Connection) -> None:
    new.execute("BEGIN IMMEDIATE")
    branch_links.mend_heads(new)
    branch_links.link_messages(new)
    branch_links.mend_parents(new)
    _give_titles(new)
    new.execute("COMMIT")


def _give_titles(new: sqlite3.Connection) -> None:
    """Title each chat with messages but without a title, as its first user message would have done."""
    chats = new.execute(
        "SELECT id, (SELECT min(id) FROM messages WHERE chat_id = chats.id AND role = 'user') FROM chats"
        " WHERE title = '' AND EXISTS (SELECT 1 FROM messages WHERE chat_id = chats.id)"
    ).fetchall()
    for chat_id, message_id in chats:
        [(content,)] = new.execute(
            "SELECT coalesce((SELECT content FROM messages WHERE id = ?), '')", (message_id,)
        )
        names = new.execute("SELECT name FROM attachments WHERE message_id = ? ORDER BY id", (message_id,))
        title = title_of(content, [name for (name,) in names]) or "Recovered chat"
        new.execute("UPDATE chats SET title = ? WHERE id = ?", (title, chat_id))


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    old_columns = columns_of_table(old, table)
    columns = [name for name in columns_of_table(new, table) if name in old_columns]
    if not columns:
        return
    insert = _insert(table, columns)
    new.execute("BEGIN IMMEDIATE")
    for row in readable_rows(old, table, columns):
        values = dict(zip(columns, row, strict=True))
        if table == "messages":
            _make_chat_if_missing(new, values)
        with contextlib.suppress(sqlite3.IntegrityError):
            new.execute(insert, row)
    new.execute("COMMIT")


def _insert(table: str, columns: list[str]) -> str:
    # Messages from before there were branches are linked when all of them are there.
    names, places = [*columns], ["?"] * len(columns)
    if table == "messages" and "parent_id" not in columns:
        names, places = [*names, "parent_id"], [*places, f"{branch_links.UNLINKED}"]
    return f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join(places)})"


def _make_chat_if_missing(new: sqlite3.Connection, message: dict[str, object]) -> None:
    with contextlib.suppress(sqlite3.IntegrityError):
        new.execute(
            "INSERT OR IGNORE INTO chats (id, title, created_at, updated_at) VALUES (?, '', ?, ?)",
            (message.get("chat_id"), message.get("created_at"), message.get("created_at")),
        )


def _count(connection: sqlite3.Connection, table: str) -> int:
    count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return count
