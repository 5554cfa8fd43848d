"""Quantizing from the window: what is foretold, one at a time, and every way that it can end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.installed_model import Provenance, Verification
from app.data.provenance import provenance_of
from app.services.quantize_prospects import Prospect, Prospects, QuantizeProspects, prospects
from app.services.quantizing import QuantizeRun, Quantizing
from engine.models.unfinished_file import unfinished_path
from engine.protocol import (
    ErrorCode,
    ErrorReport,
    Failed,
    Quantize,
    QuantizeFinished,
    QuantizeProgress,
    QuantKind,
)
from tests.app.conftest import settle
from tests.app.planned_machine import AtOnce
from tests.app.scripted_engine import ScriptedEngine
from tests.generated_models import write_model

GONE = 2**22 + 1  # no process has such a number
KIND = QuantKind.Q4_K_M


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "models" / "quantized"
        self.folder.mkdir(parents=True)
        self.left = self.folder / f".old.gguf.{GONE}.part"
        self.left.write_bytes(b"half")
        self.source = write_model(folder / "m-F16.gguf", n_tokens=2048, n_merges=100)
        self.engine = ScriptedEngine()
        self.obstacle = ""
        jobs = AtOnce()
        self.service = Quantizing(self.folder, self.engine, lambda: self.obstacle, lambda _name: jobs)
        self.finished: list[tuple[QuantizeRun, QuantizeFinished]] = []
        self.failed: list[str] = []
        self.ended = 0
        self.service.finished.connect(lambda *end: self.finished.append(end))
        self.service.failed.connect(lambda _run, sentence: self.failed.append(sentence))
        self.service.ended.connect(self._on_ended)

    def _on_ended(self) -> None:
        self.ended += 1

    @property
    def target(self) -> Path:
        return self.folder / "m-Q4_K_M.gguf"

    def start(self) -> None:
        self.service.start(self.source, "m-F16", KIND, Prospect(KIND, 10, self.target))

    def finish(self) -> None:
        self.target.write_bytes(b"whole")
        self.engine.newest.say(QuantizeFinished(str(self.target), 5, 1.0, KIND, (("Q4_K", 5),), 0))
        settle()


@pytest.fixture
def stage(qtbot: QtBot, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.service.close()
    wait_for_ends()


def wait_for_ends() -> None:
    for thread in threading.enumerate():
        if thread.name == "quantize-end":
            thread.join(10)


def test_what_an_earlier_weir_has_left_is_swept(stage: Stage) -> None:
    assert not stage.left.exists()


def test_a_model_is_made_and_noted_before_it_is_told(stage: Stage) -> None:
    stage.start()
    assert stage.engine.newest.sent == [Quantize(str(stage.source), str(stage.target), KIND)]
    stage.engine.newest.say(QuantizeProgress(3, 9, 30, 90, 12.0))
    settle()
    progress = stage.service.progress
    assert progress is not None and progress.fraction == pytest.approx(1 / 3)
    stage.finish()
    assert [run.name for run, _ in stage.finished] == ["m-F16"]
    assert provenance_of(stage.target) == Provenance("", Verification.MADE_HERE, "m-F16")
    assert not stage.service.running and stage.engine.newest.closed and stage.ended == 1


def test_its_folder_may_have_gone_with_the_last_model_in_it(stage: Stage) -> None:
    stage.folder.rmdir()
    stage.start()
    assert stage.folder.is_dir()


def test_one_at_a_time(stage: Stage) -> None:
    stage.start()
    stage.start()
    assert len(stage.engine.clients) == 1


def test_not_beside_a_benchmark(stage: Stage) -> None:
    stage.obstacle = "A benchmark is running."
    stage.start()
    assert not stage.service.running and stage.engine.clients == []


def test_cancelling_ends_the_process_and_leaves_nothing_half(stage: Stage) -> None:
    stage.start()
    half = stage.target.with_name(f".{stage.target.name}.{GONE}.part")
    half.write_bytes(b"half")
    stage.service.cancel()
    assert not stage.service.running and stage.ended == 1
    wait_for_ends()
    assert stage.engine.newest.closed and not half.exists()
    stage.start()
    assert stage.service.running


def test_closing_leaves_nothing_half(stage: Stage) -> None:
    stage.start()
    half = stage.target.with_name(f".{stage.target.name}.{GONE}.part")
    half.write_bytes(b"half")
    stage.service.close()
    wait_for_ends()
    assert stage.engine.newest.closed and not half.exists()


def test_leaving_weir_is_asked_about_only_while_something_is_made(stage: Stage) -> None:
    assert stage.service.why_not_quit() == ""
    stage.start()
    assert stage.service.why_not_quit().startswith("m-F16 is being quantized.")
    stage.finish()
    assert stage.service.why_not_quit() == ""


def test_refusals_and_deaths_are_told(stage: Stage) -> None:
    stage.start()
    stage.engine.newest.say(Failed(None, ErrorReport(ErrorCode.BAD_REQUEST, "There is no room.")))
    settle()
    stage.start()
    stage.engine.newest.die("GGML_ASSERT(x) failed")
    settle()
    assert stage.failed[0] == "There is no room."
    assert "m-F16 (GGML_ASSERT(x) failed)" in stage.failed[1]
    assert not stage.service.running and stage.ended == 2


# --- what is foretold -----------------------------------------------------------------------------


def test_all_kinds_are_foretold_the_smaller_the_coarser(stage: Stage) -> None:
    found = prospects(stage.source, "m-F16", stage.folder, None)
    sizes = [prospect.file_bytes for _, prospect in found.kinds]
    assert [kind for kind, _ in found.kinds] == list(QuantKind)
    assert sizes == sorted(sizes, reverse=True)
    assert found.before is not None and found.before.file_bytes == stage.source.stat().st_size > sizes[0]


def test_a_name_that_is_taken_is_told(stage: Stage) -> None:
    stage.target.write_bytes(b"")
    found = dict(prospects(stage.source, "m-F16", stage.folder, None).kinds)
    assert found[KIND].is_there and not found[KIND].can_be_made
    assert not found[QuantKind.Q8_0].is_there


def test_what_cannot_be_quantized_has_a_reason(stage: Stage, starter_model: Path) -> None:
    found = prospects(starter_model, "starter", stage.folder, None)
    assert found.kinds == () and "quantized already (Q4_1)" in found.problem


def test_a_file_that_is_gone_has_a_reason(stage: Stage) -> None:
    found = prospects(stage.folder / "gone.gguf", "gone", stage.folder, None)
    assert found.kinds == () and "is missing" in found.problem


def test_of_two_questions_the_newer_is_answered(stage: Stage, qtbot: QtBot) -> None:
    jobs = AtOnce()
    jobs.holds = True
    service = QuantizeProspects(stage.folder, None, lambda _name: jobs)
    found: list[Prospects] = []
    service.found.connect(found.append)
    service.ask(stage.source, "first")
    service.ask(stage.folder / "gone.gguf", "second")
    jobs.go()
    assert [answer.name for answer in found] == ["second"]


def test_a_part_that_is_being_written_is_not_swept(stage: Stage) -> None:
    mine = unfinished_path(stage.target)
    mine.write_bytes(b"half")
    stage.start()
    stage.service.cancel()
    wait_for_ends()
    assert mine.exists()
