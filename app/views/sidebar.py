"""The chats on the left: new, open, rename, delete.

The chat list's item model goes in, wishes come out as signals. It knows nothing about stores, and
whether a wish is granted shows in the item model.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QMenu,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.item_models.chat_list_item_model import ChatListItemModel
from app.views.tokens import UNIT


class Sidebar(QFrame):
    """The list with its button."""

    new_chat_requested = Signal()
    chat_chosen = Signal(str)
    """The id of the chat to open."""

    endurance_requested = Signal()
    delete_requested = Signal(str)
    """The id of a chat that the user has agreed to lose."""

    def __init__(self, chats: ChatListItemModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self._chats = chats
        self.setMinimumWidth(UNIT * 20)
        self.new_chat = QPushButton(self.tr("+  New chat"))
        self.new_chat.setObjectName("newChat")
        self.new_chat.setAccessibleName(self.tr("New chat"))
        self.new_chat.setToolTip(self.tr("Start a new chat (Ctrl+N)"))
        self.new_chat.clicked.connect(self.new_chat_requested)
        self.list = self._make_list()
        self.endurance = QPushButton(self.tr("Endurance"))
        self.endurance.setToolTip(self.tr("How the model holds out over a long text"))
        self.endurance.setCheckable(True)
        self.endurance.setStyleSheet(
            "QPushButton { text-align: left; } QPushButton:checked { background: palette(highlight); }"
        )
        self.endurance.clicked.connect(self.endurance_requested)
        column = QVBoxLayout(self)
        column.setContentsMargins(UNIT, UNIT, UNIT, UNIT)
        column.setSpacing(UNIT)
        column.addWidget(self.new_chat)
        column.addWidget(self.list, 1)
        column.addWidget(self.endurance)

    def select(self, chat_id: str | None) -> None:
        """Mark the open chat; None marks none."""
        row = self._chats.row_of(chat_id)
        if row is None:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())
        else:
            self.list.setCurrentIndex(self._chats.index(row))

    def _make_list(self) -> QListView:
        view = QListView()
        view.setAccessibleName(self.tr("Chats"))
        view.setModel(self._chats)
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setUniformItemSizes(True)
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._open_menu)
        view.clicked.connect(self._choose)
        view.activated.connect(self._choose)
        # In the whole window: a click on a chat leaves the keyboard with the message field.
        QShortcut(QKeySequence(Qt.Key.Key_F2), self, lambda: view.edit(view.currentIndex()))
        QShortcut(
            QKeySequence(QKeySequence.StandardKey.Delete),
            view,
            self._ask_to_delete,
            context=Qt.ShortcutContext.WidgetShortcut,
        )
        return view

    def sizeHint(self) -> QSize:
        """Wide enough for most titles."""
        return QSize(UNIT * 28, UNIT * 60)

    def _choose(self, index: QModelIndex) -> None:
        if chat := self._chats.chat_at(index.row()):
            self.chat_chosen.emit(chat.id)

    def _open_menu(self, position: QPoint) -> None:
        index = self.list.indexAt(position)
        if not index.isValid():
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Rename"), QKeySequence(Qt.Key.Key_F2), lambda: self.list.edit(index))
        menu.addAction(self.tr("Delete"), QKeySequence(Qt.Key.Key_Delete), self._ask_to_delete)
        menu.popup(self.list.viewport().mapToGlobal(position))

    def _ask_to_delete(self) -> None:
        chat = self._chats.chat_at(self.list.currentIndex().row())
        if chat is None:
            return
        title = self.list.currentIndex().data()
        box = QMessageBox(
            QMessageBox.Icon.Question,
            self.tr("Delete chat"),
            self.tr(
                "Delete the chat \N{LEFT DOUBLE QUOTATION MARK}{0}\N{RIGHT DOUBLE QUOTATION MARK} "
                "with all its messages? This cannot be undone."
            ).format(title),
            QMessageBox.StandardButton.Cancel,
            self.window(),
        )
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        delete = box.addButton(self.tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(lambda: self.delete_requested.emit(chat.id))
        box.open()
