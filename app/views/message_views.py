"""The widgets of the messages that are near the viewport, and their wishes.

Rows of a `TranscriptItemModel` go in, widgets come out; what the user wants of a message comes out as
a signal with its id. It knows nothing about places and scrolling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.data.stored_message import StoredMessage
from app.item_models.transcript_item_model import TranscriptItemModel

if TYPE_CHECKING:
    from app.views.message_view import MessageView
    from app.views.variants_view import VariantsView

    RowView = MessageView | VariantsView


class MessageViews(QObject):
    """Owns a widget for each row that is kept: a `MessageView`, or a `VariantsView` of several replies."""

    height_changed = Signal(int)
    """The id of a message that needs another height now."""

    edit_requested = Signal(int)
    """The id of a user message."""

    again_requested = Signal(int, int)
    """The id of a reply that shall be written again, and how many times."""

    choose_requested = Signal(int)
    """The id of one of several replies, with which the chat shall go on."""

    stop_requested = Signal(int)
    """The id of one of several replies, which shall end."""

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
        self._views: dict[int, RowView] = {}
        transcript.sight_changed.connect(self._show_sight)

    def __iter__(self) -> Iterator[RowView]:
        return iter(self._views.values())

    def get(self, message_id: int) -> RowView | None:
        """The widget of a row by its message, None if it has none."""
        return self._views.get(message_id)

    def message_view(self, message_id: int) -> MessageView | None:
        """The widget of a message that stands alone, None if it has none."""
        view = self._views.get(message_id)
        return None if view is None or view.is_wide else cast("MessageView", view)

    def show_message(self, message: StoredMessage) -> bool:
        """Show what a row's message is now; whether it has a widget."""
        view, variants = self._views.get(message.id), self._transcript.variants_of(message)
        if view is not None:
            view.show_row(message, variants)
        return view is not None

    def of(self, message: StoredMessage, width: int) -> RowView:
        """The widget of a row by its message, made for `width` pixels if it has none."""
        variants = self._transcript.variants_of(message)
        view = self._views.get(message.id)
        if view is not None and view.variant_ids != tuple(variant.id for variant in variants):
            self._drop(message.id)
            view = None
        if view is None:
            view = self._views[message.id] = self._make(message, variants)
            self._show_presence(view)
            view.set_last(self._is_last(view))
            view.fit(width)
        return view

    def _make(self, message: StoredMessage, variants: Sequence[StoredMessage]) -> RowView:
        # Bring markdown-it and much more: not before there is a message.
        if variants:
            from app.views.variants_view import VariantsView

            group = VariantsView(message, variants, self._viewport)
            group.height_changed.connect(partial(self.height_changed.emit, message.id))
            group.choose_requested.connect(self.choose_requested)
            group.stop_requested.connect(self.stop_requested)
            return group
        from app.views.message_view import MessageView

        view = MessageView(message, self._viewport)
        self._connect(view)
        return view

    def keep(self, message_ids: Collection[int]) -> None:
        """Only these messages keep their widgets, in this order."""
        for key in self._views.keys() - set(message_ids):
            self._drop(key)
        self._views = {key: self._views[key] for key in message_ids}

    def _drop(self, message_id: int) -> None:
        view = self._views.pop(message_id)
        view.hide()
        view.deleteLater()

    def show_last(self) -> None:
        """Another message is the newest one now."""
        for view in self:
            view.set_last(self._is_last(view))

    def expire_wide(self) -> None:
        """There is more or less room beside the column of text."""
        for view in self:
            if view.is_wide:
                view.height_changed.emit()

    def order_tabs(self, before: QWidget, line: QWidget, line_owner: int | None, after: QWidget) -> None:
        """The Tab key goes from `before` through all messages, with the line where it stands, to `after`."""
        for view in self:
            stops = [line] if line_owner == view.message.id else []
            for stop in (*stops, *view.tab_stops()):
                QWidget.setTabOrder(before, stop)
                before = stop
        QWidget.setTabOrder(before, after)

    def focused(self) -> list[int]:
        """The id of the message that has the keyboard focus, if one has."""
        focused = self._viewport.window().focusWidget()
        return [view.message.id for view in self if focused and view.isAncestorOf(focused)]

    def _show_sight(self) -> None:
        for view in self:
            self._show_presence(view)

    def _show_presence(self, view: RowView) -> None:
        refused = view.message.id in self._transcript.sight.refused_pins
        view.show_presence(self._transcript.presence_of(view.message), refused=refused)

    def _is_last(self, view: RowView) -> bool:
        last = self._transcript.last()
        return last is not None and last.id == view.message.id

    def _connect(self, view: MessageView) -> None:
        actions, key = view.actions_row, view.message.id
        view.height_changed.connect(lambda: self.height_changed.emit(key))
        actions.edit_requested.connect(lambda: self.edit_requested.emit(key))
        actions.again_requested.connect(lambda n_replies: self.again_requested.emit(key, n_replies))
        actions.go_on_requested.connect(lambda: self.go_on_requested.emit(key))
        actions.delete_requested.connect(lambda: self.delete_requested.emit(key))
        actions.versions.version_requested.connect(lambda number: self.version_requested.emit(key, number))
        actions.pin_requested.connect(lambda pinned: self.pin_requested.emit(key, pinned))
