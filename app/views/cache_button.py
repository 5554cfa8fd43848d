"""The facts of the context as a button, with a menu to change them.

`ModelInfo` and `Settings` go in, choices come out as signals. It knows nothing about loading.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.data.settings import Settings
from app.views import number_format
from app.views.settings_groups import SMALLEST_CONTEXT
from app.views.settings_words import kv_types, policies
from app.views.theme import set_style
from engine.protocol import Endurance, ModelInfo, Policy


class CacheButton(QToolButton):
    """Hidden while no model answers."""

    n_ctx_chosen = Signal(int)
    """Tokens of context to load the model with."""

    policy_chosen = Signal(object)
    """The `Policy` from the next message on."""

    kv_type_chosen = Signal(object)
    """The `KVType` to load the model with."""

    reload_requested = Signal()
    """Load the model again as the open chat wants it."""

    options_requested = Signal()
    """Show what the open chat does differently."""

    settings_requested = Signal()
    """Show the settings."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._info: ModelInfo | None = None
        self._settings = Settings()
        self._reload_needed = False
        self.setObjectName("facts")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_shown = QMenu(self)
        self.menu_shown.aboutToShow.connect(self.fill_menu)
        self.setMenu(self.menu_shown)
        self.hide()

    def show_facts(self, info: ModelInfo | None, settings: Settings, *, reload_needed: bool = False) -> None:
        """Show how the model that answers keeps the context of the open chat, in which `settings` hold.

        `reload_needed`: it was loaded with something else.
        """
        self._info, self._settings, self._reload_needed = info, settings, reload_needed
        self.setVisible(info is not None)
        if info is None:
            return
        facts = (
            self.tr("ctx {0}").format(self._n_ctx_in_words(info)),
            self._policy_name(info),
            self.tr("KV {0}").format(settings.kv_type),
        )
        mark = "\N{WARNING SIGN}\N{VARIATION SELECTOR-15}  " if reload_needed else ""
        text = "  \N{MIDDLE DOT}  ".join(facts)
        self.setText(f"{mark}{text}  \N{BLACK DOWN-POINTING SMALL TRIANGLE}")
        set_style(self, "warns", reload_needed)
        self.setAccessibleName(self.tr("Context: {0}").format(", ".join(facts)))
        self.setToolTip(f"<qt>{html.escape(self._explanation(info))}</qt>")
        self.setAccessibleDescription(self._explanation(info))

    def fill_menu(self) -> None:
        """Offer what this model can do."""
        self.menu_shown.clear()
        if self._info is None:
            return
        if self._reload_needed:
            self.menu_shown.addAction(self.tr("Load with this chat's options"), self.reload_requested.emit)
            self.menu_shown.addSeparator()
        self._offer_contexts(self._info)
        self._offer_policies()
        self._offer_kv_types()
        self.menu_shown.addSeparator()
        dots = "\N{HORIZONTAL ELLIPSIS}"
        self.menu_shown.addAction(
            self.tr("This chat's options {0}").format(dots), self.options_requested.emit
        )
        self.menu_shown.addAction(self.tr("Settings {0}").format(dots), self.settings_requested.emit)

    def _offer_contexts(self, info: ModelInfo) -> None:
        menu = self.menu_shown.addMenu(self.tr("Context size (loads the model again)"))
        choices = {2**power for power in range(31) if SMALLEST_CONTEXT <= 2**power <= info.n_ctx_train}
        wanted = self._settings.n_ctx if self._reload_needed else info.n_ctx
        for n_ctx in sorted(choices | {info.n_ctx, info.n_ctx_train}):
            label = self.tr("{0} tokens").format(f"{n_ctx:,}")
            self._offer(menu, label, n_ctx == wanted, partial(self.n_ctx_chosen.emit, n_ctx))

    def _offer_policies(self) -> None:
        menu = self.menu_shown.addMenu(self.tr("When the context is full (from the next message on)"))
        for policy, words in policies().items():
            chosen = policy is self._settings.policy
            self._offer(menu, ": ".join(words), chosen, partial(self.policy_chosen.emit, policy))

    def _offer_kv_types(self) -> None:
        menu = self.menu_shown.addMenu(self.tr("KV cache type (loads the model again)"))
        for kv_type, words in kv_types().items():
            chosen = kv_type is self._settings.kv_type
            self._offer(menu, ": ".join(words), chosen, partial(self.kv_type_chosen.emit, kv_type))

    def _offer(self, menu: QMenu, label: str, chosen: bool, choose: Callable[[], None]) -> None:
        group = menu.findChild(QActionGroup) or QActionGroup(menu)
        action = group.addAction(label)
        action.setCheckable(True)
        action.setChecked(chosen)
        if not chosen:
            action.triggered.connect(lambda _checked: choose())
        menu.addAction(action)

    def _n_ctx_in_words(self, info: ModelInfo) -> str:
        if not self._reload_needed:
            return f"{info.n_ctx:,}"
        return f"{self._settings.n_ctx:,}" if self._settings.n_ctx else self.tr("automatic")

    def _policy_name(self, info: ModelInfo) -> str:
        """What will really happen: a model that cannot let go of single turns is read again."""
        names = {
            Policy.ENDLESS: self.tr("endless"),
            Policy.EXACT: self.tr("exact"),
            Policy.STOP: self.tr("stop"),
        }
        policy = self._settings.policy
        cannot = policy is Policy.ENDLESS and info.endurance is Endurance.CANNOT
        return names[Policy.EXACT if cannot else policy]

    def _explanation(self, info: ModelInfo) -> str:
        size = self.tr("Weights {0}, KV cache {1}.").format(
            number_format.size(info.size_bytes), number_format.size(info.kv_bytes)
        )
        wish = self.tr("The model was loaded with something else than this chat wants: load it again.")
        return " ".join(filter(None, (wish if self._reload_needed else "", info.endurance_reason, size)))
