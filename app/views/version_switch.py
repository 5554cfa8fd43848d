"""Which version of a message is shown, with arrows to the ones before and after.

Two numbers go in, the wanted one comes out. Hidden where there is only one version.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget


class VersionSwitch(QWidget):
    """Two arrows around "2/3"."""

    version_requested = Signal(int)
    """The version to show, from 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._version = self._n_versions = 1
        self.before = self._arrow("\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", -1)
        self.after = self._arrow("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", 1)
        self.label = QLabel()
        self.label.setProperty("muted", True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for widget in (self.before, self.label, self.after):
            row.addWidget(widget)
        self.show_version(1, 1)

    def show_version(self, version: int, n_versions: int) -> None:
        """This is version number `version` of `n_versions`."""
        self._version, self._n_versions = version, n_versions
        words = self.tr("version {0} of {1}").format(version, n_versions)
        self.label.setText(f"{version}/{n_versions}")
        self.label.setToolTip(words)
        self.before.setEnabled(version > 1)
        self.after.setEnabled(version < n_versions)
        for button, name in (
            (self.before, self.tr("Show the version before; this is {0}")),
            (self.after, self.tr("Show the next version; this is {0}")),
        ):
            button.setAccessibleName(name.format(words))
            button.setToolTip(name.format(words))
        self.setVisible(n_versions > 1)

    def buttons(self) -> list[QPushButton]:
        """Both arrows."""
        return [self.before, self.after]

    def _arrow(self, text: str, step: int) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName("quiet")
        button.clicked.connect(lambda _checked: self.version_requested.emit(self._version + step))
        return button
