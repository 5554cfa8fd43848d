"""The plan page of the real window: the machine as it is, llama.cpp's own sizes, the model that is loaded."""

from __future__ import annotations

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.services.plan_result import PlanResult
from app.services.plan_sources import this_machine
from app.views.load_plan_page import LoadPlanPage
from app.window import Weir
from engine.client import EngineClient
from engine.memory.memory_plan import MemoryPlan
from engine.protocol import KVType
from tests.generated_models import write_model

SECONDS = 60_000
KV_BYTES_A_CELL = {KVType.F16: 30 * 2 * 192 * 2, KVType.Q4_0: 30 * 2 * 6 * 18}


class Desk:
    """The running program without a model, and the plans that it showed."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.weir = Weir(EngineClient, None, this_machine())
        assert self.weir.plans
        self.shown: list[PlanResult] = []
        self.weir.plans.planned.connect(lambda _path, result: self.shown.append(result))
        self.weir.preferences.update(n_gpu_layers=0)
        qtbot.addWidget(self.weir.window)
        self.weir.show()
        self.wait(lambda: self.weir.open)

    def wait(self, condition: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=SECONDS)

    def open(self, path: Path) -> LoadPlanPage:
        self.weir.pages.open_load_plan(str(path))
        self.wait(lambda: self.shown and self.shown[-1].is_settled)
        page = self.weir.pages.load_plan
        assert page
        return page

    def exact(self, n_ctx: int, kv_type: KVType) -> MemoryPlan:
        """What is shown of this choice, once llama.cpp has said its sizes."""

        def is_there() -> bool:
            plan = self.shown[-1].plan
            return plan is not None and plan.is_exact and (plan.n_ctx, plan.kv_type) == (n_ctx, kv_type)

        self.wait(is_there)
        plan = self.shown[-1].plan
        assert plan
        return plan


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    desk = Desk(qtbot)
    yield desk
    desk.weir.window.close()


def test_model_takes_what_the_page_said_it_would(desk: Desk, starter_model: Path) -> None:
    page = desk.open(starter_model)
    legend = page.devices[-1].legend
    assert desk.exact(8192, KVType.F16).kv_bytes == 8192 * KV_BYTES_A_CELL[KVType.F16]
    assert "KV cache, 8,192 cells: 180 MiB" in legend.accessibleName()
    assert page.origin.text() == "These sizes are llama.cpp's own."

    QTest.keyClick(page.controls.slider, Qt.Key.Key_Left)
    desk.wait(lambda: "KV cache, 4,096 cells: 90 MiB" in legend.accessibleName())
    page.controls.kv_type.setCurrentIndex(2)
    page.controls.kv_type.activated.emit(2)
    planned = desk.exact(4096, KVType.Q4_0)
    assert planned.kv_bytes == 4096 * KV_BYTES_A_CELL[KVType.Q4_0]
    assert "KV cache, 4,096 cells: 25 MiB" in legend.accessibleName()

    QTest.keyClick(page, Qt.Key.Key_Return)
    desk.wait(lambda: desk.weir.loader.info is not None)
    info = desk.weir.loader.info
    assert info is not None
    assert info.n_ctx == 4096
    assert planned.weights_bytes == pytest.approx(sum(b.weights for b in info.buffers), rel=0.03)
    assert planned.kv_bytes == pytest.approx(sum(b.kv for b in info.buffers), rel=0.03)
    assert planned.compute_bytes == pytest.approx(sum(b.compute for b in info.buffers), rel=0.03)
    desk.weir.window.memory.open_panel()
    desk.wait(lambda: "planned 25 MiB" in desk.weir.window.memory.picture.plain_text())


def test_file_of_an_unknown_architecture_cannot_be_loaded(desk: Desk, bad_files: Mapping[str, Path]) -> None:
    page = desk.open(bad_files["architecture-unknown"])
    assert "has the architecture 'nosucharch'" in page.verdict.headline.text()
    assert not page.load.isVisible()
    QTest.keyClick(page, Qt.Key.Key_Return)
    assert desk.weir.loader.loading is None


def test_file_that_only_llama_cpp_refuses_cannot_be_loaded(desk: Desk, tmp_path: Path) -> None:
    page = desk.open(write_model(tmp_path / "incomplete.gguf", n_tokens=2048, n_merges=100))
    assert "incomplete.gguf could not be loaded: " in page.verdict.headline.text()
    assert page.load.isVisible() and not page.load.isEnabled()
    assert page.load.toolTip() == page.verdict.headline.text()
    QTest.keyClick(page, Qt.Key.Key_Return)
    assert desk.weir.loader.loading is None
