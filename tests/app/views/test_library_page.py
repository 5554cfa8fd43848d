"""The page of installed models: what it shows, what can be done there, and with which keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAccessible, QDropEvent, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.data.installed_model import Fit, Verification
from app.item_models.library_item_model import Order
from app.views import library_words
from app.views.library_page import LibraryPage
from app.views.models_page import ModelsPage, ModelsPart
from app.views.theme import apply_theme
from engine.memory.memory_plan import Verdict
from engine.models.known_folders import ModelFolder, ModelSource
from tests.app.conftest import settle
from tests.app.library_stage import LibraryStage, installed, small_model


class Shelf:
    """The page in a window of its own, with what it asked for."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self.starter = small_model(folder / "site" / "starter.gguf")
        others = [ModelFolder(folder / "jan", ModelSource.JAN)]
        self.stage = LibraryStage(folder, others=others, starter=self.starter)
        self.shown: list[Path] = []
        self.page = LibraryPage(
            *(self.stage.library, self.stage.removal, self.stage.imports, self.stage.preferences),
            show_file=self.shown.append,
        )
        self.loads: list[str] = []
        self.page.model_chosen.connect(self.loads.append)
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.setMinimumSize(320, 200)  # as the real window: not what its parts ask for
        column = QVBoxLayout(self.window)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.page)

    def open(self, *names: str, width: int = 900) -> LibraryPage:
        for name in names:
            path = self.stage.own / name
            if "bad" in name:
                path.write_bytes(b"<html>")
            else:
                small_model(path)
        self.window.resize(width, 500)
        self.window.show()
        self.window.activateWindow()
        self.page.list.setFocus()
        settle()
        return self.page

    def mark(self, name: str) -> None:
        self.page.list.mark(self.stage.own / name)
        settle()

    def press(self, key: Qt.Key, widget: QWidget | None = None) -> None:
        QTest.keyClick(widget or self.page.list, key)
        settle()

    def answer(self, words: str) -> None:
        (button,) = [button for button in self.page.question.buttons if button.text() == words]
        button.click()
        settle()

    def names(self) -> list[str]:
        models = self.page.models
        return [models.index(row).data() for row in range(models.rowCount())]


