"""What is written but not sent, chat by chat; also the message that is being edited.

Texts go in and out. Promises: an edit puts what had been written aside and gives it back at its end.
Kept while Weir runs. It knows nothing about stores or widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.data.stored_message import StoredMessage


@dataclass(frozen=True, slots=True)
class Edit:
    """A user message that is being written anew, its number in the chat from 1, and the draft put aside."""

    message: StoredMessage
    number: int
    former_draft: str


class Drafts:
    """Owns the drafts; the chat None is the new one that is not stored yet."""

    def __init__(self) -> None:
        self._texts: dict[str | None, str] = {}
        self._edits: dict[str | None, Edit] = {}

    def text(self, chat_id: str | None) -> str:
        """What stands in the composer of a chat."""
        return self._texts.get(chat_id, "")

    def set_text(self, chat_id: str | None, text: str) -> None:
        """Remember what stands in the composer of a chat."""
        self._texts[chat_id] = text

    def edit(self, chat_id: str | None) -> Edit | None:
        """What is being edited in a chat."""
        return self._edits.get(chat_id)

    def begin_edit(self, message: StoredMessage, number: int) -> None:
        """Let the text of `message` be written anew in place of the draft."""
        chat_id = message.chat_id
        former = self._edits.get(chat_id)
        draft = former.former_draft if former else self.text(chat_id)
        self._edits[chat_id] = Edit(message, number, draft)
        self._texts[chat_id] = message.content

    def end_edit(self, chat_id: str | None) -> Edit | None:
        """What had been written before the edit stands in the composer again."""
        edit = self._edits.pop(chat_id, None)
        if edit:
            self._texts[chat_id] = edit.former_draft
        return edit

    def give_back(self, chat_id: str, text: str) -> None:
        """A text that could not be sent, before what was written since."""
        begun = self.text(chat_id)
        self._texts[chat_id] = f"{text}\n\n{begun}" if begun.strip() else text

    def move(self, chat_id: str) -> None:
        """The new chat was stored under `chat_id`."""
        self._texts[chat_id] = self._texts.pop(None, "")

    def forget(self, chat_id: str) -> None:
        """The chat was deleted."""
        self._texts.pop(chat_id, None)
        self._edits.pop(chat_id, None)
