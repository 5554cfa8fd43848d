"""Pinned messages: kept in the store, and taken off again where the model's context has no room for them.

The user's wishes come in. Promises: a new pin that does not fit is told at once and undone; a pin that
a smaller context refuses is told once and kept, so that a larger one honours it again. It knows
nothing about how the engine decides.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QObject, Signal

from app.data.chat_store import ChatStore
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.notice import Notice
from app.services.sights import Sights
from engine.errors import KnownError


class Pins(QObject):
    """Owns which pins the engine has not confirmed yet, and which refusals were told."""

    notice = Signal(object)
    """A `Notice`."""

    def __init__(
        self,
        store: ChatStore,
        sights: Sights,
        transcript: TranscriptItemModel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._sights = sights
        self._transcript = transcript
        self._unconfirmed: dict[int, str] = {}
        self._told: dict[str, frozenset[int]] = {}
        sights.changed.connect(self._on_sight)

    def set_pinned(self, message_id: int, pinned: bool) -> None:
        """Pin a message of the open chat, or take its pin away."""
        message = self._transcript.message(message_id)
        if message is None or message.pinned == pinned:
            return
        if pinned:
            self._unconfirmed[message_id] = message.chat_id
        self._store_pin(message.chat_id, message_id, pinned)

    def _store_pin(self, chat_id: str, message_id: int, pinned: bool) -> None:
        try:
            self._store.set_pinned(message_id, pinned)
        except KnownError as error:
            self.notice.emit(Notice(str(error), chat_id=chat_id))
            return
        message = self._transcript.message(message_id)
        if message:
            self._transcript.update_message(dataclasses.replace(message, pinned=pinned))
        self._sights.look(chat_id)

    def _on_sight(self, chat_id: str) -> None:
        refused = self._sights.of_chat(chat_id).refused_pins
        new = {key for key, chat in self._unconfirmed.items() if chat == chat_id}
        if self._sights.is_settled(chat_id):
            self._unconfirmed = {key: chat for key, chat in self._unconfirmed.items() if key not in new}
        for message_id in new & refused:
            self._unconfirmed.pop(message_id, None)
            self._store_pin(chat_id, message_id, pinned=False)
        self._tell(chat_id, new & refused, refused - new)

    def _tell(self, chat_id: str, new: set[int], old: frozenset[int]) -> None:
        known = self._told.get(chat_id, frozenset())
        self._told[chat_id] = old
        if new:
            sentence = self.tr(
                "This pin does not fit: pins may take half of the context. It was taken off again: "
                "unpin another message, or choose a larger context."
            )
        elif old - known:
            sentence = self.tr(
                "Some pinned messages do not fit: pins may take half of the context. They stay pinned, but "
                "leave the model's view like the others: unpin some, or choose a larger context."
            )
        else:
            return
        self.notice.emit(Notice(sentence, chat_id=chat_id))
