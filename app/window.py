"""The window's composition: builds the objects and ends them, nothing else.

The window is shown before the chats are opened and the engine is started, so that it stands at once.
What is connected with what stands in `app.connections`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from app import connections
from app.commands import Commands
from app.data.chat_store import OpenedStore
from app.data.paths import database_path, saved_kv_dir, settings_path
from app.data.settings import SettingsStore
from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.open_chats import OpenChats
from app.pages import Pages
from app.services.calibrations import Calibrations
from app.services.chat_opening import ChatOpening
from app.services.endurance import EnduranceMeasurement
from app.services.engine_bridge import ClientFactory
from app.services.gauge_history import GaugeHistory
from app.services.load_plans import LoadPlans
from app.services.model_loader import ModelLoader
from app.services.model_options import ModelOptions
from app.services.notice import Notice
from app.services.plan_sources import PlanSources, this_machine
from app.services.preferences import Preferences
from app.services.saved_kv import SavedKVService
from app.services.shutdown_signals import ShutdownSignals
from app.views.main_window import MainWindow
from app.views.quit_question import may_quit
from engine.client import EngineClient, HeadStart
from engine.errors import KnownError
from engine.models.starter import starter_model_path

CLOSING_S = 1.5
"""How long closing waits for the engine's process to end."""

AFTER_START_MS = 3000
"""When the first model is likely to be loaded, so that what follows takes nothing from its start."""


class Weir:
    """All objects of the running program."""

    def __init__(
        self, make_client: ClientFactory, starter: Path | None, sources: PlanSources | None = None
    ) -> None:
        """Without `sources` models are loaded unseen. Raises KnownError when Weir has no folder."""
        self.starter = str(starter) if starter else None
        self.sources = sources
        self.database = database_path()
        settings_store = SettingsStore(settings_path())
        settings, self._settings_notice = settings_store.load()
        self.preferences = Preferences(settings_store, settings)
        self.saved_kv = SavedKVService(self.preferences, saved_kv_dir())
        self.loader = ModelLoader(self.preferences, make_client)
        self.endurance = EnduranceMeasurement(self.loader, self.preferences, make_client)
        self.options = ModelOptions(self.preferences, self.loader)
        self.history = GaugeHistory()
        self.plans: LoadPlans | None = None
        self.calibrations: Calibrations | None = None
        if sources:
            self.plans = LoadPlans(sources, self.loader, self.history)
            self.calibrations = Calibrations(
                sources,
                self.loader,
                self.plans,
                lambda: self.endurance.current is not None or self.pages.benchmarks.running,
            )
        self.chats = ChatListItemModel()
        self.transcript = TranscriptItemModel()
        self.window = MainWindow(self.chats, self.transcript, self.history)
        self.window.restore_geometry_text(settings.window_geometry)
        self.window.sidebar.set_collapsed(settings.sidebar_collapsed)
        self.opening = ChatOpening(self.window)
        self.open: OpenChats | None = None
        self.pages = Pages(self, make_client)
        self.window.may_close = self._may_close
        self.commands = Commands(self)
        connections.connect_model(self)
        connections.connect_gauges(self)
        self.window.closing.connect(self._close)

    def show(self, on_started: Callable[[], None] = lambda: None) -> None:
        """Show the window; the chats and the model follow, and then `on_started` is called."""
        self.window.show()
        QTimer.singleShot(0, self.window, functools.partial(self._start, on_started))

    def _start(self, on_started: Callable[[], None]) -> None:
        if not self.window.isVisible():
            return  # closed again already
        # The engine first: its process needs longest until it is ready.
        self.loader.load_first(self.starter)
        self.opening.rescuing.connect(self._on_rescuing)
        self.opening.failed.connect(self._on_not_opened)
        self.opening.opened.connect(self._use)
        self.opening.open(self.database)
        on_started()
        QTimer.singleShot(AFTER_START_MS, self.window, self._go_on)

    def _go_on(self) -> None:
        """What nobody waits for."""
        if not self.window.isVisible():
            return
        try:
            self.pages.models.go_on()
            self.pages.models.propose()
        except KnownError as error:
            self._tell(str(error))

    def _on_rescuing(self) -> None:
        self.window.composer.setEnabled(False)
        sentence = self.window.tr("Your chats are being rescued from a file that is not as it should be.")
        self.window.banner.add(Notice(sentence, calm=True))

    def _on_not_opened(self, sentence: str) -> None:
        self._tell(sentence)
        self.window.composer.setEnabled(False)  # what cannot be kept is not begun
        self.window.sidebar.setEnabled(False)
        self.window.empty.setEnabled(False)

    def _use(self, opened: OpenedStore) -> None:
        if not self.window.composer.isEnabled():  # they had to be rescued
            self.window.composer.setEnabled(True)
            self.window.banner.clear_general()
        for message in (self._settings_notice, opened.notice):
            if message:
                self._tell(message)
        self.open = OpenChats(
            opened.store,
            self.database,
            self.loader,
            self.preferences,
            chats=self.chats,
            transcript=self.transcript,
            hold=self.pages.benchmarks.hold,
        )
        connections.connect_chats(self, self.open)
        typed_meanwhile = self.window.composer.text()
        if typed_meanwhile:
            self.open.controller.set_draft(typed_meanwhile)
        self.open.list.refresh()
        self.saved_kv.tidy([chat.id for chat in opened.store.list_chats()])
        self.open.controller.open(None)

    def _tell(self, message: str) -> None:
        self.window.banner.add(Notice(message))

    def close_now(self) -> None:
        """Leave without a question: the system, or a terminal, wants it."""
        self.window.may_close = lambda: True
        self.window.close()

    def _may_close(self) -> bool:
        return may_quit(self.pages.models.why_not_quit(), self.window)

    def _close(self) -> None:
        self.opening.close()
        self.preferences.update(
            window_geometry=self.window.geometry_text(), sidebar_collapsed=self.window.sidebar.collapsed
        )
        self.endurance.close()
        if self.plans:
            self.plans.close()
        if self.calibrations:
            self.calibrations.close()
        self.pages.models.close()
        self.pages.benchmarks.close()
        if self.open:
            self.open.close()
        self.loader.close(CLOSING_S)
        self.saved_kv.close()


def run_window(argv: list[str], head_start: HeadStart | None = None) -> int:
    """Open the window and return when it is closed; 0, or 1 when Weir cannot keep anything.

    `head_start` has started the first model's worker already; it is ended if there is no such model.
    """
    application = QApplication(["weir", *argv])
    application.setApplicationName("Weir")
    application.setDesktopFileName("weir")
    try:
        # Before any widget is made: what is made with one font does not take on another everywhere.
        connections.dress_with(application, SettingsStore(settings_path()).load()[0])
        make_client = head_start.client if head_start else EngineClient
        weir = Weir(make_client, starter_model_path(), this_machine())
    except KnownError as error:
        print(error, file=sys.stderr)
        if application.platformName() != "offscreen":  # who starts it from an icon sees no terminal
            QMessageBox.critical(None, "Weir", str(error))
        return 1
    connections.dress(application, weir.preferences)
    signals = ShutdownSignals(weir.close_now)
    weir.show(head_start.close if head_start else lambda: None)
    code = application.exec()
    signals.release()
    return code
