"""How a found repository looks: its name above its figures.

Rows of a `HubItemModel` go in. Knows nothing about clicks and keys.
"""

from __future__ import annotations

from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from app.item_models.hub_item_model import REPO_ROLE
from app.views.hub_words import repo_facts
from app.views.library_words import SEPARATOR
from app.views.tokens import current_tokens
from app.views.two_line_delegate import Index, TwoLineDelegate, draw_text, lines, strong
from engine.hub.hub_values import RepoSummary, WeightsFormat


class HubDelegate(TwoLineDelegate):
    """Two lines."""

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """The figures, then the name."""
        repo: RepoSummary = index.data(REPO_ROLE)
        upper, lower = lines(option)
        draw_text(painter, lower, SEPARATOR.join(repo_facts(repo)), current_tokens().muted)
        painter.setFont(strong(option.font))
        draw_text(painter, upper, repo.repo_id, _colour(repo))


def _colour(repo: RepoSummary) -> str:
    """What cannot be loaded stands back."""
    tokens = current_tokens()
    return tokens.text if repo.weights_format is WeightsFormat.GGUF else tokens.muted
