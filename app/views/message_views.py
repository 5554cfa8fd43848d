"""The widgets of the messages that are near the viewport, and their wishes.

Rows of a `TranscriptItemModel` go in, widgets come out; what the user wants of a message comes out as
a signal with its id. It knows nothing about places and scrolling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.data.stored_message import StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel

if TYPE_CHECKING:
    from app.views.message_view import MessageView


class MessageViews(QObject):
    """Owns one `MessageView` for each message that is kept."""

    height_changed = Signal(int)
    """The id of a message that needs another height now."""

    edit_requested = Signal(int)
    """The id of a user message."""

    again_requested = Signal(int)
    """The id of a reply that shall be written again."""

    go_on_requested = Signal(int)
    """The id of the last reply, which shall go on."""

    version_requested = Signal(int, int)
    """The id of a message, and which of its versions shall be shown, from 1."""

    delete_requested = Signal(int)
    """The id of a message."""

    pin_requested = Signal(int, bool)
    """The id of a message, and whether it shall be pinned."""

    def __init__(self, transcript: TranscriptItemModel, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._transcript = transcript
        self._viewport = viewport
        self._views: dict[int, MessageView] = {}
        transcript.sight_changed.connect(self._show_sight)

    def __iter__(self) -> Iterator[MessageView]:
        return iter(self._views.values())

    def get(self, message_id: int) -> MessageView | None:
        """The widget of a message, None if it has none."""
        return self._views.get(message_id)

    def of(self, message: StoredMessage, width: int) -> MessageView:
        """The widget of a message, made for `width` pixels if it has none."""
        view = self._views.get(message.id)
        if view is None:
            # Brings markdown-it and much more: not before there is a message.
            from app.views.message_view import MessageView

            view = MessageView(message, self._viewport)
            self._views[message.id] = view
            self._show_presence(view)
            view.set_last(self._is_last(view))
            view.fit(width)
            self._connect(view)
        return view

    def keep(self, message_ids: Collection[int]) -> None:
        """Only these messages keep their widgets, in this order."""
        for key in self._views.keys() - set(message_ids):
            self._views[key].hide()
            self._views[key].deleteLater()
        self._views = {key: self._views[key] for key in message_ids}

    def show_last(self) -> None:
        """Another message is the newest one now."""
        for view in self:
            view.set_last(self._is_last(view))

    def focused(self) -> list[int]:
        """The id of the message that has the keyboard focus, if one has."""
        focused = self._viewport.window().focusWidget()
        return [view.message.id for view in self if focused and view.isAncestorOf(focused)]

    def _show_sight(self) -> None:
        for view in self:
            self._show_presence(view)

    def _show_presence(self, view: MessageView) -> None:
        refused = view.message.id in self._transcript.sight.refused_pins
        view.show_presence(self._transcript.presence_of(view.message), refused=refused)

    def _is_last(self, view: MessageView) -> bool:
        last = self._transcript.last()
        return last is not None and last.id == view.message.id

    def _connect(self, view: MessageView) -> None:
        actions, key = view.actions_row, view.message.id
        view.height_changed.connect(lambda: self.height_changed.emit(key))
        actions.edit_requested.connect(lambda: self.edit_requested.emit(key))
        actions.again_requested.connect(lambda: self.again_requested.emit(key))
        actions.go_on_requested.connect(lambda: self.go_on_requested.emit(key))
        actions.delete_requested.connect(lambda: self.delete_requested.emit(key))
        actions.versions.version_requested.connect(lambda number: self.version_requested.emit(key, number))
        actions.pin_requested.connect(lambda pinned: self.pin_requested.emit(key, pinned))
