"""The models of a repository, one below the other.

`RemoteModel`s go in, then what becomes known of them; the wish to download one comes out. Promises that no
repository makes more than `AT_ONCE` rows unasked. Knows nothing about the Hub.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.services.hub_fits import RemoteFit
from app.views.download_button import KnownDownloads
from app.views.remote_file_row import RemoteFileRow
from engine.hub.hub_values import RemoteModel

AT_ONCE = 40


class RemoteFileList(QWidget):
    """Rows with buttons; whoever shows it lets it scroll."""

    download_requested = Signal(object)
    """A `RemoteModel`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Files of the repository"))
        self.rows: list[RemoteFileRow] = []
        self._waiting: list[RemoteModel] = []
        self._fits: dict[str, RemoteFit] = {}
        self._known = KnownDownloads()
        self.more = QPushButton()
        self.more.setObjectName("formButton")
        self.more.clicked.connect(self._add_rows)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeading)
        self._column.addStretch(1)

    def show_models(self, models: Sequence[RemoteModel]) -> None:
        """Show these instead of others."""
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows, self._fits = [], {}
        self._waiting = list(models)
        self._add_rows()

    def show_fits(self, fits: Mapping[str, RemoteFit]) -> None:
        """What became known of some of them."""
        self._fits.update(fits)
        for row in self.rows:
            if row.model.id in fits:
                row.show_fit(fits[row.model.id])

    def show_known(self, known: KnownDownloads) -> None:
        """What is here, and what is on its way."""
        self._known = known
        for row in self.rows:
            row.show_state(known.state(row.model.id))

    def _add_rows(self) -> None:
        now, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        had_focus = self.more.hasFocus()
        for model in now:
            self._add_row(model)
        if had_focus and now:
            self.rows[-len(now)].button.setFocus()
        self.more.setText(self.tr("Show {0} more files").format(f"{len(self._waiting):,}"))
        self.more.setVisible(bool(self._waiting))

    def _add_row(self, model: RemoteModel) -> None:
        row = RemoteFileRow(model)
        row.show_state(self._known.state(model.id))
        if model.id in self._fits:
            row.show_fit(self._fits[model.id])
        row.download_requested.connect(self.download_requested)
        self._column.insertWidget(len(self.rows), row)
        self.rows.append(row)
