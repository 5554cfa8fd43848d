"""The pages that stand in place of the chat, each imported and made when it is first wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from app.benchmark_pages import BenchmarkPages
from app.data.settings import LoadSettings
from app.model_pages import ModelPages
from app.open_chats import OpenChats
from app.services.engine_bridge import ClientFactory
from app.services.notice import Notice
from app.services.plan_result import PlanResult
from engine.errors import KnownError
from engine.protocol import ModelInfo

if TYPE_CHECKING:
    from app.views.chat_options_panel import ChatOptionsPanel
    from app.views.endurance_page import EndurancePage
    from app.views.load_plan_page import LoadPlanPage
    from app.views.settings_page import SettingsPage
    from app.views.shortcuts_page import ShortcutsPage
    from app.window import Weir


class Pages:
    """Owns the pages."""

    def __init__(self, weir: Weir, make_client: ClientFactory) -> None:
        self._weir = weir
        self._open: OpenChats | None = None
        self.endurance: EndurancePage | None = None
        self.settings: SettingsPage | None = None
        self.chat_options: ChatOptionsPanel | None = None
        self.shortcuts: ShortcutsPage | None = None
        self.load_plan: LoadPlanPage | None = None
        self.models = ModelPages(weir, make_client, self.choose_model, self._close)
        self.benchmarks = BenchmarkPages(weir, make_client, self._close)
        weir.window.sidebar.page_requested.connect(self.open)

    def connect_chats(self, open_chats: OpenChats) -> None:
        """The chats are open: from now on one of them can have options."""
        self._open = open_chats
        open_chats.controller.chat_opened.connect(self._show_chat)
        self.benchmarks.connect_chats(open_chats)

    def open(self, name: str) -> None:
        """Show the page "models", "benchmarks", "endurance", "settings" or "shortcuts"."""
        {
            "models": self.open_models,
            "benchmarks": self.open_benchmarks,
            "endurance": self.open_endurance,
            "settings": self.open_settings,
            "shortcuts": self.open_shortcuts,
        }[name]()

    def open_models(self) -> None:
        """What is installed, what could be, and what is on its way."""
        try:
            self._show(self.models.page, "models")
        except KnownError as error:  # there is no folder to keep models in
            self._weir.window.banner.add(Notice(str(error)))

    def open_benchmarks(self) -> None:
        """How fast models are here."""
        if self._weir.plans is None:
            return
        try:
            self._show(self.benchmarks.page, "benchmarks")
        except KnownError as error:
            self._weir.window.banner.add(Notice(str(error)))

    def open_endurance(self) -> None:
        """How the model holds out over a long text."""
        if self.endurance is None:
            from app.views.endurance_page import EndurancePage

            self.endurance = EndurancePage(
                self._weir.endurance, lambda: self._weir.loader.info, self.benchmarks.obstacle
            )
            self.endurance.closed.connect(self._close)
        self._show(self.endurance, "endurance")

    def open_settings(self) -> None:
        """What holds in all chats."""
        if self.settings is None:
            from app.views.settings_page import SettingsPage

            self.settings = SettingsPage(self._weir.preferences, self._weir.database.parent)
            self.settings.closed.connect(self._close)
            self.settings.reload_requested.connect(self._reload)
            self.settings.clear_saved_requested.connect(self._weir.saved_kv.clear)
            self._weir.saved_kv.measured.connect(self.settings.show_saved)
        self._weir.saved_kv.measure()
        self.show_model(self._weir.loader.info)
        self._show(self.settings, "settings")

    def open_chat_options(self) -> None:
        """What the open chat does differently."""
        if self._open is None:
            return
        if self.chat_options is None:
            from app.views.chat_options_panel import ChatOptionsPanel

            self.chat_options = ChatOptionsPanel(self._open.options, self._weir.preferences)
            self.chat_options.closed.connect(self._close)
            self.chat_options.settings_requested.connect(self.open_settings)
            self.chat_options.reload_requested.connect(self._reload)
        self._show_chat()
        self.show_model(self._weir.loader.info)
        self._show(self.chat_options, None)

    def open_shortcuts(self) -> None:
        """All keys at a glance."""
        if self.shortcuts is None:
            from app.views.shortcuts_page import ShortcutsPage

            self.shortcuts = ShortcutsPage()
            self.shortcuts.closed.connect(self._close)
        self._show(self.shortcuts, "shortcuts")

    def choose_model(self, path: str) -> None:
        """Let the model at `path` answer, after a look at what it needs."""
        self._weir.window.banner.clear_general()
        if self._weir.plans:
            self.open_load_plan(path)
            return
        self._close()
        if self._open:
            self._open.options.load_for(self._chat_id, path)
        else:
            self._weir.loader.load(path)

    def open_load_plan(self, path: str, how: LoadSettings | None = None) -> None:
        """What the model at `path` needs, before it is loaded; `how` None is as the open chat wants it."""
        if self._weir.plans is None:
            return
        if self.load_plan is None:
            from app.views.load_plan_page import LoadPlanPage

            self.load_plan = LoadPlanPage(self._weir.plans)
            self.load_plan.closed.connect(self._close)
            self.load_plan.load_requested.connect(self._load_planned)
        wanted = (
            self._open.options.effective(self._chat_id) if self._open else self._weir.preferences.settings
        )
        self.load_plan.show_model(path, how or wanted.load_settings)
        self._show(self.load_plan, None)

    def show_model(self, info: ModelInfo | None) -> None:
        """The model that answers now."""
        needs_reload = self._open is not None and self._open.options.needs_reload(self._chat_id)
        for page in (self.settings, self.chat_options):
            if page:
                page.show_model(info, needs_reload)

    @property
    def _chat_id(self) -> str | None:
        return self._open.controller.open_chat_id if self._open else None

    def _show(self, page: QWidget, name: str | None) -> None:
        self._weir.window.show_page(page, name)

    def _show_chat(self) -> None:
        if self.chat_options:
            self.chat_options.show_chat(self._chat_id)

    def _reload(self) -> None:
        if self._open:
            self._open.options.load_for(self._chat_id)

    def _load_planned(self, result: PlanResult, how: LoadSettings) -> None:
        self._close()
        if self._open:
            self._open.options.load_planned(self._chat_id, result, how)
        else:
            self._weir.loader.load(result.path, how, result)

    def _close(self) -> None:
        self._weir.window.show_page(None)
