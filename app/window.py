"""The window's composition: builds the objects and connects their signals, nothing else.

The window is shown before the chats are opened and the engine is started, so that it stands at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from app.data.chat_store import ChatStore, open_chat_store
from app.data.paths import database_path, settings_path
from app.data.settings import SettingsStore
from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.answering import Answering
from app.services.chat_controller import ChatController
from app.services.endurance import EnduranceMeasurement
from app.services.engine_bridge import ClientFactory
from app.services.model_loader import ModelLoader
from app.services.model_options import ModelOptions
from app.services.notice import Notice, NoticeAction
from app.services.pins import Pins
from app.services.preferences import Preferences
from app.services.revisions import Revisions
from app.services.shutdown_signals import ShutdownSignals
from app.services.sights import CacheFill, Sights
from app.views.endurance_page import EndurancePage
from app.views.main_window import MainWindow
from app.views.theme import apply_theme
from engine.client import EngineClient
from engine.errors import KnownError
from engine.models.starter import starter_model_path
from engine.protocol import Event, Gauges, Policy

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
        self.endurance = EnduranceMeasurement(self.loader, self.preferences, make_client)
        self.endurance_page: EndurancePage | None = None
        self.options = ModelOptions(self.preferences, self.loader)
        self.chats = ChatListItemModel()
        self.transcript = TranscriptItemModel()
        self.window = MainWindow(self.chats, self.transcript)
        self.window.restore_geometry_text(settings.window_geometry)
        self.store: ChatStore | None = None
        self.answering: Answering | None = None
        self.controller: ChatController | None = None
        self.sights: Sights | None = None
        self.pins: Pins | None = None
        self._connect_model()
        self.window.sidebar.endurance_requested.connect(self._open_endurance)
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
        self._start_chats(opened.store)

    def _start_chats(self, store: ChatStore) -> None:
        self.store = store
        self.answering = Answering(store, self.loader, self.preferences)
        revisions = Revisions(store, self.answering, self.transcript)
        self.sights = Sights(store, self.answering, self.loader, self.preferences)
        self.pins = Pins(store, self.sights, self.transcript)
        self.controller = ChatController(store, self.answering, revisions, self.chats, self.transcript)
        self._connect_chats(self.controller)
        self._connect_messages(self.controller, self.sights, self.pins)
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
        window.model_bar.format_line.format_chosen.connect(self.options.use_chat_format)
        window.model_bar.cache.n_ctx_chosen.connect(self.options.use_n_ctx)
        window.model_bar.cache.kv_type_chosen.connect(self.options.use_kv_type)
        window.model_bar.cache.policy_chosen.connect(self.options.use_policy)
        self.options.notice.connect(window.banner.add)
        self.preferences.changed.connect(self._show_model)
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
        controller.draft_changed.connect(self._show_draft)
        controller.chat_opened.connect(lambda: window.show_chat(controller.open_chat_id, controller.draft()))
        controller.chat_opened.connect(self._show_draft)

    def _connect_messages(self, controller: ChatController, sights: Sights, pins: Pins) -> None:
        window = self.window
        window.transcript.messages.pin_requested.connect(pins.set_pinned)
        window.transcript.messages.edit_requested.connect(controller.begin_edit)
        window.transcript.messages.edit_requested.connect(window.composer.setFocus)
        window.transcript.messages.again_requested.connect(controller.again)
        window.composer.cancel_edit_requested.connect(controller.cancel_edit)
        controller.chat_opened.connect(lambda: sights.watch(controller.open_chat_id))
        controller.chat_opened.connect(self._show_sight)
        controller.shown_again.connect(sights.look)
        sights.changed.connect(self._show_sight)
        pins.notice.connect(window.banner.add)

    def _open_endurance(self) -> None:
        if self.endurance_page is None:  # made for those who want it
            self.endurance_page = EndurancePage(self.endurance, lambda: self.loader.info)
            self.endurance_page.closed.connect(lambda: self.window.show_page(None))
        self.window.show_page(self.endurance_page)

    def _load(self, path: str) -> None:
        self.window.banner.clear_general()
        self.loader.load(path)

    def _act(self, action: NoticeAction) -> None:
        match action:
            case NoticeAction.LOAD_AGAIN:
                self.loader.load_again()
            case NoticeAction.CHOOSE_MODEL:
                self.window.model_bar.open_menu()
            case NoticeAction.GO_ON_ENDLESS:
                self.options.use_policy(Policy.ENDLESS)
            case NoticeAction.UNDO if self.controller:
                self.controller.undo()

    def _show_model(self) -> None:
        info, loading = self.loader.info, self.loader.loading
        self.window.model_bar.show_model(info, loading, self.preferences.settings)
        self.window.model_bar.set_choices(self.loader.known.paths())
        self.window.empty.show_state(model=info.name if info else None, loading=loading is not None)

    def _show_gauges(self, event: Event) -> None:
        if isinstance(event, Gauges):
            self.window.status.show_gauges(event, self._fill())

    def _show_draft(self) -> None:
        if self.controller:
            edit = self.controller.edit()
            self.window.composer.set_text(self.controller.draft())
            self.window.composer.show_editing(edit.number if edit else None)

    def _show_sight(self) -> None:
        if self.controller and self.sights:
            self.transcript.set_sight(self.sights.of_chat(self.controller.open_chat_id))
            self.window.status.show_fill(self._fill())

    def _fill(self) -> CacheFill | None:
        if self.controller is None or self.sights is None:
            return None
        return self.sights.fill_of(self.controller.open_chat_id)

    def _tell(self, message: str) -> None:
        self.window.banner.add(Notice(message))

    def _close(self) -> None:
        self.preferences.update(window_geometry=self.window.geometry_text())
        if self.answering:
            self.answering.close()
        self.endurance.close()
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
        if application.platformName() != "offscreen":  # who starts it from an icon sees no terminal
            QMessageBox.critical(None, "Weir", str(error))
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
