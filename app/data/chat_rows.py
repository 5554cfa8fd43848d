"""Rows of chats: inserted empty, or with all their branches from one value, and read as one.

A connection and a chat's id go in, a `WholeChat` comes out, and back under new ids. What the user removed
is left out, and what followed it then follows what came before it. Every function is one part of the
caller's transaction. Knows nothing about files.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import uuid

from app.data.chat_options import ChatOptions, options_from_json, options_to_json
from app.data.message_rows import insert_message, read_messages, read_tree
from app.data.message_text import clean_text
from app.data.stored_message import ChatSummary, WholeChat


def insert_chat(connection: sqlite3.Connection, chat: ChatSummary, options: ChatOptions) -> None:
    """Insert a chat without messages; part of the caller's transaction."""
    connection.execute(
        "INSERT INTO chats (id, title, created_at, updated_at, pinned, options) VALUES (?, ?, ?, ?, ?, ?)",
        (
            *(chat.id, chat.title, chat.created_at, chat.updated_at, chat.pinned),
            options_text(options),
        ),
    )


def options_text(options: ChatOptions) -> str:
    """The options as they are stored."""
    return clean_text(options_to_json(options))


def read_whole(connection: sqlite3.Connection, chat_id: str) -> WholeChat | None:
    """A chat that is not deleted, with all messages that were not removed; None if there is none."""
    row = connection.execute(
        "SELECT title, created_at, updated_at, pinned, options, head_id FROM chats"
        " WHERE id = ? AND deleted_at IS NULL",
        (chat_id,),
    ).fetchone()
    if row is None:
        return None
    title, created_at, updated_at, pinned, options, head_id = row
    tree = read_tree(connection, chat_id)
    shown = tree.branch(head_id)
    kept = tree.without_removed()
    return WholeChat(
        ChatSummary(chat_id, title, created_at, updated_at, bool(pinned)),
        options_from_json(options),
        shown[-1] if shown else None,
        tuple(
            dataclasses.replace(message, parent_id=kept.parent(message.id))
            for message in read_messages(connection, kept, kept.ids())
        ),
    )


def insert_whole(connection: sqlite3.Connection, chat: WholeChat) -> ChatSummary:
    """Insert a chat whose messages' parents all come before them; returns it with its new id."""
    summary = dataclasses.replace(chat.summary, id=uuid.uuid4().hex)
    insert_chat(connection, summary, chat.options)
    new_ids: dict[int | None, int | None] = {None: None}
    for message in chat.messages:
        new = dataclasses.replace(message, chat_id=summary.id, parent_id=new_ids[message.parent_id])
        new_ids[message.id] = insert_message(connection, new).id
    connection.execute("UPDATE chats SET head_id = ? WHERE id = ?", (new_ids[chat.head_id], summary.id))
    return summary


def has_same_messages(one: WholeChat, other: WholeChat) -> bool:
    """Whether two chats have the same texts and files in the same branches; ids and titles do not count."""
    return _messages_of(one) == _messages_of(other)


def _messages_of(chat: WholeChat) -> list[tuple[object, ...]]:
    places = {message.id: place for place, message in enumerate(chat.messages)}
    return [
        (
            *(message.role, message.content, message.attachments, message.created_at),
            None if message.parent_id is None else places[message.parent_id],
        )
        for message in chat.messages
    ]
