"""The files that go with what is being written, chat by chat.

Paths go in, and are read in the background; `DraftAttachment`s come out as they get ready. Promises: the
window's thread opens no file; the same file twice is one; what was removed, or belongs to a deleted chat,
never comes back; all threads have ended after `close`. It knows nothing about messages and widgets.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Qt, Signal

from app.data.attachment_reader import MAX_CHARACTERS, read, too_much_text
from app.data.attachment_text import clean_name
from app.data.stored_message import Attachment
from app.services.notice import Notice
from engine.errors import KnownError

MAX_FILES = 32
"""How many files one message may have."""

_AT_A_TIME = 2


class AttachmentState(enum.Enum):
    """How far a file got."""

    READING = enum.auto()
    READY = enum.auto()
    REFUSED = enum.auto()


@dataclass(frozen=True, slots=True)
class DraftAttachment:
    """A file of a draft: `attachment` once it is READY, the sentence `problem` once it is REFUSED.

    `path` is where it was read from, "" for one that came back from a message.
    """

    id: str
    name: str
    path: str = ""
    state: AttachmentState = AttachmentState.READING
    attachment: Attachment | None = None
    problem: str = ""


class Attachments(QObject):
    """Owns the attachments of all drafts; the chat None is the new one that is not stored yet."""

    changed = Signal(object)
    """The id of a chat, or None, whose draft has other attachments now: ask `of_chat`."""

    notice = Signal(object)
    """A `Notice`."""

    _arrived = Signal(str, object)
    """The id of an item and its `Attachment`, or the sentence why there is none."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: dict[str | None, tuple[DraftAttachment, ...]] = {}
        self._cancels: dict[str, threading.Event] = {}
        self._numbers = itertools.count(1)
        self._readers: ThreadPoolExecutor | None = None
        self._arrived.connect(self._on_arrived, Qt.ConnectionType.QueuedConnection)

    def of_chat(self, chat_id: str | None) -> tuple[DraftAttachment, ...]:
        """What is attached to the draft of a chat, in the order in which it was added."""
        return self._items.get(chat_id, ())

    def is_reading(self, chat_id: str | None) -> bool:
        """Whether some file of a draft is not read yet: sending has to wait."""
        return any(item.state is AttachmentState.READING for item in self.of_chat(chat_id))

    def add(self, chat_id: str | None, paths: Iterable[str]) -> None:
        """Attach files to the draft of a chat; one that was refused is tried again."""
        items = list(self.of_chat(chat_id))
        for path in dict.fromkeys(map(os.path.abspath, paths)):
            known = next((item for item in items if item.path == path), None)
            if known and known.state is AttachmentState.REFUSED:
                items.remove(known)
            elif known:
                continue
            if len(items) >= MAX_FILES:
                sentence = self.tr("At most {0} files go with one message: the others were not attached.")
                self.notice.emit(Notice(sentence.format(MAX_FILES), chat_id=chat_id))
                break
            item = DraftAttachment(self._new_id(), clean_name(path), path)
            items.append(item)
            self._read(item)
        self._put(chat_id, items)

    def add_text(self, chat_id: str | None, text: str) -> None:
        """Attach a text that was pasted and is too long to be written."""
        if len(text) > MAX_CHARACTERS:
            error = too_much_text(self.tr("The pasted text"), MAX_CHARACTERS)
            self.notice.emit(Notice(str(error), chat_id=chat_id))
        elif len(self.of_chat(chat_id)) < MAX_FILES:
            pasted = self._ready(Attachment(self.tr("Pasted text"), text))
            self._put(chat_id, _without_doubles([*self.of_chat(chat_id), pasted]))

    def remove(self, chat_id: str | None, item_id: str) -> None:
        """Take an item away from the draft of a chat."""
        self._cancel(item for item in self.of_chat(chat_id) if item.id == item_id)
        self._put(chat_id, (item for item in self.of_chat(chat_id) if item.id != item_id))

    def take(self, chat_id: str | None) -> tuple[Attachment, ...]:
        """What is READY, for a message; the draft has no attachments any more."""
        items = self.of_chat(chat_id)
        self._cancel(items)
        self._put(chat_id, ())
        return tuple(item.attachment for item in items if item.attachment)

    def give_back(self, chat_id: str | None, attachments: Iterable[Attachment]) -> None:
        """Attachments of a message that could not be sent, before what was added since."""
        returned = list(map(self._ready, attachments))
        self._put(chat_id, _without_doubles([*returned, *self.of_chat(chat_id)]))

    def set(self, chat_id: str | None, attachments: Iterable[Attachment]) -> None:
        """Those of a message that is being edited, in place of what the draft had."""
        self._cancel(self.of_chat(chat_id))
        self._put(chat_id, list(map(self._ready, attachments)))

    def move(self, chat_id: str) -> None:
        """The new chat was stored under `chat_id`."""
        items = self._items.pop(None, ())
        self._put(chat_id, items)

    def forget(self, chat_id: str) -> None:
        """The chat was deleted."""
        self._cancel(self._items.pop(chat_id, ()))

    def close(self) -> None:
        """Stop reading; returns when no thread and no process of it is left."""
        for cancel in self._cancels.values():
            cancel.set()
        if self._readers:
            self._readers.shutdown(cancel_futures=True)

    def _new_id(self) -> str:
        return f"file-{next(self._numbers)}"

    def _ready(self, attachment: Attachment) -> DraftAttachment:
        name = clean_name(attachment.name)
        return DraftAttachment(self._new_id(), name, "", AttachmentState.READY, attachment)

    def _put(self, chat_id: str | None, items: Iterable[DraftAttachment]) -> None:
        new = tuple(items)
        if new != self.of_chat(chat_id):
            self._items[chat_id] = new
            self.changed.emit(chat_id)

    # --- reading ----------------------------------------------------------------------------------

    def _read(self, item: DraftAttachment) -> None:
        if self._readers is None:  # made for those who attach something
            self._readers = ThreadPoolExecutor(_AT_A_TIME, "attachment")
        self._cancels[item.id] = cancel = threading.Event()
        self._readers.submit(self._read_there, item, cancel)

    def _read_there(self, item: DraftAttachment, cancel: threading.Event) -> None:
        """On a thread of its own."""
        result: Attachment | str
        try:
            result = read(item.path, cancel)
        except KnownError as error:
            result = str(error)
        except Exception as error:  # whatever it is, Send must not wait for this file for ever
            result = f"{item.name} was not attached: {str(error) or type(error).__name__}."
        # Perhaps this object is being destroyed at exit.
        with contextlib.suppress(RuntimeError):
            self._arrived.emit(item.id, result)

    def _cancel(self, items: Iterable[DraftAttachment]) -> None:
        for item in items:
            if cancel := self._cancels.pop(item.id, None):
                cancel.set()

    def _on_arrived(self, item_id: str, result: Attachment | str) -> None:
        if self._cancels.pop(item_id, None) is None:
            return  # it was removed meanwhile
        for chat_id, items in list(self._items.items()):
            if any(item.id == item_id for item in items):
                arrived = [_with_result(item, result) if item.id == item_id else item for item in items]
                self._put(chat_id, _without_doubles(arrived))
                if isinstance(result, str):
                    self.notice.emit(Notice(result, chat_id=chat_id))


def _with_result(item: DraftAttachment, result: Attachment | str) -> DraftAttachment:
    if isinstance(result, str):
        return replace(item, state=AttachmentState.REFUSED, problem=result)
    return replace(item, state=AttachmentState.READY, attachment=result)


def _without_doubles(items: list[DraftAttachment]) -> list[DraftAttachment]:
    """Without later copies of what is READY already."""
    kept: list[DraftAttachment] = []
    for item in items:
        if item.attachment is None or all(item.attachment != other.attachment for other in kept):
            kept.append(item)
    return kept
