"""The page that discovers models: what it shows, what it asks, and what can be done by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QSplitter, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.views.discover_page import DiscoverPage
from app.views.download_button import DownloadOffer
from app.views.remote_file_list import AT_ONCE
from app.views.remote_file_row import RemoteFileRow
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RemoteModel
from tests.app.conftest import settle
from tests.app.hub_stage import SMALL, HubStage, gguf_repo, hub_alone, model_file
from tests.app.planned_machine import GIB, MIB, AtOnce, card, cpu, machine
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import FakeHub

REPO = "o/model-GGUF"
TOKEN = "hf_enteredTokenOfTheTests0123456789"


@pytest.fixture(scope="module")
def model() -> HubFile:
    return model_file()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_alone(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def stage(server: FakeHub, tmp_path: Path, qtbot: QtBot) -> HubStage:
    return HubStage(server, tmp_path, lambda _name: AtOnce())


@pytest.fixture
def page(stage: HubStage, qtbot: QtBot) -> Iterator[DiscoverPage]:
    window = QWidget()
    window.setMinimumSize(320, 200)  # as the real window: not what its parts ask for
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.setContentsMargins(0, 0, 0, 0)
    page = stage.page()
    column.addWidget(page)
    window.resize(900, 600)
    window.show()
    window.activateWindow()
    settle()
    yield page


def search(page: DiscoverPage, text: str) -> None:
    """Type and press Enter."""
    page.field.setText(text)
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    settle()


def open_first(page: DiscoverPage, text: str = "model") -> list[RemoteFileRow]:
    search(page, text)
    page.results.list.mark(0)
    QTest.keyClick(page.results.list, Qt.Key.Key_Return)
    settle()
    return page.results.repository.files.rows


def test_empty_page_proposes_models_and_asks_nobody(page: DiscoverPage, server: FakeHub) -> None:
    assert len(page.proposals.rows) >= 2
    assert page.proposals.rows[0].isVisible()
    assert "most capable" in page.proposals.rows[0].reason.text()
    assert all("tok/s" in row.reason.text() for row in page.proposals.rows)
    assert server.seen == []


def test_proposal_is_looked_up_when_it_is_chosen(
    page: DiscoverPage, server: FakeHub, model: HubFile, qtbot: QtBot
) -> None:
    entry = page.proposals.rows[0].proposal.model
    server.add(gguf_repo(entry.repo_id, model, [entry.file, "mmproj-F16.gguf"]))
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    page.proposals.rows[0].button.click()
    assert [found.id for found in wanted] == [entry.id]
    assert len(server.seen) == 1
    page.show_downloads([], [wanted[0].id.upper()])
    assert page.proposals.rows[0].button.text() == "Downloading"


def test_proposal_that_is_gone_says_so_and_can_be_tried_again(page: DiscoverPage, server: FakeHub) -> None:
    server.faults.api_status = 503
    page.proposals.rows[0].button.click()
    assert "503" in page.proposals.problem.text.text()
    assert page.proposals.rows[0].button.state is DownloadOffer.POSSIBLE
    page.proposals.problem.buttons[Remedy.TRY_AGAIN].click()
    assert len(server.seen) == 2


def test_files_of_a_repository_have_verdict_cache_and_speed(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, downloads=12_345, likes=7))
    rows = open_first(page)
    assert [row.name.text() for row in rows] == ["Q2_K", "Q4_K_M", "Q8_0"]
    words = rows[1].verdict.text()
    assert words.startswith("Fits")
    assert "KV 180 MiB for 8,192 tokens" in words
    assert "tok/s" in words
    assert "12.3k downloads" in page.results.repository.facts.text()
    assert "apache-2.0" in page.results.repository.facts.text()


def test_download_button_asks_for_its_file(page: DiscoverPage, server: FakeHub, model: HubFile) -> None:
    server.add(gguf_repo(REPO, model))
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    rows = open_first(page)
    rows[1].button.setFocus()
    QTest.keyClick(rows[1].button, Qt.Key.Key_Space)
    assert [found.id for found in wanted] == [f"{REPO}/model-Q4_K_M.gguf"]
    assert rows[1].button.accessibleName().startswith("Download: Q4_K_M")


def test_installed_and_running_downloads_cannot_be_asked_for_again(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    rows = open_first(page)
    page.show_downloads([rows[0].model.id], [rows[1].model.id])
    assert [row.button.text() for row in rows] == ["Installed", "Downloading", "Download"]
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    for row in rows:
        row.button.click()
    assert wanted == [rows[2].model]
    page.show_downloads([], [])
    rows[0].button.click()
    assert wanted == [rows[2].model, rows[0].model]


def test_second_press_of_the_space_bar_starts_no_other_download(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    rows = open_first(page)
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    page.download_requested.connect(lambda wish: page.show_downloads([], [wish.id]))
    rows[0].button.setFocus()
    for _ in range(2):
        focused = QApplication.focusWidget()
        assert focused is rows[0].button
        QTest.keyClick(focused, Qt.Key.Key_Space)
    assert wanted == [rows[0].model]
    assert rows[0].button.text() == "Downloading"


def test_download_that_has_failed_can_be_asked_for_again(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    rows = open_first(page)
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    page.show_downloads([], [], [rows[0].model.id])
    assert rows[0].button.text() == "Try again"
    rows[0].button.click()
    assert wanted == [rows[0].model]


@pytest.mark.parametrize(
    "content", [b"<!DOCTYPE html>" * 100, b"version https://git-lfs.github.com/spec/v1\n", b""]
)
def test_what_is_no_model_cannot_be_downloaded_and_says_why(
    page: DiscoverPage, server: FakeHub, model: HubFile, content: bytes
) -> None:
    repo = server.add(gguf_repo(REPO, model, ["good-Q8_0.gguf", "bad-Q4_K_M.gguf"]))
    repo.files["bad-Q4_K_M.gguf"] = HubFile(content)
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    bad, good = open_first(page)
    bad.button.click()
    assert wanted == []
    assert bad.button.text() == "Not usable"
    assert "bad-Q4_K_M.gguf" in bad.button.toolTip()
    assert bad.reason.isVisible()
    assert bad.reason.text().endswith("Nothing was fetched: choose another file.")
    good.button.click()
    assert wanted == [good.model]


def test_what_does_not_fit_says_why(
    page: DiscoverPage, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    stage.bench.shrink_ram(300 * MIB)
    row = open_first(page)[0]
    assert row.verdict.text().startswith("Does not fit")
    assert "tok/s" not in row.verdict.text()
    assert row.reason.isVisible()
    assert "RAM" in row.reason.text()
    assert row.button.state is DownloadOffer.POSSIBLE, "it may be meant for another machine"


def test_layers_on_the_card_are_told(
    page: DiscoverPage, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    stage.bench.hardware = machine(cpu(8 * GIB), card(free=900 * MIB))
    assert "of 31 layers on the GPU" in open_first(page)[0].verdict.text()


def test_model_with_parts_missing_cannot_be_downloaded(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, ["model-Q4_K_M-00001-of-00002.gguf"]))
    (row,) = open_first(page)
    assert row.verdict.text() == "Parts are missing in the repository."
    wanted: list[RemoteModel] = []
    page.download_requested.connect(wanted.append)
    row.button.click()
    assert wanted == []
    assert row.button.toolTip() == row.verdict.text()


def test_gated_repository_says_so_with_buttons_for_its_page_and_a_token(
    page: DiscoverPage, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, gated="auto"))
    open_first(page)
    gate = page.results.repository.gate
    assert gate.isVisible()
    assert "accept its terms" in gate.text.text()
    assert not page.results.repository.problem.isVisible(), "the same is not said twice"
    gate.buttons[Remedy.ACCEPT_TERMS].click()
    assert stage.opened_urls == [f"{server.endpoint}/{REPO}"]
    gate.buttons[Remedy.ENTER_TOKEN].click()
    assert page.sheet.isVisible()


def test_entered_token_opens_a_gated_repository_and_is_never_shown(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, gated="auto"))
    open_first(page)
    page.token_button.click()
    field = page.sheet.field
    assert field.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(field, TOKEN)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == ""
    assert "file that only you can read" in page.sheet.source.text()
    assert page.sheet.delete_button.isVisible()
    assert page.results.repository.files.rows[0].verdict.text().startswith("Fits")
    assert not page.results.repository.gate.isVisible(), "the token has opened it"
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not page.sheet.isVisible()
    page.token_button.click()
    page.sheet.delete_button.click()
    assert page.sheet.source.text().startswith("No token")


def test_other_format_is_named_and_its_gguf_versions_are_found(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(HubRepo("o/model-AWQ", {"model.safetensors": HubFile(b"x")}, tags=["safetensors", "awq"]))
    server.add(gguf_repo("p/made-GGUF", model, tags=["gguf", "base_model:quantized:o/model-AWQ"]))
    search(page, "model-awq")
    assert page.message.title.text() == "No repository was found"
    page.message.all_formats.click()
    page.results.list.mark(0)
    QTest.keyClick(page.results.list, Qt.Key.Key_Return)
    assert "AWQ weights" in page.results.repository.state.text()
    page.results.repository.versions.click()
    repo = page.results.repos.repo_at(0)
    assert repo is not None
    assert repo.repo_id == "p/made-GGUF"


def test_without_a_connection_the_page_says_so_and_tries_again(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    server.faults.api_status = 503
    search(page, "model")
    assert page.message.isVisible()
    assert "503" in page.message.problem.text.text()
    server.faults.api_status = None
    page.message.problem.buttons[Remedy.TRY_AGAIN].click()
    assert page.results.isVisible()
    assert page.results.repos.rowCount() == 1


def test_emptied_field_shows_the_proposals_again(page: DiscoverPage, server: FakeHub, model: HubFile) -> None:
    server.add(gguf_repo(REPO, model))
    open_first(page)
    n_asked = len(server.seen)
    QTest.keyClick(page.field, Qt.Key.Key_Escape)
    assert page.field.text() == ""
    assert page.proposals.isVisible()
    assert len(server.seen) == n_asked


def test_arrow_keys_of_the_field_walk_through_the_list_and_open_where_they_rest(
    page: DiscoverPage, server: FakeHub, model: HubFile, qtbot: QtBot
) -> None:
    for number in range(4):
        server.add(gguf_repo(f"o/model{number}-GGUF", model, downloads=10 - number))
    search(page, "model")
    for _ in range(3):
        QTest.keyClick(page.field, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: page.results.repository.repo_id != "", timeout=5_000)
    assert page.results.repository.repo_id == "o/model2-GGUF"
    assert not any("/models/o/model0-GGUF" in seen.path for seen in server.seen), "not those on the way"


def test_scrolling_to_the_end_fetches_the_next_page(
    page: DiscoverPage, server: FakeHub, qtbot: QtBot
) -> None:
    for number in range(130):
        server.add(gguf_repo(f"o/model-{number:03}-GGUF", SMALL, downloads=1000 - number))
    search(page, "model")
    assert page.results.repos.rowCount() == 100
    page.results.list.scrollToBottom()
    qtbot.waitUntil(lambda: page.results.repos.rowCount() == 130, timeout=5_000)


def test_many_files_are_shown_some_at_a_time(page: DiscoverPage, server: FakeHub, model: HubFile) -> None:
    server.add(gguf_repo(REPO, model, [f"model{number:03}-Q4_K_M.gguf" for number in range(AT_ONCE + 5)]))
    files = page.results.repository.files
    assert len(open_first(page)) == AT_ONCE
    assert files.more.text() == "Show 5 more files"
    files.more.click()
    assert len(files.rows) == AT_ONCE + 5
    assert not files.more.isVisible()


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_narrow_window_has_the_files_below_the_list(
    page: DiscoverPage, server: FakeHub, model: HubFile, direction: Qt.LayoutDirection, qtbot: QtBot
) -> None:
    server.add(gguf_repo(REPO, model))
    page.window().setLayoutDirection(direction)
    open_first(page)
    splitter = page.results.findChild(QSplitter)
    assert splitter is not None
    assert splitter.orientation() is Qt.Orientation.Horizontal
    page.window().resize(612, 560)
    qtbot.waitUntil(lambda: splitter.orientation() is Qt.Orientation.Vertical, timeout=5_000)
    assert page.minimumSizeHint().width() <= 612
    button = page.results.repository.files.rows[0].button
    assert page.rect().contains(button.rect().translated(button.mapTo(page, button.rect().topLeft())))


def test_small_window_has_room_for_the_field_and_for_the_notice(
    page: DiscoverPage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, gated="auto"))
    page.window().resize(420, 380)
    settle()
    assert page.field.width() == page.width()
    open_first(page)
    gate = page.results.repository.gate
    assert gate.text.height() >= gate.text.heightForWidth(gate.text.width())


def test_every_control_has_a_name(page: DiscoverPage, server: FakeHub, model: HubFile) -> None:
    server.add(gguf_repo(REPO, model))
    rows = open_first(page)
    named = (page.field, page.order, page.sheet.field, page.results.list, *(row.button for row in rows))
    assert all(control.accessibleName() for control in named)
    assert len({row.button.accessibleName() for row in rows}) == len(rows)
    rows[0].button.show_state(DownloadOffer.INSTALLED)
    assert rows[0].button.accessibleName().startswith("Installed")
