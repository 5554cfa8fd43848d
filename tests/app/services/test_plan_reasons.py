"""A plan's sentences in the language of the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from pytestqt.qtbot import QtBot

from app.services.load_notices import has_no_room
from app.services.plan_counting import counted, look
from app.services.plan_reasons import reasons_of
from app.services.plan_result import PlanResult
from engine.memory.memory_plan import Wishes
from tests.app.planned_machine import MIB, Bench

GERMAN = {
    "Does not fit: {needs}.": "Passt nicht: {needs}.",
    "it needs {needed} {where}, where {free} are free": "gebraucht {needed} {where}, frei {free}",
    "in RAM": "im RAM",
}


class Translator(QTranslator):
    def translate(self, context: str, source: str, comment: str | None = None, n: int = -1) -> str:
        return GERMAN.get(source, source) if context == "PlanReasons" else source


@pytest.fixture
def german(qtbot: QtBot) -> Iterator[None]:
    translator = Translator()
    QCoreApplication.installTranslator(translator)
    yield
    QCoreApplication.removeTranslator(translator)


def planned(folder: Path) -> PlanResult:
    bench = Bench(folder)
    bench.shrink_ram(200 * MIB)
    sources = bench.sources()
    return counted(sources, look(sources, bench.model(), (), {}, ()), Wishes(), {})


def test_reasons_are_translated_with_their_parts(german: None, tmp_path: Path) -> None:
    result = planned(tmp_path)
    assert result.plan
    english = result.plan.reasons[0]
    needed = english.removeprefix("Does not fit: it needs ").removesuffix(" in RAM, where 200 MiB are free.")
    assert reasons_of(result)[0] == f"Passt nicht: gebraucht {needed} im RAM, frei 200 MiB."
    assert "Passt nicht" in has_no_room(result).message


def test_problem_is_the_only_reason() -> None:
    assert reasons_of(PlanResult("m.gguf", Wishes(), problem="{0} is broken.")) == ("{0} is broken.",)
