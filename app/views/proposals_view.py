"""Models that suit this machine, with a button to download each.

Proposals come from a `ModelProposals` when the view is first shown; the file that was chosen comes out.
Promises that nothing is asked of the Hub before a button is pressed. Knows nothing about downloads.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.data.catalogue import CatalogueModel
from app.data.proposals import Proposal
from app.services.hub_problem import HubProblem
from app.services.model_proposals import ModelProposals
from app.views.download_button import DownloadOffer, KnownDownloads
from app.views.hub_problem_line import HubProblemLine
from app.views.leading_label import LeadingLabel
from app.views.proposal_row import ProposalRow
from app.views.settings_row import muted_label
from app.views.tokens import UNIT
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel


class ProposalsView(QWidget):
    """A title and a row for each proposal."""

    download_requested = Signal(object)
    """A `RemoteModel`."""

    repository_requested = Signal(str)
    """Show this repository with all its files."""

    remedy_chosen = Signal(object, str)
    """A `Remedy` for what was refused, but for trying again, and the page that belongs to it."""

    def __init__(
        self, proposals: ModelProposals, most: int | None = None, parent: QWidget | None = None
    ) -> None:
        """Shows the best `most`, None for all."""
        super().__init__(parent)
        self._proposals = proposals
        self._most = most
        self._known = KnownDownloads()
        self._ids: dict[str, str] = {}  # what the files are called by now
        self._asked: list[CatalogueModel] = []
        self._refused: CatalogueModel | None = None
        self.setAccessibleName(self.tr("Models that fit this machine"))
        self.title = LeadingLabel(self.tr("Fits this machine"))
        self.title.setProperty("strong", True)
        self.text = muted_label()
        self.problem = HubProblemLine()
        self.problem.remedy_chosen.connect(self._on_remedy)
        self.rows: list[ProposalRow] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(UNIT)
        for part in (self.title, self.text, self.problem):
            self._column.addWidget(part)
        self._say(self.tr("Looking at this machine's memory and speed."))
        proposals.proposed.connect(self._show)
        proposals.resolved.connect(self._on_resolved)

    def showEvent(self, event: QShowEvent) -> None:
        """Other memory may be free than the last time."""
        super().showEvent(event)
        self._proposals.propose()

    def show_known(self, known: KnownDownloads) -> None:
        """What is here, and what is on its way."""
        self._known = known
        for row in self.rows:
            self._show_state(row)

    def _show(self, found: tuple[Proposal, ...] | HubProblem) -> None:
        if isinstance(found, HubProblem):
            self._say("")
            self.problem.show_problem(found)
            return
        found = found[: self._most]
        if [row.proposal.model for row in self.rows] == [proposal.model for proposal in found]:
            for row, proposal in zip(self.rows, found, strict=True):
                row.show_proposal(proposal)
        else:
            self._make_rows(found)
        few = self.tr(
            "None of the proposed models fits into the memory that is free now. Search for a smaller one."
        )
        self._say("" if found else few)

    def _make_rows(self, found: tuple[Proposal, ...]) -> None:
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = [self._make_row(proposal) for proposal in found]

    def _make_row(self, proposal: Proposal) -> ProposalRow:
        row = ProposalRow(proposal)
        row.download_requested.connect(lambda: self._ask(row.proposal.model))
        row.repository_requested.connect(lambda: self.repository_requested.emit(row.proposal.model.repo_id))
        self._column.addWidget(row)
        self._show_state(row)
        return row

    def _ask(self, entry: CatalogueModel) -> None:
        self.problem.hide()
        self._asked.append(entry)
        self._show_state_of(entry)
        self._proposals.resolve(entry)

    def _on_resolved(self, entry: CatalogueModel, found: RemoteModel | HubProblem) -> None:
        if entry not in self._asked:
            return  # somebody else's question
        self._asked.remove(entry)
        if isinstance(found, HubProblem):
            self._refused = entry
            self.problem.show_problem(found)
        else:
            self._ids[entry.id] = found.id
            self.download_requested.emit(found)
        self._show_state_of(entry)

    def _on_remedy(self, remedy: Remedy, url: str) -> None:
        if remedy is not Remedy.TRY_AGAIN:
            self.remedy_chosen.emit(remedy, url)
        elif self._refused:
            self._ask(self._refused)
        else:
            self.problem.hide()
            self._proposals.propose()

    def _show_state_of(self, entry: CatalogueModel) -> None:
        for row in self.rows:
            if row.proposal.model == entry:
                self._show_state(row)

    def _show_state(self, row: ProposalRow) -> None:
        model = row.proposal.model
        asking = model in self._asked
        known = self._known.state(self._ids.get(model.id, model.id))
        row.button.show_state(DownloadOffer.ASKING if asking else known)

    def _say(self, words: str) -> None:
        self.text.setText(words)
        self.text.setVisible(bool(words))
