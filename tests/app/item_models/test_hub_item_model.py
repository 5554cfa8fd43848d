"""Found repositories as rows: pages, no repository twice, the next page asked for once."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.item_models.hub_item_model import HubItemModel
from engine.hub.hub_values import RepoSummary, WeightsFormat

ROOT = QModelIndex()


def repos(first: int, count: int) -> list[RepoSummary]:
    return [RepoSummary(f"o/m{number}", WeightsFormat.GGUF) for number in range(first, first + count)]


def shown(model: HubItemModel) -> list[str]:
    return [model.index(row).data() for row in range(model.rowCount())]


def test_pages_come_one_below_the_other_and_nothing_twice(qtbot: QtBot) -> None:
    model = HubItemModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show_first(repos(0, 3), has_more=True)
    model.append(repos(2, 3), has_more=False)  # the Hub's order changed between two pages
    assert shown(model) == ["o/m0", "o/m1", "o/m2", "o/m3", "o/m4"]
    model.show_first(repos(7, 1), has_more=False)
    assert shown(model) == ["o/m7"]
    tester.deleteLater()


def test_next_page_is_asked_for_once_until_it_has_come(qtbot: QtBot) -> None:
    model = HubItemModel()
    asked: list[int] = []
    model.more_requested.connect(lambda: asked.append(1))
    model.show_first(repos(0, 3), has_more=True)
    assert model.canFetchMore(ROOT)
    model.fetchMore(ROOT)
    model.fetchMore(ROOT)
    assert len(asked) == 1
    model.append(repos(3, 3), has_more=True)
    assert model.canFetchMore(ROOT)
    model.append([], has_more=False)
    assert not model.canFetchMore(ROOT)


def test_row_says_all_of_itself_to_screen_readers(qtbot: QtBot) -> None:
    model = HubItemModel(lambda repo: f"all of {repo.repo_id}")
    model.show_first(repos(0, 1), has_more=False)
    assert model.index(0).data(Qt.ItemDataRole.AccessibleTextRole) == "all of o/m0"
