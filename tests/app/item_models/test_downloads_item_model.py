"""The rows of downloads under Qt's own tester."""

from __future__ import annotations

import random

from PySide6.QtCore import QAbstractListModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.item_models.downloads_item_model import STATE_ROLE, DownloadsItemModel
from tests.app.download_stage import state


def test_rows_follow_any_list(qtbot: QtBot) -> None:
    models = DownloadsItemModel()
    QAbstractItemModelTester(models, QAbstractItemModelTester.FailureReportingMode.Fatal)
    chance = random.Random(1)
    changed: list[int] = []
    models.dataChanged.connect(lambda first, _last: changed.append(first.row()))
    for _ in range(200):
        names = chance.sample("abcdef", chance.randrange(7))
        states = [state(name, done=chance.randrange(3)) for name in names]
        models.show_states(states)
        rows = range(models.rowCount())
        assert [models.index(row).data(STATE_ROLE) for row in rows] == states
    assert changed


def test_only_what_changed_is_told(qtbot: QtBot) -> None:
    models = DownloadsItemModel(describe=lambda item: f"all of {item.id}")
    models.show_states([state("a"), state("b")])
    changed: list[int] = []
    models.dataChanged.connect(lambda first, _last: changed.append(first.row()))
    models.show_states([state("a"), state("b", done=5)])
    assert changed == [1]
    assert isinstance(models, QAbstractListModel)
    role = Qt.ItemDataRole.AccessibleTextRole
    assert models.index(0).data(role) == "all of org/a-GGUF/a.gguf"
    assert models.state_at(9) is None
