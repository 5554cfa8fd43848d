"""Words -> the places in titles and messages where all of them are.

What a person typed goes in, with the chats to look in; `Found`s come out, best first: titles, then
messages, the newest first. Words match as parts of words, in every script, in capitals or not.
Promises that no text raises an error, and that a broken index neither hides a message nor stops one from
being stored: the index (SQLite FTS5 over trigrams) only says where to look, each place is read, and
triggers do no more than note in `search_queue` what changed. What is noted there and not yet indexed is
read as well, so is everything if the index is broken; it is then built anew, a part with each search.
Knows nothing about branches.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Iterable, Sequence

from app.data.database import transaction
from app.data.inspection import DAMAGE_CODES, primary_code
from app.data.message_text import clean_text
from app.data.search_excerpt import Excerpts
from app.data.stored_message import ChatSummary, Found

_INDEXING_TIME_S = 0.05  # in one search: a message being stored may wait so long; the rest is read until then
_MOST_TRIGRAMS = 32  # more of them hardly narrow the choice
_BATCH = 50  # messages read at once from the queue


def search(
    connection: sqlite3.Connection, chats: Sequence[ChatSummary], text: str, limit: int
) -> list[Found]:
    """At most `limit` places in `chats` where every word of `text` is."""
    words = list(dict.fromkeys(clean_text(text).split()))
    if not words:
        return []
    excerpts = Excerpts(words)
    found = [_found(excerpts, chat, None, chat.title) for chat in chats if excerpts.match(chat.title)]
    chat_of = {chat.id: chat for chat in chats}
    for message_id, chat_id, content in _to_read(connection, words):
        if len(found) >= limit:
            break
        if chat_id in chat_of and excerpts.match(content):
            found.append(_found(excerpts, chat_of[chat_id], message_id, content))
    return found[: max(limit, 0)]


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Index what has changed, as far as 0.05 s go; mends the index if it is broken."""
    try:
        if _queue(connection):
            with transaction(connection, durable=False):
                _index_queue(connection)
    except sqlite3.DatabaseError as error:
        _rebuild_if_broken(connection, error)


def _found(excerpts: Excerpts, chat: ChatSummary, message_id: int | None, text: str) -> Found:
    return Found(chat, message_id, *excerpts.around_match(text))


# --- where to look ----------------------------------------------------------------------------------


def _to_read(connection: sqlite3.Connection, words: Sequence[str]) -> Iterable[tuple[int, str, str]]:
    """Id, chat and text of every message that may match, newest first."""
    bring_up_to_date(connection)
    if trigrams := _trigrams(words):
        try:
            return connection.execute(
                _READ.format(
                    "AND id IN (SELECT rowid FROM message_search WHERE message_search MATCH ?"
                    " UNION SELECT message_id FROM search_queue)"
                ),
                (" ".join(trigrams),),
            )
        except sqlite3.DatabaseError as error:
            _rebuild_if_broken(connection, error)
    return connection.execute(_READ.format(""))


_READ = (
    "SELECT id, chat_id, content FROM messages WHERE removed_at IS NULL AND state <> 'streaming' {}"
    " ORDER BY id DESC"
)


def _trigrams(words: Iterable[str]) -> list[str]:
    """Quoted as FTS5 wants it; none if all words are shorter, or have nothing but NULs."""
    folded = (word.casefold() for word in words)
    trigrams = dict.fromkeys(word[at : at + 3] for word in folded for at in range(len(word) - 2))
    quoted = ('"{}"'.format(part.replace('"', '""')) for part in trigrams if "\0" not in part)
    return list(itertools.islice(quoted, _MOST_TRIGRAMS))


# --- the index --------------------------------------------------------------------------------------


def _index_queue(connection: sqlite3.Connection) -> None:
    deadline_s = time.monotonic() + _INDEXING_TIME_S
    while (batch := _queue(connection)) and time.monotonic() < deadline_s:
        for message_id, former in batch:
            _index(connection, message_id, former)
            connection.execute("DELETE FROM search_queue WHERE message_id = ?", (message_id,))
            if time.monotonic() > deadline_s:
                return


def _queue(connection: sqlite3.Connection) -> list[tuple[int, str | None]]:
    """The newest messages that changed, each with the text that the index has of it, if any."""
    return connection.execute(
        "SELECT message_id, former FROM search_queue ORDER BY message_id DESC LIMIT ?", (_BATCH,)
    ).fetchall()


def _index(connection: sqlite3.Connection, message_id: int, former: str | None) -> None:
    """Index a message as it is now, in place of its `former` text; one that is gone is taken out."""
    if former is not None:
        connection.execute(
            "INSERT INTO message_search (message_search, rowid, content) VALUES ('delete', ?, ?)",
            (message_id, _indexed_text(former)),
        )
    connection.executemany(
        "INSERT INTO message_search (rowid, content) VALUES (?, ?)",
        [
            (message_id, _indexed_text(content))
            for (content,) in connection.execute(
                "SELECT content FROM messages WHERE id = ? AND state <> 'streaming'", (message_id,)
            ).fetchall()
        ],
    )


def _indexed_text(content: str) -> str:
    # FTS5 folds less than `casefold` does, and to it a text ends at its first NUL.
    return content.casefold().replace("\0", " ")


def _rebuild_if_broken(connection: sqlite3.Connection, error: sqlite3.Error) -> None:
    """Start the index anew if it is missing or damaged; a database that is busy or full is left alone."""
    if primary_code(error) not in DAMAGE_CODES | {sqlite3.SQLITE_ERROR}:
        return
    # If this fails, search goes on without an index.
    with contextlib.suppress(sqlite3.DatabaseError), transaction(connection, durable=False):
        connection.execute("DROP TABLE IF EXISTS message_search")
        # Only which trigrams a message has: a quarter of the size of an index with their places.
        connection.execute(
            "CREATE VIRTUAL TABLE message_search"
            " USING fts5 (content, content = '', columnsize = 0, detail = none, tokenize = 'trigram')"
        )
        connection.execute("DELETE FROM search_queue")
        connection.execute(
            "INSERT INTO search_queue SELECT id, NULL FROM messages WHERE state <> 'streaming'"
        )
