"""The window: where its parts stand, and its geometry.

It owns the widgets and arranges them; `app.connections` connects them with the services. `closing` comes
once, before the window goes. It knows nothing about chats, models or settings.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.item_models.chat_list_item_model import ChatListItemModel
from app.item_models.transcript_item_model import TranscriptItemModel
from app.services.gauge_history import GaugeHistory
from app.views.command_palette import CommandPalette
from app.views.composer import Composer
from app.views.empty_page import EmptyPage
from app.views.memory_panel import MemoryPanel
from app.views.message_edit import local_files
from app.views.model_bar import ModelBar
from app.views.notice_banner import NoticeBanner
from app.views.sidebar import Sidebar
from app.views.status_strip import StatusStrip
from app.views.tokens import UNIT
from app.views.transcript_view import TranscriptView


class MainWindow(QMainWindow):
    """Weir's one window."""

    closing = Signal()
    """The window is being closed: end everything now."""

    files_dropped = Signal(list)
    """Paths of files that were dropped where no other part takes them."""

    def __init__(
        self, chats: ChatListItemModel, transcript: TranscriptItemModel, history: GaugeHistory
    ) -> None:
        super().__init__()
        self.setWindowTitle("Weir")
        self._closed = False
        self.may_close: Callable[[], bool] = lambda: True
        self._other_page: QWidget | None = None
        self._messages = transcript
        self.sidebar = Sidebar(chats)
        self.model_bar = ModelBar()
        self.transcript = TranscriptView(transcript)
        self.banner = NoticeBanner()
        self.composer = Composer()
        self.memory = MemoryPanel(history)
        self.status = StatusStrip()
        self.empty = EmptyPage()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.transcript)
        self._arrange()
        self.palette_of_commands = CommandPalette(self)
        for signal in (transcript.modelReset, transcript.rowsInserted, transcript.rowsRemoved):
            signal.connect(self._choose_page)
        self.resize(QSize(UNIT * 140, UNIT * 95).boundedTo(self.screen().availableGeometry().size()))
        self.setMinimumSize(UNIT * 60, UNIT * 40)
        self.composer.setFocus()
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files may be dropped anywhere."""
        if local_files(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """Hand them on; a copy, so that nobody takes them for moved and deletes them."""
        self.files_dropped.emit(local_files(event.mimeData()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def geometry_text(self) -> str:
        """Where the window stands, for `restore_geometry_text`."""
        return bytes(self.saveGeometry().toBase64().data()).decode("ascii")

    def restore_geometry_text(self, text: str | None) -> None:
        """Stand where the window stood; anything unreadable is ignored."""
        if text:
            self.restoreGeometry(QByteArray.fromBase64(text.encode("ascii", "ignore")))

    def show_chat(self, chat_id: str | None, draft: str) -> None:
        """Another chat is open, with what was written in it but not sent."""
        self.show_page(None)
        self.sidebar.select(chat_id)
        self.banner.set_chat(chat_id)
        self.composer.set_text(draft)
        self.composer.setFocus()

    def show_page(self, page: QWidget | None, name: str | None = None) -> None:
        """Show `page` in place of the chat, marked as `name`; None shows the chat again."""
        if page and self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self._other_page = page
        self._choose_page()
        self.composer.setVisible(page is None)
        self.sidebar.show_page(name if page else None)
        (page or self.composer).setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Tell once, then go."""
        if not self._closed and not self.may_close():
            event.ignore()
            return
        if not self._closed:
            self._closed = True
            self.hide()  # at once; ending the engine may take a moment
            self.closing.emit()
        super().closeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Another font makes the column of messages wider, and what stands below it."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._widen_foot()

    def _widen_foot(self) -> None:
        self._foot.setMaximumWidth(self.transcript.widest_column() + UNIT * 4)

    def _arrange(self) -> None:
        main = QWidget()
        main.setObjectName("main")
        column = QVBoxLayout(main)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.model_bar)
        column.addWidget(self.pages, 1)
        column.addWidget(self._make_foot())
        column.addWidget(self.memory)
        column.addWidget(self.status)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setHandleWidth(1)
        splitter.addWidget(self.sidebar)
        splitter.addWidget(main)
        splitter.setStretchFactor(1, 1)
        splitter.setChildrenCollapsible(False)
        splitter.setSizes([UNIT * 30, UNIT * 110])
        self.setCentralWidget(splitter)

    def _make_foot(self) -> QWidget:
        """The banner and the composer, in a column as wide as the messages."""
        self._foot = inner = QWidget()
        self._widen_foot()
        column = QVBoxLayout(inner)
        column.setContentsMargins(UNIT * 2, UNIT, UNIT * 2, UNIT * 3 // 2)
        column.setSpacing(UNIT)
        column.addWidget(self.banner)
        column.addWidget(self.composer)
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addStretch(1)
        row.addWidget(inner, 1000)
        row.addStretch(1)
        return foot

    def _choose_page(self) -> None:
        chat = self.transcript if self._messages.rowCount() else self.empty
        self.pages.setCurrentWidget(self._other_page or chat)