@pytest.fixture
def shelf(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.setattr("send2trash.send2trash", Path.unlink)
    shelf = Shelf(qtbot, tmp_path)
    yield shelf
    shelf.stage.close()


def test_the_page_lists_what_there_is_when_it_is_shown(shelf: Shelf) -> None:
    page = shelf.open("b.gguf", "a.gguf", "bad.gguf")
    assert shelf.names() == ["a", "b", "starter", "bad"]
    assert page.list.current() is not None
    shelf.window.hide()
    small_model(shelf.stage.own / "c.gguf")
    shelf.window.show()
    settle()
    assert shelf.names() == ["a", "b", "c", "starter", "bad"]


def test_enter_loads_the_marked_model_and_a_broken_one_never(shelf: Shelf) -> None:
    page = shelf.open("a.gguf", "bad.gguf")
    shelf.mark("a.gguf")
    shelf.press(Qt.Key.Key_Return)
    assert shelf.loads == [str(shelf.stage.own / "a.gguf")]
    shelf.mark("bad.gguf")
    assert not page.foot.load.isEnabled()
    assert "web page" in page.foot.reason.text()
    shelf.press(Qt.Key.Key_Return)
    page.list.doubleClicked.emit(page.list.currentIndex())
    assert len(shelf.loads) == 1
    shelf.mark("a.gguf")
    page.foot.load.click()
    assert len(shelf.loads) == 2
    assert page.foot.reason.isHidden()


def test_delete_asks_first_and_keeps_by_default(shelf: Shelf) -> None:
    page = shelf.open("a.gguf")
    shelf.mark("a.gguf")
    shelf.press(Qt.Key.Key_Delete)
    assert "Move a (models" in page.question.text.text()
    assert page.question.buttons[-1].hasFocus()
    shelf.press(Qt.Key.Key_Escape, page.question.buttons[-1])
    assert page.question.isHidden()
    assert page.list.hasFocus()
    shelf.press(Qt.Key.Key_Delete)
    shelf.answer("Move to the trash")
    assert shelf.names() == ["starter"]
    assert not (shelf.stage.own / "a.gguf").exists()


def test_without_a_trash_it_is_asked_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    page = shelf.open("a.gguf")
    shelf.mark("a.gguf")
    page.foot.delete.click()
    shelf.answer("Move to the trash")
    assert "deleted for ever" in page.question.text.text()
    assert (shelf.stage.own / "a.gguf").exists()
    shelf.answer("Delete for ever")
    assert shelf.names() == ["starter"]


def test_what_must_not_be_deleted_says_so(shelf: Shelf) -> None:
    page = shelf.open("a.gguf")
    page.list.mark(shelf.starter)
    settle()
    assert not page.foot.delete.isEnabled()
    assert "Weir deletes no models" in page.foot.delete.toolTip()
    shelf.press(Qt.Key.Key_Delete)
    assert "Weir deletes no models" in page.question.text.text()
    shelf.answer("Dismiss")
    shelf.stage.in_use = [str(shelf.stage.own / "a.gguf")]
    page.show_loaded(str(shelf.stage.own / "a.gguf"))
    shelf.mark("a.gguf")
    assert "a is loaded. Load another model first, then delete it." in page.foot.delete.toolTip()
    menu = page.list.menu_of(shelf.stage.library.models[shelf.stage.own / "a.gguf"])
    (delete,) = [action for action in menu.actions() if action.text() == "Delete"]
    assert not delete.isEnabled()
    assert "a is loaded." in delete.toolTip()
    assert menu.toolTipsVisible()
    menu.close()


def test_f2_renames_and_an_empty_name_is_the_files(shelf: Shelf) -> None:
    page = shelf.open("a.gguf", "b.gguf")
    shelf.mark("a.gguf")
    shelf.press(Qt.Key.Key_F2)
    editor = page.list.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "a"
    editor.setText("zz & co")
    shelf.press(Qt.Key.Key_Return, editor)
    assert shelf.names() == ["b", "starter", "zz & co"]
    current = page.list.current()
    assert current and current.path == shelf.stage.own / "a.gguf"
    assert shelf.loads == []  # Enter ended the name, and did nothing else
    page.models.setData(page.list.currentIndex(), " ")
    assert shelf.names() == ["a", "b", "starter"]


def test_path_and_folder_of_the_marked_model(shelf: Shelf) -> None:
    page = shelf.open("a.gguf")
    path = shelf.stage.own / "a.gguf"
    shelf.mark("a.gguf")
    QTest.keySequence(page.list, QKeySequence(QKeySequence.StandardKey.Copy))
    assert QGuiApplication.clipboard().text() == str(path)
    QGuiApplication.clipboard().clear()
    page.foot.copy.click()
    assert QGuiApplication.clipboard().text() == str(path)
    page.foot.reveal.click()
    assert shelf.shown == [path]


def test_finding_narrows_the_list_and_keeps_what_was_marked(shelf: Shelf) -> None:
    page = shelf.open("alpha.gguf", "beta.gguf")
    shelf.mark("beta.gguf")
    QTest.keyClicks(page.field, "bet")
    assert shelf.names() == ["beta"]
    shelf.press(Qt.Key.Key_Return, page.field)
    assert shelf.loads == [str(shelf.stage.own / "beta.gguf")]
    QTest.keyClicks(page.field, "zzz")
    settle()
    assert page.empty_title.isVisible()
    assert page.empty_title.text() == "No model is called so"
    assert page.discover.isHidden()
    shelf.press(Qt.Key.Key_Escape, page.field)
    assert shelf.names() == ["alpha", "beta", "starter"]
    current = page.list.current()
    assert current and current.name == "beta"


def test_the_order_can_be_chosen(shelf: Shelf) -> None:
    page = shelf.open("b.gguf", "a.gguf")
    page.models.put([installed("zz", size=10**12)])
    page.order.chosen.emit(Order.SIZE)
    assert shelf.names()[0] == "zz"


def test_an_empty_library_says_what_to_do_first(qtbot: QtBot, tmp_path: Path) -> None:
    stage = LibraryStage(tmp_path)
    page = LibraryPage(stage.library, stage.removal, stage.imports, stage.preferences)
    qtbot.addWidget(page)
    page.setMinimumSize(320, 200)
    page.show()
    settle()
    assert page.empty_title.text() == "No models yet"
    with qtbot.waitSignal(page.discover_requested):
        page.discover.click()
    assert page.add_folder.isVisible()
    assert page.foot.isHidden()
    stage.close()


def test_a_folder_that_cannot_be_searched_is_told(shelf: Shelf, tmp_path: Path) -> None:
    page = shelf.open("a.gguf")
    shelf.stage.library.add_folder(tmp_path / "gone")
    assert "gone cannot be searched" in page.skipped.text()
    assert page.skipped.isVisible()
    page.folders.fill()
    texts = [action.text() for action in page.folders.menu_of_folders.actions()]
    assert f"Do not search {tmp_path / 'gone'}" in texts or any("gone" in text for text in texts)
    page.folders.folder_removed.emit(str(tmp_path / "gone"))
    assert page.skipped.isHidden()


def _drop(page: LibraryPage, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    page.dropEvent(
        QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )
    settle()


@pytest.mark.parametrize(
    ("answer", "listed", "stays"),
    [("Use it there", "m.gguf", True), ("Copy", "imported/m.gguf", True), ("Move", "imported/m.gguf", False)],
)
def test_a_dropped_file_is_used_copied_or_moved(
    shelf: Shelf, tmp_path: Path, answer: str, listed: str, stays: bool
) -> None:
    path = small_model(tmp_path / "usb" / "m.gguf")
    page = shelf.open()
    _drop(page, path)
    assert "m.gguf" in page.question.text.text()
    shelf.answer(answer)
    assert set(shelf.stage.listed()) == {"starter.gguf", listed}
    assert path.exists() is stays
    assert page.importing.isHidden()


def test_other_files_are_refused_and_dropped_folders_are_searched(shelf: Shelf, tmp_path: Path) -> None:
    page = shelf.open()
    text = tmp_path / "notes.txt"
    text.touch()
    _drop(page, text)
    assert ".gguf" in page.question.text.text()
    small_model(tmp_path / "usb" / "m.gguf")
    _drop(page, tmp_path / "usb")
    assert "m.gguf" in shelf.stage.listed()


def test_a_copy_can_be_cancelled(shelf: Shelf, tmp_path: Path) -> None:
    page = shelf.open()
    path = small_model(tmp_path / "usb" / "m.gguf")
    shelf.stage.jobs.holds = True
    shelf.page.offer_files([path])
    shelf.answer("Copy")
    shelf.stage.imports.progress.emit(path, 0.25)
    assert page.importing.isVisible()
    assert page.importing.bar.value() == 250
    page.importing.cancel.click()
    while shelf.stage.jobs.held:
        shelf.stage.jobs.go()
    assert page.importing.isHidden()
    assert list(shelf.stage.listed()) == ["starter.gguf"]


def test_the_menu_offers_what_can_be_done(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shelf.open("bad.gguf")
    single = small_model(tmp_path / "usb" / "m.gguf")
    shelf.stage.library.use_files([single])
    shelf.mark("bad.gguf")
    opened: list[QMenu] = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, _place: opened.append(menu))
    shelf.press(Qt.Key.Key_Menu)
    (menu,) = opened
    state = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    assert state == {
        "Load": False,
        "Rename": True,
        "Show in its folder": True,
        "Copy the path": True,
        "Quantize \N{HORIZONTAL ELLIPSIS}": False,
        "Delete": True,
    }
    menu.close()
    settle()
    menu = page.list.menu_of(shelf.stage.library.models[single])
    (forget,) = [action for action in menu.actions() if action.text() == "Take off the list"]
    forget.trigger()
    menu.close()
    assert "m.gguf" not in shelf.stage.listed()
    assert single.exists()


def test_a_screen_reader_hears_the_whole_row(shelf: Shelf) -> None:
    page = shelf.open("a.gguf", "bad.gguf")
    shelf.stage.library.take_fits({shelf.stage.own / "a.gguf": Fit(Verdict.TIGHT, "It just fits.")})
    row = page.models.row_of(shelf.stage.own / "a.gguf")
    assert row is not None
    heard = page.models.index(row).data(Qt.ItemDataRole.AccessibleTextRole)
    assert heard.startswith("a, F16, ")
    assert heard.endswith("MiB, 8,192 tokens, Just fits, models, unverified")
    page.show_loaded(str(shelf.stage.own / "a.gguf"))
    heard = page.models.index(row).data(Qt.ItemDataRole.AccessibleTextRole)
    assert heard.endswith("Just fits, loaded, models, unverified")
    row = page.models.row_of(shelf.stage.own / "bad.gguf")
    assert row is not None
    assert "web page" in page.models.index(row).data(Qt.ItemDataRole.AccessibleTextRole)
    for widget in page.findChildren(QPushButton):
        interface = QAccessible.queryAccessibleInterface(widget)
        assert interface.text(QAccessible.Text.Name), widget


def test_a_tool_tip_shows_markup_in_a_name_as_text(shelf: Shelf) -> None:
    assert "&lt;img" in library_words.tool_tip(installed("<img src=x>"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
@pytest.mark.parametrize("width", [420, 1100])
def test_rows_are_painted_in_every_theme_direction_and_width(
    shelf: Shelf, theme: str, direction: Qt.LayoutDirection, width: int
) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    apply_theme(application, theme)
    shelf.page.setLayoutDirection(direction)
    page = shelf.open("a.gguf", "bad.gguf", width=width)
    shelf.stage.library.take_fits({shelf.stage.own / "a.gguf": Fit(Verdict.DOES_NOT_FIT, "Too large.")})
    picture = page.list.viewport().grab().toImage()
    colours = {picture.pixel(x, y) for x in range(0, picture.width(), 3) for y in range(0, 130, 3)}
    assert len(colours) > 20  # letters, not an empty area
    assert page.list.horizontalScrollBar().maximum() == 0
    apply_theme(application, "light")


def test_the_parts_of_the_page_of_models_are_reached_by_keys(qtbot: QtBot, shelf: Shelf) -> None:
    host = ModelsPage()
    qtbot.addWidget(host)
    discover, downloads = QWidget(), QWidget()
    host.set_parts(shelf.page, discover, downloads)
    host.setMinimumSize(320, 200)
    host.resize(900, 600)
    host.show()
    host.activateWindow()
    host.setFocus()
    settle()
    assert shelf.page.list.hasFocus()
    closed: list[None] = []
    host.closed.connect(lambda: closed.append(None))
    QTest.keyClick(shelf.page.list, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert host.tabs.currentIndex() == ModelsPart.DISCOVER
    assert discover.isVisible()
    host.show_part(ModelsPart.DOWNLOADS)
    assert downloads.isVisible()
    QTest.keyClick(host.tabs, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert host.part == ModelsPart.INSTALLED
    host.set_count(2)
    assert host.tabs.tabText(ModelsPart.DOWNLOADS) == "Downloads (2)"
    QTest.keyClick(shelf.page.list, Qt.Key.Key_Escape)
    assert closed == [None]
    shelf.page.setParent(None)


def test_f2_is_for_the_marked_model_before_it_is_for_the_windows_chat(shelf: Shelf) -> None:
    page = shelf.open("a.gguf")
    chats: list[str] = []
    QShortcut(QKeySequence(Qt.Key.Key_F2), shelf.window).activated.connect(lambda: chats.append("renamed"))
    shelf.mark("a.gguf")
    shelf.press(Qt.Key.Key_F2)
    assert isinstance(page.list.findChild(QLineEdit), QLineEdit)
    assert chats == []


def test_the_buttons_of_a_narrow_window_stand_in_two_lines_and_none_is_cut(shelf: Shelf) -> None:
    for width, n_lines in ((380, 2), (900, 1)):
        page = shelf.open("a.gguf", width=width)
        foot = page.foot
        buttons = (foot.rename, foot.reveal, foot.copy, foot.delete, foot.load)
        assert len({button.y() for button in buttons}) == n_lines
        for button in buttons:
            assert button.width() >= button.sizeHint().width(), button.text()
            assert page.rect().contains(button.mapTo(page, button.rect().topLeft()))
            assert page.rect().contains(button.mapTo(page, button.rect().bottomRight()))


def test_a_verified_file_was_so_when_it_was_downloaded(shelf: Shelf) -> None:
    model = replace(installed("m"), verification=Verification.VERIFIED)
    assert "Verified when it was downloaded." in library_words.tool_tip(model)
    assert "Verified" not in library_words.tool_tip(installed("m"))


def test_a_context_that_no_model_was_trained_for_is_not_shown(shelf: Shelf) -> None:
    assert library_words.figures(installed("m", n_ctx_train=2**31 - 1))[2] == ""
    assert library_words.figures(installed("m", n_ctx_train=10_485_760))[2] == "10,485,760 tokens"
