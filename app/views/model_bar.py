"""The line at the top: which model answers, how far the next one is loaded, which chat format is used.

`ModelInfo`, the path being loaded and the models to choose from go in; choices come out as signals.
It knows nothing about loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.data.settings import Settings
from app.views.cache_button import CacheButton
from app.views.eliding_label import ElidingLabel
from app.views.format_line import FormatLine
from app.views.shortcuts import with_keys
from app.views.tokens import UNIT
from engine.protocol import ModelInfo


class ModelBar(QFrame):
    """The model picker with its facts."""

    model_chosen = Signal(str)
    """The path of a model to load."""

    models_requested = Signal()
    """Show all models that there are, and those that could be."""

    cancel_requested = Signal()
    """Give up the model being loaded."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelBar")
        self._info: ModelInfo | None = None
        self._choices: tuple[str, ...] = ()
        self.button = QToolButton()
        self.button.setObjectName("modelButton")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setToolTip(self.tr("Choose the model that answers (Ctrl+M)"))
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.button.setMenu(self.menu)
        self.cache = CacheButton()
        self.progress = ElidingLabel()
        self.progress.setProperty("muted", True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.setFixedSize(UNIT * 16, UNIT // 2)
        self.bar.setAccessibleName(self.tr("Loading the model"))
        self.cancel = QToolButton()
        self.cancel.setText(self.tr("Cancel"))
        self.cancel.setAccessibleName(self.tr("Cancel loading the model"))
        self.cancel.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.cancel.clicked.connect(self.cancel_requested)
        self.format_line = FormatLine()
        self._arrange()
        self.show_model(None, None, Settings())

    def show_model(
        self, info: ModelInfo | None, loading: str | None, settings: Settings, *, reload_needed: bool = False
    ) -> None:
        """Show the model that answers, how it is run, and the path of the one being loaded.

        `settings` are those that hold in the open chat; `reload_needed`: the model was loaded otherwise.
        """
        self._info = info
        name = info.name if info else Path(loading).stem if loading else self.tr("Choose a model")
        self.button.setText(f"{name}  \N{BLACK DOWN-POINTING SMALL TRIANGLE}")
        self.button.setAccessibleName(self.tr("Model: {0}").format(name))
        self.progress.setText(self.tr("loading {0}").format(Path(loading).name) if loading else "")
        self.cache.show_facts(None if loading else info, settings, reload_needed=reload_needed)
        self.bar.setValue(0)
        for part in (self.bar, self.cancel):
            part.setVisible(loading is not None)
        self.format_line.show_format(info)

    def show_progress(self, fraction: float) -> None:
        """How much of the model is loaded, 0 to 1."""
        self.bar.setValue(round(fraction * 1000))

    def set_choices(self, paths: Sequence[str]) -> None:
        """The models that the menu offers."""
        self._choices = tuple(paths)

    def open_menu(self) -> None:
        """Let the user choose."""
        self.button.showMenu()

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self.button)
        row.addWidget(self.bar)
        row.addWidget(self.progress)
        row.addWidget(self.cancel)
        row.addWidget(self.cache)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT, UNIT // 2, UNIT * 2, UNIT // 2)
        column.setSpacing(UNIT // 2)
        column.addLayout(row)
        column.addWidget(self.format_line)

    def _fill_menu(self) -> None:
        self.menu.clear()
        for path in self._choices:
            action = self.menu.addAction(Path(path).stem.replace("&", "&&"))
            action.setToolTip(path)
            action.setCheckable(True)
            action.setChecked(self._info is not None and self._info.path == path)
            action.triggered.connect(lambda _checked, path=path: self.model_chosen.emit(path))
        self.menu.addSeparator()
        self.menu.addAction(
            self.tr("All models \N{HORIZONTAL ELLIPSIS}"), self.models_requested.emit
        ).setToolTip(with_keys(self.tr("Choose, find and download models"), "models"))
        self.menu.addAction(self.tr("Open a model file \N{HORIZONTAL ELLIPSIS}"), self.open_file)

    def open_file(self) -> None:
        """Let the user look for a model's file."""
        dialog = QFileDialog(self.window(), self.tr("Open a model file"))
        dialog.setNameFilter(self.tr("Models (*.gguf)"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.model_chosen)
        dialog.open()
