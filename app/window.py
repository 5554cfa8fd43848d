"""The window's composition: builds the objects and connects their signals, nothing else.

The window is shown before the chats are opened and the engine is started, so that it stands at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.data.chat_store import ChatStore, open_chat_store
from app.data.paths import database_path, settings_path
from app.data.settings import SettingsStore
from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.chat_controller import ChatController
from app.services.engine_bridge import ClientFactory
from app.services.model_loader import ModelLoader
from app.services.notice import Notice, NoticeAction
from app.services.preferences import Preferences
from app.services.shutdown_signals import ShutdownSignals
from app.views.main_window import MainWindow
from app.views.theme import apply_theme
from engine.client import EngineClient
from engine.errors import KnownError
from engine.models.starter import starter_model_path
from engine.protocol import Event, Gauges

CLOSING_S = 1.5
"""How long closing waits for the engine's process to end."""


class Weir:
    """All objects of the running program."""

    def __init__(self, make_client: ClientFactory, starter: Path | None) -> None:
        """Raises KnownError when Weir has no folder to keep anything in."""
        self._starter = str(starter) if starter else None
        self._database = database_path()
        settings_store = SettingsStore(settings_path())
        settings, self._settings_notice = settings_store.load()
        self.preferences = Preferences(settings_store, settings)
        self.loader = ModelLoader(self.preferences, make_client)
        self.chats = ChatListItemModel()
        self.transcript = TranscriptItemModel()
        self.window = MainWindow(self.chats, self.transcript)
        self.window.restore_geometry_text(settings.window_geometry)
        self.store: ChatStore | None = None
        self.answering: Answering | None = None
        self.controller: ChatController | None = None
        self._connect_model()
        self.window.closing.connect(self._close)

    def show(self) -> None:
        """Show the window; the chats and the model follow."""
        self.window.show()
        QTimer.singleShot(0, self.window, self._start)

    def _start(self) -> None:
        if not self.window.isVisible():
            return  # closed again already
        # The engine first: its process needs longest until it is ready.
        self.loader.load_first(self._starter)
        self._show_model()
        try:
            opened = open_chat_store(self._database)
        except KnownError as error:
            self._tell(str(error))
            self.window.composer.setEnabled(False)  # what cannot be kept is not begun
            return
        for message in (self._settings_notice, opened.notice):
            if message:
                self._tell(message)
        self.store = opened.store
        self.answering = Answering(opened.store, self.loader, self.preferences)
        self.controller = ChatController(opened.store, self.answering, self.chats, self.transcript)
        self._connect_chats(self.controller)
        self.controller.set_draft(self.window.composer.text())
        self.controller.refresh()
        self.controller.open(None)

    def _connect_model(self) -> None:
        loader, window = self.loader, self.window
        loader.changed.connect(self._show_model)
        loader.progress.connect(window.model_bar.show_progress)
        loader.event_received.connect(self._show_gauges)
        loader.engine_lost.connect(lambda: window.status.show_gauges(None))
        loader.notice.connect(window.banner.add)
        self.preferences.notice.connect(window.banner.add)
        window.model_bar.model_chosen.connect(self._load)
        window.model_bar.format_line.format_chosen.connect(loader.use_chat_format)
        window.empty.choose_requested.connect(window.model_bar.open_menu)
        window.banner.action_requested.connect(self._act)

    def _connect_chats(self, controller: ChatController) -> None:
        window = self.window
        window.sidebar.new_chat_requested.connect(lambda: controller.open(None))
        window.sidebar.chat_chosen.connect(controller.open)
        window.sidebar.delete_requested.connect(controller.delete)
        window.composer.text_changed.connect(controller.set_draft)
        window.composer.send_requested.connect(window.banner.clear)
        window.composer.send_requested.connect(window.transcript.scroll_to_end)
        window.composer.send_requested.connect(controller.send)
        window.composer.stop_requested.connect(controller.stop)
        controller.running_changed.connect(window.composer.set_running)
        controller.prefill.connect(window.status.show_prefill)
        controller.notice.connect(window.banner.add)
        controller.draft_changed.connect(lambda: window.composer.set_text(controller.draft()))
        controller.chat_opened.connect(lambda: window.show_chat(controller.open_chat_id, controller.draft()))

    def _load(self, path: str) -> None:
        self.window.banner.clear_general()
        self.loader.load(path)

    def _act(self, action: NoticeAction) -> None:
        if action is NoticeAction.LOAD_AGAIN:
            self.loader.load_again()
        else:
            self.window.model_bar.open_menu()

    def _show_model(self) -> None:
        info, loading = self.loader.info, self.loader.loading
        self.window.model_bar.show_model(info, loading)
        self.window.model_bar.set_choices(self.loader.known.paths())
        self.window.empty.show_state(model=info.name if info else None, loading=loading is not None)

    def _show_gauges(self, event: Event) -> None:
        if isinstance(event, Gauges):
            self.window.status.show_gauges(event)

    def _tell(self, message: str) -> None:
        self.window.banner.add(Notice(message))

    def _close(self) -> None:
        self.preferences.update(window_geometry=self.window.geometry_text())
        if self.answering:
            self.answering.close()
        self.loader.close(CLOSING_S)
        if self.store:
            self.store.close()


def run_window(argv: list[str]) -> int:
    """Open the window and return when it is closed; 0, or 1 when Weir cannot keep anything."""
    application = QApplication(["weir", *argv])
    application.setApplicationName("Weir")
    application.setDesktopFileName("weir")
    try:
        weir = Weir(EngineClient, starter_model_path())
    except KnownError as error:
        print(error, file=sys.stderr)
        return 1

    def dress() -> None:
        apply_theme(application, weir.preferences.settings.theme)

    dress()
    application.styleHints().colorSchemeChanged.connect(lambda _scheme: dress())
    signals = ShutdownSignals(weir.window.close)
    weir.show()
    code = application.exec()
    signals.release()
    return code
