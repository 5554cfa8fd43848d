"""The stored benchmarks as rows: grouped, sorted, chosen, and changed with as little as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.data.bench_store import RunFacts, StoredResult, StoredRun
from app.item_models.bench_item_model import RESULT_ROLE, RUN_ROLE, BenchItemModel, Wording
from tests.app.bench_stage import FIRST, SECOND, record

CHECK = Qt.ItemDataRole.CheckStateRole
ON, OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked


def run(facts: RunFacts, *results: tuple[int, int], label: str = "") -> StoredRun:
    """Results by id and number of tokens."""
    return StoredRun(facts, label, tuple(StoredResult(id_, record(n_gen=n)) for id_, n in results))


OLD, NEW = run(FIRST, (1, 30), (2, 10), (3, 20)), run(SECOND, (4, 5))


@pytest.fixture
def models() -> BenchItemModel:
    wording = Wording(
        ("Test", "Tokens"),
        lambda result, column: (result.record.test, str(result.record.n_gen))[column],
        lambda result, _column: result.record.n_gen if result.record.n_gen != 20 else None,
        lambda result: f"all of {result.record.test}",
        lambda run: run.label or run.facts.machine,
        frozenset({1}),
    )
    models = BenchItemModel(wording)
    QAbstractItemModelTester(models, QAbstractItemModelTester.FailureReportingMode.Fatal, models)
    models.show_runs((NEW, OLD))
    return models


def texts(models: BenchItemModel, row: int, column: int = 1) -> list[str]:
    parent = models.index(row, 0)
    return [models.index(at, column, parent).data() for at in range(models.rowCount(parent))]


def states(models: BenchItemModel, row: int) -> list[Any]:
    parent = models.index(row, 0)
    below = [models.index(at, 0, parent) for at in range(models.rowCount(parent))]
    return [models.data(index, CHECK) for index in (parent, *below)]


def ids(results: Sequence[StoredResult]) -> list[int]:
    return [result.id for result in results]


def test_runs_stand_over_their_results(models: BenchItemModel) -> None:
    assert [models.index(row, 0).data() for row in range(2)] == [SECOND.machine, FIRST.machine]
    assert texts(models, 1) == ["30", "10", "20"]
    assert texts(models, 1, 0) == ["tg30", "tg10", "tg20"]
    second = models.index(1, 0, models.index(1, 0))
    assert second.data(RUN_ROLE) == OLD and second.data(RESULT_ROLE) == OLD.results[1]
    assert second.data(Qt.ItemDataRole.AccessibleTextRole) == "all of tg10"
    assert models.index(1, 0).data(RESULT_ROLE) is None
    assert Qt.AlignmentFlag.AlignTrailing in models.headerData(1, Qt.Orientation.Horizontal, 7)


def test_sorting_keeps_results_in_their_run_and_unknown_ones_last(models: BenchItemModel) -> None:
    kept = QPersistentModelIndex(models.index(0, 0, models.index(1, 0)))
    models.sort(1, Qt.SortOrder.AscendingOrder)
    assert texts(models, 1) == ["10", "30", "20"]
    assert (kept.row(), kept.data()) == (1, "tg30")
    models.sort(1, Qt.SortOrder.DescendingOrder)
    assert texts(models, 1) == ["30", "10", "20"]
    assert texts(models, 0) == ["5"]
    models.sort(-1)
    assert texts(models, 1) == ["30", "10", "20"]


def test_new_result_comes_to_its_place_and_nothing_else_moves(models: BenchItemModel) -> None:
    models.sort(1, Qt.SortOrder.AscendingOrder)
    kept = QPersistentModelIndex(models.index(1, 0, models.index(1, 0)))
    inserted: list[tuple[QModelIndex, int]] = []
    models.rowsInserted.connect(lambda parent, first, _last: inserted.append((parent, first)))
    models.show_runs((NEW, run(FIRST, (1, 30), (2, 10), (3, 20), (5, 15))))
    assert [(parent.row(), first) for parent, first in inserted] == [(1, 1)]
    assert texts(models, 1) == ["10", "15", "30", "20"]
    assert kept.data() == "tg30"


def test_runs_and_results_that_are_gone_leave_and_are_not_chosen_any_more(models: BenchItemModel) -> None:
    models.choose([1, 3, 4])
    told: list[list[int]] = []
    models.chosen_changed.connect(lambda: told.append(ids(models.chosen())))
    models.show_runs((run(FIRST, (1, 30), (2, 10)),))
    assert models.rowCount() == 1 and texts(models, 0) == ["30", "10"]
    assert told == [[1]]
    models.show_runs((run(SECOND, (4, 5)), run(FIRST, (1, 30), (2, 10))))
    assert [models.index(row, 0).data() for row in range(2)] == [SECOND.machine, FIRST.machine]


def test_a_run_is_chosen_with_all_of_its_results(models: BenchItemModel) -> None:
    result = models.index(1, 0, models.index(1, 0))
    assert models.setData(result, ON.value, CHECK)
    assert ids(models.chosen()) == [2]
    assert states(models, 1) == [Qt.CheckState.PartiallyChecked, OFF, ON, OFF]
    models.setData(models.index(1, 0), ON.value, CHECK)
    assert ids(models.chosen()) == [1, 2, 3]
    assert states(models, 1) == [ON, ON, ON, ON]
    models.setData(models.index(1, 0), OFF.value, CHECK)
    assert states(models, 1) == [OFF, OFF, OFF, OFF]


def test_a_run_is_named_in_place(models: BenchItemModel) -> None:
    wanted: list[tuple[str, str]] = []
    models.label_requested.connect(lambda run_id, label: wanted.append((run_id, label)))
    index = models.index(1, 0)
    assert Qt.ItemFlag.ItemIsEditable in models.flags(index)
    assert Qt.ItemFlag.ItemIsEditable not in models.flags(models.index(0, 0, index))
    models.setData(index, "laptop", Qt.ItemDataRole.EditRole)
    assert wanted == [("first", "laptop")]
    models.show_runs((NEW, run(FIRST, (1, 30), (2, 10), (3, 20), label="laptop")))
    assert (index.data(), models.data(index, Qt.ItemDataRole.EditRole)) == ("laptop", "laptop")
