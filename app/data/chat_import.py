"""Exported chats -> the store.

The JSON text of `chat_export` goes in; chats come out, each under a new id, equal to what was exported,
also where an equal one is there already.
Promises that a text that is anything else raises KnownError with one sentence and changes nothing, and
that fields it does not know are left alone. Knows nothing about the database.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from app.data.chat_export import FORMAT, VERSION
from app.data.chat_options import ChatOptions, options_from_json, options_to_json
from app.data.chat_store import ChatStore
from app.data.message_text import clean_text
from app.data.stored_message import (
    Attachment,
    ChatSummary,
    MessageState,
    StoredMessage,
    TurnNumbers,
    WholeChat,
)
from engine.errors import KnownError
from engine.protocol import FinishReason, Role

_Json = dict[str, object]
_Value = TypeVar("_Value")
_LARGEST = 2**63 - 1  # that SQLite stores as a whole number


class _Unusable(ValueError):
    """What is wrong with the text, as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class ImportedChats:
    """The chats that were stored; `n_known` of them were in the store before with the same messages."""

    chats: tuple[ChatSummary, ...]
    n_known: int

    def __len__(self) -> int:
        return len(self.chats)

    def __iter__(self) -> Iterator[ChatSummary]:
        return iter(self.chats)


def import_file(store: ChatStore, path: Path) -> ImportedChats:
    """Store the chats of a file that Weir exported; raises KnownError, and then nothing was changed."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise _refusal(f"it could not be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise _refusal("it is not a text in UTF-8") from error
    return import_chats(store, text)


def import_chats(store: ChatStore, text: str) -> ImportedChats:
    """Store the chats in `text`: all of them, or none. Raises KnownError, and then nothing was changed."""
    try:
        chats = _chats(_parsed(text))
    except _Unusable as error:
        raise _refusal(str(error)) from error
    except RecursionError as error:
        raise _refusal("it is nested too deeply") from error
    n_known = store.count_known(chats)
    return ImportedChats(tuple(store.add_chats(chats)), n_known)


def _refusal(what: str) -> KnownError:
    return KnownError(
        f"The file cannot be imported: {what}. Your chats are as they were: choose a JSON file that Weir "
        "exported."
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant)
    except ValueError:
        raise _Unusable("it is damaged, or no JSON") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are no JSON


def _chats(exported: object) -> list[WholeChat]:
    if not isinstance(exported, dict) or exported.get("format") != FORMAT:
        raise _Unusable("there are no chats of Weir in it")
    version = _get(exported, "version", _count)
    if version > VERSION:
        raise _Unusable(f"it was written by a newer Weir (format {version}; this one knows up to {VERSION})")
    return [
        _located(f"chat {number:,}", _chat, chat)
        for number, chat in enumerate(_get(exported, "chats", _list), start=1)
    ]


def _located(place: str, read: Callable[[_Json], _Value], value: object) -> _Value:
    """What `read` makes of an object; an error says the place."""
    try:
        return read(_object(value))
    except _Unusable as error:
        raise _Unusable(f"in {place}, {error}") from None


# --- chats and messages -----------------------------------------------------------------------------


def _chat(chat: _Json) -> WholeChat:
    messages: dict[int, StoredMessage] = {}
    for number, exported in enumerate(_get(chat, "messages", _list), start=1):
        message = _located(f"message {number:,}", _message, exported)
        if message.id in messages or not (message.parent_id is None or message.parent_id in messages):
            raise _Unusable(f"message {number:,} does not follow an earlier one")
        messages[message.id] = message
    head_id = _get(chat, "head_id", _or_none(_count))
    if not (head_id is None or head_id in messages):
        raise _Unusable("the message that is shown last is missing")
    return WholeChat(
        ChatSummary(
            "",
            _get(chat, "title", _text),
            _get(chat, "created_at", _number),
            _get(chat, "updated_at", _number),
            _get(chat, "pinned", _flag),
        ),
        _get(chat, "options", _options),
        head_id,
        tuple(messages.values()),
    )


def _message(message: _Json) -> StoredMessage:
    return StoredMessage(
        _get(message, "id", _count),
        "",
        _get(message, "role", _role),
        _get(message, "content", _text),
        _get(message, "state", _state),
        _get(message, "created_at", _number),
        _get(message, "model", _or_none(_text)),
        _get(message, "numbers", _or_none(_numbers)),
        _get(message, "pinned", _flag),
        tuple(_attachment(_object(value)) for value in _get(message, "attachments", _list)),
        _get(message, "parent_id", _or_none(_count)),
    )


def _attachment(attachment: _Json) -> Attachment:
    return Attachment(_get(attachment, "name", _text), _get(attachment, "text", _text))


_COUNTS = ("tokens_restored", "tokens_shared", "tokens_drafted", "tokens_accepted")


def _numbers(value: object) -> TurnNumbers:
    numbers = _object(value)
    reason = _get(numbers, "finish_reason", _or_none(_text))
    return TurnNumbers(
        _get(numbers, "tokens_generated", _count),
        _get(numbers, "decode_tps", _or_none(_number)),
        _get(numbers, "ttft_ms", _or_none(_number)),
        _get(numbers, "prefill_tps", _or_none(_number)),
        FinishReason(reason) if reason in set(FinishReason) else None,  # a newer Weir may know more
        _get(numbers, "reevaluated_because", _or_none(_text)),
        _get(numbers, "thinking_ms", _or_none(_number)),
        **{name: _get(numbers, name, _or_none(_count)) or 0 for name in _COUNTS},
        draft_gain=_get(numbers, "draft_gain", _or_none(_number)),
    )


def _options(value: object) -> ChatOptions:
    exported = _object(value)
    options = options_from_json(json.dumps(exported))
    understood = json.loads(options_to_json(options))
    for name in ChatOptions.__dataclass_fields__:
        if exported.get(name) is not None and name not in understood:
            raise _Unusable(f'"{name}" is not right')
    return options


# --- fields: each function returns the value or raises ValueError ------------------------------------


def _get(source: _Json, name: str, read: Callable[[object], _Value]) -> _Value:
    """A field; a missing one is read as null."""
    try:
        return read(source.get(name))
    except _Unusable:
        raise
    except ValueError:
        raise _Unusable(f'"{name}" is not right' if name in source else f'"{name}" is missing') from None


def _or_none(read: Callable[[object], _Value]) -> Callable[[object], _Value | None]:
    return lambda value: None if value is None else read(value)


def _object(value: object) -> _Json:
    if isinstance(value, dict):
        return value
    raise _Unusable("there is something that is no object")


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    raise ValueError


def _text(value: object) -> str:
    if isinstance(value, str):
        return clean_text(value)
    raise ValueError


def _role(value: object) -> Role:
    return Role(_text(value))


def _state(value: object) -> MessageState:
    state = MessageState(_text(value))
    # Whoever was writing it does not write here.
    return MessageState.INTERRUPTED if state is MessageState.STREAMING else state


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, float) and math.isfinite(value):
        return value
    return float(_count(value))
