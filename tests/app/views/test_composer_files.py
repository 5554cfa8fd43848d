"""Files of a message: how they come, what their chips say, and when they can be sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.data.stored_message import Attachment
from app.services.attachments import AttachmentState, DraftAttachment
from app.views.attachment_chips import MAX_ROWS
from app.views.composer import Composer
from tests.app.conftest import settle

NOTES = DraftAttachment("1", "notes.md", "", AttachmentState.READY, Attachment("notes.md", "text"))
READING = DraftAttachment("2", "book.pdf", "/home/book.pdf")
REFUSED = DraftAttachment("3", "a&b.png", "/home/a&b.png", AttachmentState.REFUSED, None, "It is not a text.")


@pytest.fixture
def composer(qtbot: QtBot) -> Iterator[Composer]:
    page = QWidget()
    page.resize(600, 500)
    qtbot.addWidget(page)
    composer = Composer(page)
    composer.resize(580, 300)
    page.show()
    page.activateWindow()
    composer.setFocus()
    settle()
    yield composer
    page.close()


def _data(*urls: str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    return data


def test_chips_tell_name_and_tokens(composer: Composer) -> None:
    composer.show_attachments([NOTES, READING, REFUSED], {"1": 1204}.get)
    said = [(chip.name.text(), chip.state.text()) for chip in composer.chips.chips]
    assert said == [("notes.md", "1,204 tokens"), ("book.pdf", "reading …"), ("a&b.png", "not attached")]
    assert composer.chips.chips[0].accessibleName() == "notes.md, 1,204 tokens"
    assert composer.chips.chips[2].toolTip() == "It is not a text."
    composer.show_attachments([NOTES], lambda _id: None)
    assert composer.chips.chips[0].state.text() == "n/a tokens"
    composer.show_attachments([], lambda _id: None)
    assert composer.chips.isHidden()


def test_a_name_is_never_markup(composer: Composer) -> None:
    item = DraftAttachment("1", "<b>x</b>.txt", "", AttachmentState.READY, Attachment("x", "y"))
    composer.show_attachments([item], lambda _id: None)
    assert composer.chips.chips[0].name.textFormat() == Qt.TextFormat.PlainText


def test_many_chips_take_three_rows_within_the_width(composer: Composer) -> None:
    items = [DraftAttachment(str(n), f"file {n}.txt") for n in range(20)]
    composer.show_attachments(items, lambda _id: None)
    settle()
    chip = composer.chips.chips[0]
    assert composer.chips.height() <= MAX_ROWS * (chip.height() + 8)
    assert all(chip.geometry().right() < composer.chips.width() for chip in composer.chips.chips)
    assert len({(chip.x(), chip.y()) for chip in composer.chips.chips}) == 20


def test_chips_give_way_where_there_is_no_room(composer: Composer) -> None:
    composer.set_text("line\n" * 30)
    composer.show_attachments([DraftAttachment(str(n), f"file {n}.txt") for n in range(20)], lambda _id: None)
    settle()
    composer.resize(580, composer.minimumSizeHint().height())
    settle()
    assert composer.minimumSizeHint().height() < 140
    assert composer.edit.geometry().bottom() < composer.chips.geometry().top()
    assert composer.chips.geometry().bottom() < composer.attach.geometry().top()
    assert composer.chips.height() >= composer.chips.chips[0].height()


def test_first_chip_stands_at_the_right_where_people_read_from_there(composer: Composer) -> None:
    composer.window().setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    composer.show_attachments([NOTES, READING], lambda _id: None)
    settle()
    first, second = composer.chips.chips
    assert first.x() > second.x()


def test_keyboard_reaches_and_removes_chips(qtbot: QtBot, composer: Composer) -> None:
    composer.show_attachments([NOTES, READING], lambda _id: None)
    reached = []
    for _ in range(3):
        QTest.keyClick(composer.window().focusWidget(), Qt.Key.Key_Tab)
        reached.append(composer.window().focusWidget().accessibleName())
    assert reached == ["Remove notes.md", "Remove book.pdf", "Attach files"]
    composer.chips.chips[0].remove.setFocus()
    with qtbot.waitSignal(composer.attachment_removed, timeout=500) as removed:
        QTest.keyClick(composer.chips.chips[0].remove, Qt.Key.Key_Space)
    assert removed.args == ["1"]
    composer.show_attachments([READING], lambda _id: None)
    assert composer.window().focusWidget() is composer.chips.chips[0].remove
    composer.show_attachments([], lambda _id: None)
    assert composer.window().focusWidget() is composer.edit


def test_a_file_alone_can_be_sent_once_it_is_read(qtbot: QtBot, composer: Composer) -> None:
    composer.show_attachments([READING], lambda _id: None)
    assert not composer.button.isEnabled()
    with qtbot.assertNotEmitted(composer.send_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert "still being read" in composer.problem.text()
    composer.show_attachments([NOTES], lambda _id: None)
    assert composer.problem.isHidden()
    with qtbot.waitSignal(composer.send_requested, timeout=500):
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)


def test_a_refused_file_alone_is_nothing_to_send(qtbot: QtBot, composer: Composer) -> None:
    composer.show_attachments([REFUSED], lambda _id: None)
    assert not composer.button.isEnabled()
    with qtbot.assertNotEmitted(composer.send_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)


def test_pasted_files_are_offered_and_not_written(qtbot: QtBot, composer: Composer) -> None:
    with qtbot.waitSignal(composer.files_offered, timeout=500) as offered:
        composer.edit.insertFromMimeData(_data("file:///home/a%20b.txt", "https://example.org/x.txt"))
    assert offered.args == [["/home/a b.txt"]]
    assert composer.text() == ""


def test_pasted_addresses_and_files_of_other_machines_are_text(qtbot: QtBot, composer: Composer) -> None:
    data = _data("https://example.org/x.txt", "file://server/share/x.txt")
    data.setText("https://example.org/x.txt")
    with qtbot.assertNotEmitted(composer.files_offered):
        composer.edit.insertFromMimeData(data)
    assert composer.text() == "https://example.org/x.txt"


def test_files_can_be_dropped_on_the_box_and_are_copied(qtbot: QtBot, composer: Composer) -> None:
    data, place = _data("file:///home/a.txt", "file:///home/b.txt"), composer.edit.rect().center()
    mouse, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    both = Qt.DropAction.MoveAction | Qt.DropAction.CopyAction
    enter = QDragEnterEvent(place, both, data, mouse, none)
    QApplication.sendEvent(composer.edit.viewport(), enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(QPoint(20, 20)), both, data, mouse, none)
    with qtbot.waitSignal(composer.files_offered, timeout=500) as offered:
        QApplication.sendEvent(composer, drop)
    assert offered.args == [["/home/a.txt", "/home/b.txt"]]
    assert drop.dropAction() is Qt.DropAction.CopyAction


@pytest.mark.qt_log_ignore("propagateSizeHints")
def test_files_are_chosen_without_stopping_the_window(qtbot: QtBot, composer: Composer) -> None:
    composer.attach.click()
    dialog = composer.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.fileMode() is QFileDialog.FileMode.ExistingFiles
    with qtbot.waitSignal(composer.files_offered, timeout=500) as offered:
        dialog.filesSelected.emit(["/home/a.txt"])
    assert offered.args == [["/home/a.txt"]]
    dialog.reject()
    settle()
    assert composer.findChild(QFileDialog) is None
