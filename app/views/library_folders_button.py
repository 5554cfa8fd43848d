"""The button with the folders that are searched: adding one, taking one off, looking for a single file.

The library's folders go in; wishes come out. Knows nothing about what lies in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton, QWidget

_MOST_SHOWN = 60  # letters of a path


class LibraryFoldersButton(QToolButton):
    """Opens a menu, filled anew each time."""

    folder_added = Signal(str)
    """A path, as in all signals."""

    folder_removed = Signal(str)
    files_chosen = Signal(list)
    own_requested = Signal()

    def __init__(self, added: Callable[[], Sequence[str]], parent: QWidget | None = None) -> None:
        """`added`: the folders that the user has added so far."""
        super().__init__(parent)
        self._added = added
        self.setObjectName("formButton")
        self.setText(self.tr("Folders"))
        self.setToolTip(self.tr("Where models are looked for"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.menu_of_folders = QMenu(self)
        self.menu_of_folders.setToolTipsVisible(True)
        self.menu_of_folders.aboutToShow.connect(self.fill)
        self.setMenu(self.menu_of_folders)

    def fill(self) -> None:
        """What can be done now."""
        menu = self.menu_of_folders
        menu.clear()
        menu.addAction(self.tr("Add a folder \N{HORIZONTAL ELLIPSIS}"), self.ask_for_folder)
        menu.addAction(self.tr("Add a file \N{HORIZONTAL ELLIPSIS}"), self.ask_for_files)
        menu.addAction(self.tr("Open Weir's folder"), self.own_requested.emit)
        if self._added():
            menu.addSection(self.tr("Added folders"))
        for folder in self._added():
            action = menu.addAction(self.tr("Do not search {0}").format(_short(folder)))
            action.setToolTip(self.tr("Its files stay where they are: {0}").format(folder))
            action.triggered.connect(lambda _checked, folder=folder: self.folder_removed.emit(folder))

    def ask_for_folder(self) -> None:
        """Let the user look for a folder."""
        dialog = self._dialog(self.tr("Search a folder for models"), QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.folder_added)
        dialog.open()

    def ask_for_files(self) -> None:
        """Let the user look for model files."""
        dialog = self._dialog(self.tr("Add model files"), QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilter(self.tr("Models (*.gguf)"))
        dialog.filesSelected.connect(self.files_chosen)
        dialog.open()

    def _dialog(self, title: str, mode: QFileDialog.FileMode) -> QFileDialog:
        dialog = QFileDialog(self.window(), title)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return dialog


def _short(folder: str) -> str:
    """The end of the path, which tells most; an ampersand in it is no shortcut."""
    path = str(Path(folder))
    shown = path if len(path) <= _MOST_SHOWN else f"\N{HORIZONTAL ELLIPSIS}{path[-_MOST_SHOWN:]}"
    return shown.replace("&", "&&")
