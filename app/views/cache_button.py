"""The facts of the context as a button, with a menu to change them.

`ModelInfo` and `Settings` go in, choices come out as signals. It knows nothing about loading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.data.settings import Settings
from app.views import number_format
from engine.protocol import Endurance, KVType, ModelInfo, Policy

SMALLEST_CONTEXT = 512
"""Tokens; with less there is hardly room for a question and its answer."""


class CacheButton(QToolButton):
    """Hidden while no model answers."""

    n_ctx_chosen = Signal(int)
    """Tokens of context to load the model with."""

    policy_chosen = Signal(object)
    """The `Policy` from the next message on."""

    kv_type_chosen = Signal(object)
    """The `KVType` to load the model with."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._info: ModelInfo | None = None
        self._settings = Settings()
        self.setObjectName("facts")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_shown = QMenu(self)
        self.menu_shown.aboutToShow.connect(self.fill_menu)
        self.setMenu(self.menu_shown)
        self.hide()

    def show_facts(self, info: ModelInfo | None, settings: Settings) -> None:
        """Show how the model that answers keeps its context."""
        self._info, self._settings = info, settings
        self.setVisible(info is not None)
        if info is None:
            return
        facts = (
            self.tr("ctx {0}").format(f"{info.n_ctx:,}"),
            self._policy_name(info),
            self.tr("KV {0}").format(settings.kv_type),
        )
        self.setText("  \N{MIDDLE DOT}  ".join(facts) + "  \N{BLACK DOWN-POINTING SMALL TRIANGLE}")
        self.setAccessibleName(self.tr("Context: {0}").format(", ".join(facts)))
        self.setToolTip(f"<qt>{self._explanation(info)}</qt>")
        self.setAccessibleDescription(self._explanation(info))

    def fill_menu(self) -> None:
        """Offer what this model can do."""
        self.menu_shown.clear()
        if self._info:
            self._offer_contexts(self._info)
            self._offer_policies()
            self._offer_kv_types()

    def _offer_contexts(self, info: ModelInfo) -> None:
        menu = self.menu_shown.addMenu(self.tr("Context size (loads the model again)"))
        choices = {2**power for power in range(31) if SMALLEST_CONTEXT <= 2**power <= info.n_ctx_train}
        for n_ctx in sorted(choices | {info.n_ctx, info.n_ctx_train}):
            label = self.tr("{0} tokens").format(f"{n_ctx:,}")
            self._offer(menu, label, n_ctx == info.n_ctx, partial(self.n_ctx_chosen.emit, n_ctx))

    def _offer_policies(self) -> None:
        menu = self.menu_shown.addMenu(self.tr("When the context is full (from the next message on)"))
        explanations = {
            Policy.ENDLESS: self.tr("Endless: the oldest messages leave, nothing is read again"),
            Policy.EXACT: self.tr("Exact: the oldest messages leave, the rest is read again: slow"),
            Policy.STOP: self.tr("Stop: the reply ends, and the chat with it"),
        }
        for policy, label in explanations.items():
            chosen = policy is self._settings.policy
            self._offer(menu, label, chosen, partial(self.policy_chosen.emit, policy))

    def _offer_kv_types(self) -> None:
        menu = self.menu_shown.addMenu(self.tr("KV cache type (loads the model again)"))
        explanations = {
            KVType.F16: self.tr("f16: the most exact"),
            KVType.Q8_0: self.tr("q8_0: about half the memory"),
            KVType.Q4_0: self.tr("q4_0: about a quarter of the memory, less exact"),
        }
        for kv_type, label in explanations.items():
            chosen = kv_type is self._settings.kv_type
            self._offer(menu, label, chosen, partial(self.kv_type_chosen.emit, kv_type))

    def _offer(self, menu: QMenu, label: str, chosen: bool, choose: Callable[[], None]) -> None:
        group = menu.findChild(QActionGroup) or QActionGroup(menu)
        action = group.addAction(label)
        action.setCheckable(True)
        action.setChecked(chosen)
        if not chosen:
            action.triggered.connect(lambda _checked: choose())
        menu.addAction(action)

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
        return " ".join(filter(None, (info.endurance_reason, size)))
