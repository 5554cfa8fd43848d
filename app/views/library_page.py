"""The installed models: finding one among them, loading it, and all else that can be done with its file.

A `LibraryService` goes in with what deletes and imports; the wish to load a model, to discover others, or
to be done comes out. Promises that the list follows the service, and that every empty list says what to do
first. Knows nothing about files and folders themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.data.installed_model import InstalledModel
from app.item_models.library_item_model import LibraryItemModel, Order
from app.services.file_manager import open_folder, reveal
from app.services.library import LibraryService
from app.services.model_import import ModelImport
from app.services.model_removal import ModelRemoval
from app.services.preferences import Preferences
from app.views.import_line import ImportLine
from app.views.leading_label import LeadingLabel
from app.views.library_folders_button import LibraryFoldersButton
from app.views.library_foot import LibraryFoot
from app.views.library_list import LibraryList
from app.views.library_questions import LibraryQuestions
from app.views.library_words import all_in_words
from app.views.question_line import QuestionLine
from app.views.search_field import SearchField
from app.views.settings_controls import ChoiceBox
from app.views.settings_row import muted_label
from app.views.tokens import UNIT


class LibraryPage(QWidget):
    """One part of the page of models."""

    model_chosen = Signal(str)
    """The path of a model to load."""

    discover_requested = Signal()
    """Show models that could be downloaded."""

    def __init__(
        self,
        library: LibraryService,
        removal: ModelRemoval,
        imports: ModelImport,
        preferences: Preferences,
        *,
        show_file: Callable[[Path], None] = reveal,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._removal = removal
        self._imports = imports
        self._show_file = show_file
        self.setAccessibleName(self.tr("Installed models"))
        self.setAcceptDrops(True)
        self.models = LibraryItemModel(self._describe, self)
        self.field = self._make_field()
        self.order = self._make_order()
        self.folders = LibraryFoldersButton(lambda: preferences.settings.model_folders)
        self.question, self.importing = QuestionLine(), ImportLine()
        self.questions = LibraryQuestions(self.question, library, removal, imports)
        self.list = LibraryList(self.models, removal.why_not)
        self.foot = LibraryFoot()
        self.skipped = muted_label()
        self.skipped.hide()
        self.empty_title, self.empty_text = LeadingLabel(), muted_label()
        self.discover = QPushButton(self.tr("Discover models"))
        self.add_folder = QPushButton(self.tr("Add a folder \N{HORIZONTAL ELLIPSIS}"))
        self._arrange()
        self._connect()
        self.models.put(library.models.values())
        self._show_state()
        self.setFocusProxy(self.list)

    def offer_files(self, paths: Sequence[Path]) -> None:
        """Ask what shall become of files that were dropped on the window."""
        self.questions.take_files(paths)

    def show_loaded(self, path: str | None) -> None:
        """The model that answers now."""
        self.list.loaded = Path(path) if path else None
        self.list.viewport().update()
        self._show_current(self.list.current())

    def add_part(self, part: QWidget) -> None:
        """Show something else above the list."""
        self._column.insertWidget(self._column.indexOf(self.importing), part)

    def showEvent(self, event: QShowEvent) -> None:
        """Something may have changed meanwhile."""
        super().showEvent(event)
        self._library.refresh()
        self._show_state()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files are welcome."""
        if _local_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Ask what shall become of them."""
        event.acceptProposedAction()
        self.offer_files(_local_files(event))

    # --- what the services tell -------------------------------------------------------------------

    def _connect(self) -> None:
        library, imports = self._library, self._imports
        library.found.connect(self._on_found)
        library.gone.connect(self._on_gone)
        library.scan_ended.connect(self._on_scan_ended)
        library.notice.connect(lambda notice: self.question.tell(notice.message))
        imports.progress.connect(lambda path, part: self.importing.show_progress(path.name, part))
        imports.ended.connect(lambda _path, _new: self.importing.hide())
        imports.failed.connect(lambda _path, _reason: self.importing.hide())
        self.importing.cancel_requested.connect(imports.cancel)
        self.models.rename_requested.connect(library.rename)
        self.field.textChanged.connect(self._find)
        self.field.stepped.connect(self._step)
        self.field.confirmed.connect(lambda: self.list.choose(self.list.current()))
        self.field.left.connect(self.list.setFocus)
        self.order.chosen.connect(self.models.sort_by)
        self.folders.folder_added.connect(lambda folder: library.add_folder(Path(folder)))
        self.folders.folder_removed.connect(lambda folder: library.remove_folder(Path(folder)))
        self.folders.files_chosen.connect(lambda files: self.offer_files([Path(file) for file in files]))
        self.folders.own_requested.connect(lambda: open_folder(library.own))
        self.discover.clicked.connect(self.discover_requested)
        self.add_folder.clicked.connect(self.folders.ask_for_folder)
        self.question.answered.connect(self.list.setFocus)
        self._connect_actions()

    def _connect_actions(self) -> None:
        self.list.chosen.connect(lambda model: self.model_chosen.emit(str(model.path)))
        self.list.current_changed.connect(self._show_current)
        self.list.delete_requested.connect(self.questions.delete)
        self.list.reveal_requested.connect(lambda model: self._show_file(model.path))
        self.list.copy_requested.connect(_copy_path)
        self.list.forget_requested.connect(lambda model: self._library.forget_file(model.path))
        self.foot.load_requested.connect(lambda: self.list.choose(self.list.current()))
        self.foot.rename_requested.connect(self.list.rename_current)
        self.foot.reveal_requested.connect(lambda: self._with_current(lambda m: self._show_file(m.path)))
        self.foot.copy_requested.connect(lambda: self._with_current(_copy_path))
        self.foot.delete_requested.connect(lambda: self._with_current(self.questions.delete))

    def _on_found(self, models: Sequence[InstalledModel]) -> None:
        self.models.put(models)
        self._show_state()

    def _on_gone(self, paths: Sequence[Path]) -> None:
        self.models.remove(paths)
        self._show_state()

    def _on_scan_ended(self, reasons: Sequence[str]) -> None:
        self.skipped.setText("\n".join(reasons))
        self.skipped.setVisible(bool(reasons))
        self._show_state()

    # --- what is shown ----------------------------------------------------------------------------

    def _describe(self, model: InstalledModel) -> str:
        return all_in_words(model, is_loaded=self.list.loaded == model.path)

    def _find(self, text: str) -> None:
        self.models.find(text)
        self._show_state()

    def _step(self, rows: int) -> None:
        row = min(max(0, self.list.currentIndex().row() + rows), self.models.rowCount() - 1)
        self.list.setCurrentIndex(self.models.index(row))

    def _show_current(self, model: InstalledModel | None) -> None:
        self.foot.show_model(model, self._removal.why_not(model) if model else "")

    def _with_current(self, act: Callable[[InstalledModel], None]) -> None:
        if model := self.list.current():
            act(model)

    def _show_state(self) -> None:
        """The list, or what to do while it is empty."""
        shown = self.models.rowCount() > 0
        self._stack.setCurrentIndex(0 if shown else 1)
        self.foot.setVisible(shown)
        if shown and not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.models.index(0))
        title, text = self._empty_words()
        self.empty_title.setText(title)
        self.empty_text.setText(text)
        for button in (self.discover, self.add_folder):
            button.setVisible(self.models.n_models == 0 and not self._library.is_scanning)

    def _empty_words(self) -> tuple[str, str]:
        if self.models.n_models:
            advice = self.tr("Try fewer letters, or a quantization such as Q4_K_M.")
            return self.tr("No model is called so"), advice
        if self._library.is_scanning:
            return self.tr("Looking for models"), ""
        advice = self.tr("Discover one, add a folder that holds some, or drop a .gguf file here.")
        return self.tr("No models yet"), advice

    # --- the widget -------------------------------------------------------------------------------

    def _make_field(self) -> SearchField:
        field = SearchField()
        field.setPlaceholderText(self.tr("Find a model"))
        field.setAccessibleName(self.tr("Find among the installed models"))
        field.setToolTip(self.tr("By name, repository, architecture or quantization"))
        return field

    def _make_order(self) -> ChoiceBox:
        orders = (
            (self.tr("By name"), Order.NAME),
            (self.tr("Largest first"), Order.SIZE),
            (self.tr("Longest context first"), Order.CONTEXT),
            (self.tr("Newest first"), Order.DATE),
        )
        box = ChoiceBox(orders)
        box.setAccessibleName(self.tr("Order of the models"))
        return box

    def _arrange(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(UNIT)
        top.addWidget(self.field, 1)
        top.addWidget(self.order)
        top.addWidget(self.folders)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._make_empty())
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addLayout(top)
        for part in (self.question, self.importing, self.skipped):
            column.addWidget(part)
        column.addWidget(self._stack, 1)
        column.addWidget(self.foot)

    def _make_empty(self) -> QWidget:
        self.empty_title.setObjectName("emptyTitle")
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        for button in (self.discover, self.add_folder):
            button.setObjectName("pageButton")
            buttons.addWidget(button)
        buttons.addStretch(1)
        empty = QWidget()
        column = QVBoxLayout(empty)
        column.setSpacing(UNIT)
        column.addStretch(1)
        column.addWidget(self.empty_title)
        column.addWidget(self.empty_text)
        column.addLayout(buttons)
        column.addStretch(2)
        return empty


def _copy_path(model: InstalledModel) -> None:
    QGuiApplication.clipboard().setText(str(model.path))


def _local_files(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
