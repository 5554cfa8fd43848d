"""Chats to files and back.

Chat ids and paths come in; a file is written, or the chats in one are added to the list. Promises: a file
is written whole or not at all; a file that is not of Weir changes nothing. It knows nothing about
how paths are chosen.
"""

from __future__ import annotations

import enum
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.data.chat_export import export_json, export_markdown
from app.data.chat_import import import_file
from app.data.chat_store import ChatStore
from app.data.exported_file import file_name_for, write_text_atomically
from app.services.notice import Notice
from engine.errors import KnownError


class ChatFormat(enum.StrEnum):
    """How chats are written."""

    MARKDOWN = "markdown"  # to read; what is shown of a chat
    JSON = "json"  # to keep; everything, and can be imported again

    @property
    def suffix(self) -> str:
        """The end of a file's name, with its dot."""
        return ".md" if self is ChatFormat.MARKDOWN else ".json"


class ChatFiles(QObject):
    """Carries out exports and imports."""

    imported = Signal()
    """There are more chats in the store."""

    notice = Signal(object)
    """A `Notice`: what was done, or why it was not."""

    def __init__(self, store: ChatStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store

    def file_name(self, chat_id: str | None, form: ChatFormat) -> str:
        """A good name for the file of a chat, or of all chats."""
        title = "Weir chats"
        if chat_id is not None:
            title = next((chat.title for chat in self._store.list_chats() if chat.id == chat_id), "")
        return file_name_for(title or self.tr("New chat"), form.suffix)

    def export(self, chat_id: str | None, form: ChatFormat, path: str) -> None:
        """Write a chat, or all chats, to `path`."""
        try:
            ids = [chat_id] if chat_id else [chat.id for chat in self._store.list_chats()]
            write_text_atomically(Path(path), self._text_of(ids, form))
        except KnownError as error:
            self.notice.emit(Notice(str(error)))
            return
        sentence = self.tr("Exported to {0}.") if len(ids) == 1 else self.tr("{1} chats exported to {0}.")
        self.notice.emit(Notice(sentence.format(path, f"{len(ids):,}"), calm=True))

    def import_from(self, path: str) -> None:
        """Add the chats in a file that `export` wrote as JSON."""
        try:
            chats = import_file(self._store, Path(path))
        except KnownError as error:
            self.notice.emit(Notice(str(error)))
            return
        self.imported.emit()
        one, more = self.tr("One chat was imported."), self.tr("{0} chats were imported.")
        words = one if len(chats) == 1 else more.format(f"{len(chats):,}")
        if chats.n_known:
            again = self.tr("{0} of them were there already, and are there twice now.")
            words = f"{words} {again.format(f'{chats.n_known:,}')}"
        self.notice.emit(Notice(words, calm=True))

    def _text_of(self, chat_ids: list[str], form: ChatFormat) -> str:
        if form is ChatFormat.JSON:
            return export_json(self._store, chat_ids)
        return "\n\n".join(export_markdown(self._store, chat_id) for chat_id in chat_ids)
