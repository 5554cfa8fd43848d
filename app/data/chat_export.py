"""Chats as files for people and programs: Markdown of what is shown, or JSON of everything.

In: a store and ids of chats. Out: text that ends with a line break and can be encoded as UTF-8. The JSON
is one object, `{"format": "weir-chats", "version": 1, "exported_at": ..., "chats": [...]}`; `chat_import`
reads it back without loss. Times are Unix seconds; a message's `id` and `parent_id` are numbers within its
chat; what is no finite number is null. What the user removed is not exported. Knows nothing about files.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from app.data.chat_options import options_to_json
from app.data.chat_store import ChatStore
from app.data.message_text import one_line
from app.data.stored_message import Attachment, StoredMessage, TurnNumbers, WholeChat
from engine.errors import KnownError
from engine.protocol import Role
from engine.thinking import split_thinking

FORMAT = "weir-chats"
VERSION = 1

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_Json = dict[str, object]


def export_json(store: ChatStore, chat_ids: Sequence[str]) -> str:
    """One JSON object with these chats; raises KnownError if one was deleted or cannot be read."""
    exported: _Json = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": time.time(),
        "chats": [_chat(_whole(store, chat_id)) for chat_id in chat_ids],
    }
    return json.dumps(exported, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def export_markdown(store: ChatStore, chat_id: str) -> str:
    """The branch that a chat shows; raises KnownError if it was deleted or cannot be read."""
    chat = _whole(store, chat_id)
    title = one_line(chat.summary.title) or "Chat"
    blocks = [f"# {title}"]
    for message in store.messages(chat_id):
        blocks += _markdown(message)
    return "\n\n".join(blocks) + "\n"


def _whole(store: ChatStore, chat_id: str) -> WholeChat:
    chat = store.whole_chat(chat_id)
    if chat is None:
        raise KnownError(
            "This chat cannot be exported: it was deleted, perhaps in another window. "
            "Nothing was written: choose another chat."
        )
    return chat


# --- JSON -------------------------------------------------------------------------------------------


def _chat(chat: WholeChat) -> _Json:
    numbers = {message.id: number for number, message in enumerate(chat.messages, start=1)}
    return {
        "title": chat.summary.title,
        "created_at": chat.summary.created_at,
        "updated_at": chat.summary.updated_at,
        "pinned": chat.summary.pinned,
        "options": json.loads(options_to_json(chat.options)),
        "head_id": None if chat.head_id is None else numbers[chat.head_id],
        "messages": [_message(message, numbers) for message in chat.messages],
    }


def _message(message: StoredMessage, numbers: dict[int, int]) -> _Json:
    return {
        "id": numbers[message.id],
        "parent_id": None if message.parent_id is None else numbers[message.parent_id],
        "role": message.role,
        "content": message.content,
        "attachments": [asdict(attachment) for attachment in message.attachments],
        "state": message.state,
        "created_at": message.created_at,
        "model": message.model,
        "pinned": message.pinned,
        "numbers": _measured(message.numbers),
    }


def _measured(numbers: TurnNumbers | None) -> _Json | None:
    if numbers is None:
        return None
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(numbers).items()
    }


# --- Markdown ---------------------------------------------------------------------------------------


def _markdown(message: StoredMessage) -> Iterator[str]:
    yield f"## {_speaker(message)}"
    text = message.content
    if message.role is Role.ASSISTANT:
        thinking = split_thinking(text)
        text = thinking.answer
        if thinking.thought:
            yield "\n".join(f"> {line}".rstrip() for line in thinking.thought.splitlines())
    if text.strip():
        yield _closed(text.strip("\n"))
    for attachment in message.attachments:
        yield _attached(attachment)


def _speaker(message: StoredMessage) -> str:
    if message.role is Role.ASSISTANT:
        return one_line(message.model or "") or "Reply"
    return "You" if message.role is Role.USER else "System"


def _closed(text: str) -> str:
    """`text` with its last code block closed, so that what comes after is not code: replies are cut off."""
    fence = None
    for line in text.split("\n"):
        if match := _FENCE.match(line):
            marks, rest = match.groups()
            if fence is None and not (marks[0] == "`" and "`" in rest):
                fence = marks
            elif fence and marks.startswith(fence) and not rest.strip():
                fence = None
    return text if fence is None else f"{text}\n{fence}"


def _attached(attachment: Attachment) -> str:
    name = one_line(attachment.name).replace("`", "'")
    longest = max((len(run) for run in re.findall("`+", attachment.text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if attachment.text.endswith("\n") or not attachment.text else "\n"
    return f"Attached: `{name}`\n\n{fence}\n{attachment.text}{end}{fence}"
