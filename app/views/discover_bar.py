"""What models are searched with: the field, the order, the formats, and the way to the token.

The controls are there for whoever connects them. Promises that the field keeps a width to type in: where
there is little room it has a line of its own. Knows nothing about searching.
"""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QHBoxLayout, QPushButton, QWidget

from app.views.search_field import SearchField
from app.views.settings_controls import ChoiceBox
from app.views.tokens import UNIT
from engine.hub.hub_values import Sort

ONE_LINE_FROM = UNIT * 84


class DiscoverBar(QWidget):
    """One line, or two."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = self._make_field()
        self.order = self._make_order()
        self.all_formats = QCheckBox(self.tr("All formats"))
        self.all_formats.setToolTip(
            self.tr("Find what Weir cannot load, too, and search for its GGUF versions")
        )
        self.token_button = QPushButton(self.tr("Token"))
        self.token_button.setObjectName("formButton")
        self.token_button.setToolTip(self.tr("Gated and private repositories need a token of yours"))
        controls = QHBoxLayout()
        controls.setSpacing(UNIT)
        for control in (self.order, self.all_formats, self.token_button):
            controls.addWidget(control)
        controls.addStretch(1)
        self._lines = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setSpacing(UNIT)
        self._lines.addWidget(self.field, 1)
        self._lines.addLayout(controls)
        self.setFocusProxy(self.field)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """One line where there is room."""
        super().resizeEvent(event)
        is_wide = self.width() >= ONE_LINE_FROM
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if self._lines.direction() is not direction:
            self._lines.setDirection(direction)

    def _make_field(self) -> SearchField:
        field = SearchField()
        field.setPlaceholderText(self.tr("Search Hugging Face, or paste the address of a repository"))
        field.setAccessibleName(self.tr("Search Hugging Face for models"))
        field.setToolTip(self.tr("By name, as in \u201cqwen3 8b\u201d or owner/name"))
        return field

    def _make_order(self) -> ChoiceBox:
        words = {
            Sort.DOWNLOADS: self.tr("Most downloads"),
            Sort.LIKES: self.tr("Most likes"),
            Sort.DATE: self.tr("Newest first"),
        }
        box = ChoiceBox([(words[sort], sort) for sort in Sort])
        box.setAccessibleName(self.tr("Order of the repositories"))
        return box
