"""The rows of the library through all changes: in order, found again, and Qt's promises kept."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.data.installed_model import Fit, InstalledModel
from app.item_models.library_item_model import MODEL_ROLE, LibraryItemModel, Order
from engine.memory.memory_plan import Verdict
from tests.app.library_stage import installed


@pytest.fixture
def models(qtbot: QtBot) -> Iterator[LibraryItemModel]:
    models = LibraryItemModel()
    tester = QAbstractItemModelTester(models, QAbstractItemModelTester.FailureReportingMode.Fatal)
    yield models
    del tester


def _names(models: LibraryItemModel) -> list[str]:
    return [models.index(row).data() for row in range(models.rowCount())]


def test_names_are_sorted_whatever_their_case_and_broken_ones_come_last(models: LibraryItemModel) -> None:
    models.put([installed("b"), installed("A broken", reason="It is cut short."), installed("C")])
    models.put([installed("a")])
    assert _names(models) == ["a", "b", "C", "A broken"]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (Order.NAME, ["a", "b", "c"]),
        (Order.SIZE, ["b", "c", "a"]),
        (Order.CONTEXT, ["c", "a", "b"]),
        (Order.DATE, ["a", "c", "b"]),
    ],
)
def test_each_order(models: LibraryItemModel, order: Order, names: list[str]) -> None:
    models.put(
        [
            installed("a", size=1, n_ctx_train=2048, mtime_ns=9),
            installed("b", size=3, n_ctx_train=None, mtime_ns=1),
            installed("c", size=2, n_ctx_train=8192, mtime_ns=5),
        ]
    )
    models.sort_by(order)
    assert _names(models) == names


def test_a_row_that_is_renamed_moves_and_stays_the_same_row(models: LibraryItemModel) -> None:
    models.put([installed("a"), installed("b"), installed("c")])
    marked = QPersistentModelIndex(models.index(0))
    model = models.model_at(0)
    assert model
    models.put([dataclasses.replace(model, label="z")])
    assert _names(models) == ["b", "c", "z"]
    assert marked.row() == 2
    models.put([dataclasses.replace(model, label="bb")])
    assert _names(models) == ["b", "bb", "c"]
    assert marked.row() == 1


def test_a_model_that_llama_cpp_refuses_moves_to_the_broken_ones(models: LibraryItemModel) -> None:
    models.put([installed("a"), installed("b")])
    model = models.model_at(0)
    assert model
    models.put([dataclasses.replace(model, fit=Fit(Verdict.CANNOT_CHAT, "It is unknown."))])
    assert _names(models) == ["b", "a"]


@pytest.mark.parametrize("text", ["qw q4", "QWEN", "org llama", "q4_k_m qwen"])
def test_words_are_looked_for_in_name_place_architecture_and_quantization(
    models: LibraryItemModel, text: str
) -> None:
    other = installed("phi")
    other = dataclasses.replace(other, scanned=dataclasses.replace(other.scanned, architecture="phi3"))
    models.put([installed("Qwen3"), dataclasses.replace(other, repo_id="microsoft/phi")])
    models.find(text)
    assert _names(models) == ["Qwen3"]
    models.find("")
    assert len(_names(models)) == 2


def test_what_is_not_looked_for_comes_and_goes_unseen(models: LibraryItemModel) -> None:
    models.put([installed("a")])
    models.find("b")
    models.put([installed("bb"), installed("c")])
    assert _names(models) == ["bb"]
    models.remove([installed("c").path, installed("bb").path, Path("/gone")])
    assert _names(models) == []
    models.find("")
    assert _names(models) == ["a"]
    assert models.n_models == 1


def test_a_name_is_only_asked_for(models: LibraryItemModel) -> None:
    asked: list[tuple[Path, str]] = []
    models.rename_requested.connect(lambda path, name: asked.append((path, name)))
    models.put([installed("a")])
    assert models.setData(models.index(0), "new")
    assert asked == [(installed("a").path, "new")]
    assert _names(models) == ["a"]
    assert not models.setData(QModelIndex(), "new")
    assert not models.setData(models.index(0), "new", Qt.ItemDataRole.DisplayRole)


def test_rows_stay_right_through_a_thousand_changes(models: LibraryItemModel) -> None:
    chance = random.Random(5)
    known: dict[Path, InstalledModel] = {}
    for _ in range(1000):
        model = dataclasses.replace(
            installed(f"m{chance.randrange(60)}", reason=chance.choice([None, None, "Broken."])),
            label=chance.choice([None, "x", f"label {chance.randrange(9)}"]),
        )
        if chance.random() < 0.3:
            known.pop(model.path, None)
            models.remove([model.path])
        else:
            known[model.path] = model
            models.put([model])
        if chance.random() < 0.02:
            models.sort_by(chance.choice(list(Order)))
    shown = [models.index(row).data(MODEL_ROLE) for row in range(models.rowCount())]
    assert sorted(map(str, known)) == sorted(str(model.path) for model in shown)
    assert all(known[model.path] == model for model in shown)
    assert [models.row_of(model.path) for model in shown] == list(range(len(shown)))
    chosen = [model.can_be_chosen for model in shown]
    assert chosen == sorted(chosen, reverse=True)
