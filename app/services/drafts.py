"""What is written but not sent, chat by chat; also the message that is being edited.

Texts go in and out, and are stored a moment after they changed. Promises: an edit puts what had been
written aside and gives it back at its end; after a restart, or a crash, what was written is there
again, an unfinished edit together with what it had put aside. It knows nothing about widgets.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from app.data.chat_store import ChatStore
from app.data.stored_message import Attachment, StoredMessage
from engine.errors import KnownError

SAVE_AFTER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Edit:
    """A user message that is being written anew, its number in the chat from 1, and what was put aside."""

    message: StoredMessage
    number: int
    former_draft: str
    former_attachments: tuple[Attachment, ...] = ()


class Drafts(QObject):
    """Owns the drafts; the chat None is the new one that is not stored yet."""

    failed = Signal(str)
    """One sentence: a draft could not be stored. It stays where it is written."""

    def __init__(self, store: ChatStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._texts: dict[str | None, str] = {}
        self._edits: dict[str | None, Edit] = {}
        self._unsaved: set[str | None] = set()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_AFTER_MS)
        self._timer.timeout.connect(self.save)

    def text(self, chat_id: str | None) -> str:
        """What stands in the composer of a chat."""
        if chat_id not in self._texts:
            self._texts[chat_id] = ""
            with contextlib.suppress(KnownError):  # whoever cannot read drafts cannot read chats, and says so
                self._texts[chat_id] = self._store.draft(chat_id)
        return self._texts[chat_id]

    def set_text(self, chat_id: str | None, text: str) -> None:
        """Remember what stands in the composer of a chat."""
        if text != self.text(chat_id):
            self._texts[chat_id] = text
            self._unsaved.add(chat_id)
            self._timer.start()

    def edit(self, chat_id: str | None) -> Edit | None:
        """What is being edited in a chat."""
        return self._edits.get(chat_id)

    def begin_edit(self, edit: Edit, text: str) -> None:
        """Let `text` be written anew in place of the draft, which `end_edit` brings back."""
        chat_id = edit.message.chat_id
        self._edits[chat_id] = edit
        self.set_text(chat_id, text)

    def end_edit(self, chat_id: str | None) -> Edit | None:
        """What had been written before the edit stands in the composer again."""
        edit = self._edits.pop(chat_id, None)
        if edit:
            self.set_text(chat_id, edit.former_draft)
        return edit

    def give_back(self, chat_id: str | None, text: str) -> None:
        """A text that could not be sent, before what was written since."""
        self.set_text(chat_id, _both(text, self.text(chat_id)))

    def move(self, chat_id: str) -> None:
        """The new chat was stored under `chat_id`."""
        text = self.text(None)
        self.set_text(None, "")
        self.set_text(chat_id, text)

    def save(self) -> None:
        """Store what has changed."""
        self._timer.stop()
        unsaved, self._unsaved = self._unsaved, set()
        try:
            for chat_id in unsaved:
                edit = self._edits.get(chat_id)
                text = self._texts[chat_id]
                self._store.save_draft(chat_id, _both(text, edit.former_draft) if edit else text)
        except KnownError as error:
            self.failed.emit(str(error))


def _both(first: str, second: str) -> str:
    return f"{first}\n\n{second}" if first.strip() and second.strip() else first or second
