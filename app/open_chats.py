"""Everything that needs the stored chats: built together once they are open.

The store and what was there before it go in; the services come out, connected among themselves. It
knows nothing about widgets.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.data.chat_reader import open_chat_reader
from app.data.chat_store import ChatStore
from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.attachments import Attachments
from app.services.branches import Branches
from app.services.chat_controller import ChatController
from app.services.chat_files import ChatFiles
from app.services.chat_list import ChatList
from app.services.chat_options import ChatOptionsService
from app.services.model_loader import ModelLoader
from app.services.notice import Notice
from app.services.pins import Pins
from app.services.preferences import Preferences
from app.services.search import Search
from app.services.sights import Sights
from app.services.token_counts import TokenCounts
from app.services.variants import Variants


class OpenChats:
    """The services over one store."""

    def __init__(
        self,
        store: ChatStore,
        database: Path,
        loader: ModelLoader,
        preferences: Preferences,
        *,
        chats: ChatListItemModel,
        transcript: TranscriptItemModel,
        hold: Callable[[], Notice | None] = lambda: None,
    ) -> None:
        """`hold`: why the engine must not be asked now; see `Answering`."""
        self.store = store
        self.options = ChatOptionsService(store, preferences, loader)
        self.answering = Answering(store, loader, self.options, hold)
        self.attachments = Attachments()
        self.counts = TokenCounts(loader)
        variants = Variants(store, self.answering.written)
        self.branches = Branches(store, self.answering, transcript, variants)
        self.list = ChatList(store, chats)
        self.sights = Sights(store, self.answering, loader, self.options)
        self.pins = Pins(store, self.sights, transcript)
        self.files = ChatFiles(store)
        self.search = Search(lambda: open_chat_reader(database))
        self.controller = ChatController(
            store, self.answering, self.branches, transcript, attachments=self.attachments, chats=self.list
        )
        self._connect(preferences)

    def close(self) -> None:
        """End what runs and store what is written; nothing of it can be used any more."""
        self.controller.save_drafts()
        self.answering.close()
        self.attachments.close()
        self.search.close()
        self.store.close()

    def _connect(self, preferences: Preferences) -> None:
        # At once, before the first message of the new chat is sent with its options.
        self.controller.chat_created.connect(self.options.adopt)
        self.controller.chat_opened.connect(lambda: self.sights.watch(self.controller.open_chat_id))
        self.controller.shown_again.connect(self.sights.look)
        preferences.changed.connect(lambda _settings: self.sights.check_options())
        self.files.imported.connect(self.list.refresh)
        self.attachments.changed.connect(lambda _chat_id: self._count())
        self.controller.chat_opened.connect(self._count)
        self.controller.draft_changed.connect(self._count)

    def _count(self) -> None:
        """Have the open chat's draft and its attachments counted."""
        self.counts.set_draft(self.controller.draft())
        self.counts.set_attachments(self.attachments.of_chat(self.controller.open_chat_id))
