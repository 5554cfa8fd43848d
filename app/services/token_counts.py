"""How many tokens the draft is, with its attachments.

Texts go in, counts come out, as the engine counts them. Promises: what is counted is what is sent (see
`app.data.attachment_text`); of a draft that is being typed only the newest text is counted; without a
model nothing is claimed. It knows nothing about widgets and chats.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from app.data.attachment_text import attachment_block
from app.services.attachments import AttachmentState, DraftAttachment
from app.services.model_loader import ModelLoader
from engine.errors import EngineGone
from engine.protocol import CountTokens, Event, TokenCount

WAIT_MS = 250
"""How long the draft has to stand still to be counted."""

_DRAFT = "draft"


class TokenCounts(QObject):
    """Owns what was counted with the model that answers."""

    changed = Signal()
    """Something else is known now: ask `total` and `of`."""

    def __init__(self, loader: ModelLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._loader = loader
        self._draft = ""
        self._items: Sequence[DraftAttachment] = ()
        self._counts: dict[str, int] = {}
        self._asked: set[str] = set()
        self._waiting = QTimer(self)
        self._waiting.setSingleShot(True)
        self._waiting.setInterval(WAIT_MS)
        self._waiting.timeout.connect(lambda: self._ask(_DRAFT, self._draft))
        loader.event_received.connect(self._on_event)
        loader.engine_lost.connect(self._forget)
        loader.model_ready.connect(lambda _info: self._count_all())

    @property
    def total(self) -> int | None:
        """Tokens of the whole message; None while some part of it is not counted."""
        counts = [self._counts.get(_DRAFT)] if self._draft else [0]
        counts += [self.of(item.id) for item in self._items if item.state is not AttachmentState.REFUSED]
        known = [count for count in counts if count is not None]
        return sum(known) if self._loader.info and len(known) == len(counts) else None

    def of(self, item_id: str) -> int | None:
        """Tokens of one attachment, None while it is not counted."""
        return self._counts.get(item_id)

    def set_draft(self, text: str) -> None:
        """The draft is this text now; it is counted once it stands still."""
        if text == self._draft:
            return
        was_blank, self._draft = not self._draft, text
        if text:
            self._waiting.start()
        else:
            self._waiting.stop()
        if was_blank or not text:
            self._counts.pop(_DRAFT, None)
            self.changed.emit()

    def set_attachments(self, items: Sequence[DraftAttachment]) -> None:
        """These go with the draft now; each is counted once for each model."""
        if items != self._items:
            self._items = items
            self._count_items()
            self.changed.emit()

    def _count_all(self) -> None:
        self._forget()
        if self._draft:
            self._ask(_DRAFT, self._draft)
        self._count_items()

    def _count_items(self) -> None:
        for item in self._items:
            if item.attachment and item.id not in self._asked:
                self._ask(item.id, attachment_block(item.attachment))

    def _ask(self, key: str, text: str) -> None:
        if self._loader.info is None:
            return  # once there is a model, all is counted
        with contextlib.suppress(EngineGone):
            self._loader.send(CountTokens(key, text))
            self._asked.add(key)

    def _on_event(self, event: Event) -> None:
        # A draft that was sent meanwhile has nothing to count any more.
        if (
            isinstance(event, TokenCount)
            and event.key in self._asked
            and (event.key != _DRAFT or self._draft)
        ):
            self._counts[event.key] = event.n_tokens
            self.changed.emit()

    def _forget(self) -> None:
        self._counts.clear()
        self._asked.clear()
        self.changed.emit()
