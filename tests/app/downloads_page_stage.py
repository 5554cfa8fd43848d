"""The page of downloads in a window of its own, over a scripted queue."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.views.download_row import DownloadRow
from app.views.downloads_page import DownloadsPage
from engine.download.download_values import DownloadState
from tests.app.conftest import settle
from tests.app.download_stage import ScriptedQueue, downloads_of


class Stage:
    """The page in a window of its own, with what it asked for."""

    def __init__(self, qtbot: QtBot) -> None:
        self.queue = ScriptedQueue()
        self.service = downloads_of(self.queue)
        self.shown: list[Path] = []
        self.opened: list[str] = []
        self.page = DownloadsPage(self.service, show_file=self.shown.append, open_page=self.opened.append)
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.setMinimumSize(320, 200)
        column = QVBoxLayout(self.window)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.page)
        self.window.resize(700, 600)
        self.window.show()
        self.window.activateWindow()
        settle()

    def show(self, *states: DownloadState) -> list[DownloadRow]:
        self.queue.show(*states)
        self.service.move("", 0)  # as a wish of the user, this looks at once
        self.queue.asked.clear()
        settle()
        return self.page.list.rows


def buttons_of(row: DownloadRow) -> set[str]:
    """What stands on those that are shown."""
    return {button.text() for button in row.findChildren(QPushButton) if button.isVisibleTo(row)}
