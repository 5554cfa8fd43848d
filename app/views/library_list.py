"""The list of models itself: choosing one, renaming it, and the menu of all that can be done with it.

A `LibraryItemModel` goes in, wishes come out as signals. Promises: the chosen row stays chosen while others
come and go, and in another order; a row that cannot be loaded is never asked to be. Knows nothing about
files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QMenu, QToolTip, QWidget

from app.data.installed_model import InstalledModel
from app.item_models.library_item_model import LibraryItemModel
from app.views.library_delegate import LibraryDelegate
from app.views.library_words import plain_tool_tip, tool_tip, why_not_quantized
from engine.models.known_folders import ModelSource


class LibraryList(QListView):
    """Shows the models; Enter loads one, F2 renames it, Delete deletes it."""

    chosen = Signal(object)
    """The `InstalledModel` to load, as in all signals."""

    current_changed = Signal(object)
    """The `InstalledModel` that is marked now, None if there is none."""

    delete_requested = Signal(object)
    reveal_requested = Signal(object)
    copy_requested = Signal(object)
    forget_requested = Signal(object)
    quantize_requested = Signal(object)

    def __init__(
        self,
        models: LibraryItemModel,
        why_not_deleted: Callable[[InstalledModel], str],
        parent: QWidget | None = None,
    ) -> None:
        """`why_not_deleted`: a sentence why a model cannot be deleted, empty if it can."""
        super().__init__(parent)
        self._models = models
        self._why_not_deleted = why_not_deleted
        self._marked: Path | None = None
        self.loaded: Path | None = None
        self.setObjectName("library")
        self.setAccessibleName(self.tr("Installed models"))
        self.setModel(models)
        self.setItemDelegate(LibraryDelegate(lambda model: model.path == self.loaded, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.doubleClicked.connect(lambda index: self.choose(self._models.model_at(index.row())))
        self.selectionModel().currentChanged.connect(lambda index, _before: self._on_current(index))
        models.modelReset.connect(self._mark_again)
        for signal in (models.dataChanged, models.rowsInserted, models.rowsRemoved):
            signal.connect(lambda *_: self.current_changed.emit(self.current()))

    def current(self) -> InstalledModel | None:
        """The model that is marked."""
        return self._models.model_at(self.currentIndex().row())

    def mark(self, path: Path) -> None:
        """Mark the model at `path`, if it is shown."""
        row = self._models.row_of(path)
        if row is not None:
            self.setCurrentIndex(self._models.index(row))

    def choose(self, model: InstalledModel | None) -> None:
        """Ask for `model` to be loaded, if it can be."""
        if model and model.can_be_chosen:
            self.chosen.emit(model)

    def rename_current(self) -> None:
        """Let the user type another name of the marked model."""
        if self.currentIndex().isValid():
            self.setFocus()
            self.scrollTo(self.currentIndex())
            self.edit(self.currentIndex())

    def menu_of(self, model: InstalledModel) -> QMenu:
        """What can be done with a model; it deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(self.tr("Model"))
        load = menu.addAction(self.tr("Load"), lambda: self.choose(model))
        load.setEnabled(model.can_be_chosen)
        menu.addAction(self.tr("Rename"), QKeySequence(Qt.Key.Key_F2), lambda: self._rename(model.path))
        menu.addAction(self.tr("Show in its folder"), lambda: self.reveal_requested.emit(model))
        copy = QKeySequence(QKeySequence.StandardKey.Copy)
        menu.addAction(self.tr("Copy the path"), copy, lambda: self.copy_requested.emit(model))
        quantize = menu.addAction(
            self.tr("Quantize \N{HORIZONTAL ELLIPSIS}"), lambda: self.quantize_requested.emit(model)
        )
        obstacle = why_not_quantized(model)
        quantize.setEnabled(not obstacle)
        quantize.setToolTip(plain_tool_tip(obstacle))
        menu.addSeparator()
        if model.source is ModelSource.FILE:
            menu.addAction(self.tr("Take off the list"), lambda: self.forget_requested.emit(model))
        delete = menu.addAction(
            self.tr("Delete"), QKeySequence(Qt.Key.Key_Delete), lambda: self.delete_requested.emit(model)
        )
        reason = self._why_not_deleted(model)
        delete.setEnabled(not reason)
        delete.setToolTip(plain_tool_tip(reason))
        menu.setToolTipsVisible(bool(reason or obstacle))
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the model under the mouse, or of the marked one for the keyboard."""
        if event.reason() is QContextMenuEvent.Reason.Mouse:
            self._open_menu(self.indexAt(event.pos()), event.pos())
        else:
            self._open_menu_at_current()

    def event(self, event: QEvent) -> bool:
        """F2 is for the marked model here, before it is for the window's chat."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_F2
            and self.current()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, Delete, Ctrl+C, and the menu where the system does not open it by itself."""
        model = self.current()
        shift = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if self.state() is QAbstractItemView.State.EditingState:
            super().keyPressEvent(event)  # the Enter that ends a name comes by here too
        elif model and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.choose(model)
        elif model and event.matches(QKeySequence.StandardKey.Delete):
            self.delete_requested.emit(model)
        elif model and event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit(model)
        elif event.key() == Qt.Key.Key_Menu or (event.key() == Qt.Key.Key_F10 and shift):
            self._open_menu_at_current()
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: object) -> bool:
        """A tool tip says what had no room."""
        if isinstance(event, QHelpEvent):
            model = self._models.model_at(self.indexAt(event.pos()).row())
            QToolTip.showText(event.globalPos(), tool_tip(model) if model else "", self)
            return True
        return super().viewportEvent(event)  # type: ignore[arg-type]

    def _on_current(self, index: QModelIndex) -> None:
        model = self._models.model_at(index.row())
        if model:
            self._marked = model.path
        self.current_changed.emit(model)

    def _mark_again(self) -> None:
        if self._marked:
            self.mark(self._marked)
        self.current_changed.emit(self.current())

    def _rename(self, path: Path) -> None:
        self.mark(path)
        self.rename_current()

    def _open_menu_at_current(self) -> None:
        self.scrollTo(self.currentIndex())
        self._open_menu(self.currentIndex(), self.visualRect(self.currentIndex()).center())

    def _open_menu(self, index: QModelIndex, position: QPoint) -> None:
        if model := self._models.model_at(index.row()):
            self.setCurrentIndex(index)
            self.menu_of(model).popup(self.viewport().mapToGlobal(position))
