"""One proposed model: what it is, what it is good for, why it is proposed.

A `Proposal` goes in, wishes come out. Knows nothing about where it is downloaded from.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.data.proposals import Proposal
from app.views.chat_list_delegate import in_own_direction
from app.views.download_button import DownloadButton
from app.views.hub_words import (
    plan_in_words,
    plan_reason,
    proposal_facts,
    proposal_reason,
    strengths_in_words,
)
from app.views.leading_label import LeadingLabel
from app.views.library_words import SEPARATOR
from app.views.settings_row import muted_label
from app.views.tokens import UNIT


class ProposalRow(QFrame):
    """Three lines and two buttons."""

    download_requested = Signal()
    """Download it."""

    repository_requested = Signal()
    """Show all files of its repository."""

    def __init__(self, proposal: Proposal, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.proposal = proposal
        name = proposal.model.name
        self.setObjectName("proposal")
        self.name = LeadingLabel(in_own_direction(name))
        self.name.setProperty("strong", True)
        self.facts, self.reason = muted_label(), muted_label()
        self.strengths = LeadingLabel()
        self.strengths.setWordWrap(True)
        self.button = DownloadButton(name)
        self.more = QPushButton(self.tr("All its files"))
        self.more.setObjectName("formButton")
        self.more.setAccessibleName(self.tr("All files of {0}").format(name))
        self.button.requested.connect(self.download_requested)
        self.more.clicked.connect(self.repository_requested)
        self._arrange()
        self.show_proposal(proposal)

    def show_proposal(self, proposal: Proposal) -> None:
        """The same model, planned anew."""
        self.proposal = proposal
        plan, model = proposal.plan, proposal.model
        fit = plan_in_words(plan, model.n_layers + 1)
        self.facts.setText(SEPARATOR.join((proposal_facts(model), fit)))
        self.facts.setToolTip(plan_reason(plan))
        self.strengths.setText(strengths_in_words(model))
        self.reason.setText(proposal_reason(proposal))
        words = (strengths_in_words(model), proposal_reason(proposal), plan_reason(plan))
        self.button.setAccessibleDescription(" ".join(words))

    def _arrange(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(UNIT // 2)
        for part in (self.name, self.facts, self.strengths, self.reason):
            texts.addWidget(part)
        buttons = QVBoxLayout()
        buttons.setSpacing(UNIT // 2)
        buttons.addWidget(self.button)
        buttons.addWidget(self.more)
        buttons.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(UNIT * 3 // 2, UNIT, UNIT * 3 // 2, UNIT)
        row.setSpacing(UNIT * 2)
        row.addLayout(texts, 1)
        row.addLayout(buttons)
