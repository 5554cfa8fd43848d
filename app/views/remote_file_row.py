"""One model of a repository: its quantization and size, whether it fits here, and a button to download it.

A `RemoteModel` goes in, then its `RemoteFit` and its `DownloadOffer`; the wish to download it comes out.
Knows nothing about the Hub.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.services.hub_fits import RemoteFit
from app.views.download_button import DownloadButton, DownloadOffer
from app.views.eliding_label import ElidingLabel
from app.views.hub_words import (
    file_name,
    fit_figures,
    fit_in_words,
    model_name,
    reason_in_words,
    size_in_words,
)
from app.views.leading_label import LeadingLabel
from app.views.library_words import SEPARATOR
from app.views.settings_row import muted_label
from app.views.theme import set_style
from app.views.tokens import UNIT
from engine.hub.hub_values import RemoteModel
from engine.memory.memory_plan import Verdict

_USUAL = "UD-IQ2_XXS "
"""Names of quantizations are about as wide, so that the sizes stand below each other."""


class RemoteFileRow(QFrame):
    """Three lines: what it is, whether it fits, and why not."""

    download_requested = Signal(object)
    """The `RemoteModel`."""

    def __init__(self, model: RemoteModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self.setObjectName("remoteFile")
        self.name = LeadingLabel(model_name(model))
        self.name.setProperty("strong", True)
        self.size_label = LeadingLabel(size_in_words(model))
        self.file = ElidingLabel()
        self.file.setProperty("muted", True)
        self.file.setText(file_name(model) if model.quantization else "")
        self.file.setToolTip(model.parts[0].path)
        self.verdict, self.reason = muted_label(), muted_label()
        self.button = DownloadButton(f"{model_name(model)}, {size_in_words(model)}")
        self.button.requested.connect(lambda: self.download_requested.emit(self.model))
        self._fault = ""
        self._state = DownloadOffer.POSSIBLE
        self._arrange()
        self.show_fit(None)
        self.show_state(DownloadOffer.POSSIBLE)

    def show_fit(self, fit: RemoteFit | None) -> None:
        """Whether it fits; None while that is not known."""
        if self.model.missing:
            self._show_words(self.tr("Parts are missing in the repository."), "", warns=True)
            return
        warns = fit is not None and (
            bool(fit.fault) or (fit.plan is not None and fit.plan.verdict is Verdict.DOES_NOT_FIT)
        )
        explains = warns or fit is None or fit.plan is None or fit.plan.verdict is Verdict.CANNOT_CHAT
        words = SEPARATOR.join((fit_in_words(fit), *fit_figures(fit)))
        self._show_words(words, reason_in_words(fit) if explains else "", warns=warns)
        self.verdict.setToolTip(reason_in_words(fit))
        self.button.setAccessibleDescription(f"{words.replace(SEPARATOR, ', ')}. {reason_in_words(fit)}")
        self._fault = fit.fault if fit else ""
        self.show_state(self._state)

    def show_state(self, state: DownloadOffer) -> None:
        """Whether it is here already, or on its way."""
        self._state = state
        if self.model.missing:
            self.button.show_state(DownloadOffer.INCOMPLETE, self.verdict.text())
        elif self._fault and state.is_open:
            self.button.show_state(DownloadOffer.UNUSABLE, self._fault)
        else:
            self.button.show_state(state)

    def _show_words(self, verdict: str, reason: str, *, warns: bool) -> None:
        self.verdict.setText(verdict)
        set_style(self.verdict, "warns", warns)
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(UNIT * 3 // 2)
        head.addWidget(self.name)
        head.addWidget(self.size_label)
        head.addWidget(self.file)
        head.addStretch(1)
        widest = self.name.fontMetrics().horizontalAdvance(_USUAL)
        self.name.setMinimumWidth(widest)
        texts = QVBoxLayout()
        texts.setSpacing(UNIT // 2)
        texts.addLayout(head)
        texts.addWidget(self.verdict)
        texts.addWidget(self.reason)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        row.setSpacing(UNIT * 3 // 2)
        row.addLayout(texts, 1)
        row.addWidget(self.button)
