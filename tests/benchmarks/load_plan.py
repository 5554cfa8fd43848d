"""The plan page in the real window on a machine with a card; run as a process of its own.

Prints one JSON line of milliseconds: what the window's thread computes for a step of the slider and for
showing the page, all painting included, and how long a person waits for each answer.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["WEIR_HOME"] = tempfile.mkdtemp(prefix="weir-load-plan-")

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.services.background import Background
from app.views.theme import apply_theme
from app.window import Weir
from tests.app.planned_machine import GIB, Bench, card, cpu, machine
from tests.app.scripted_engine import ScriptedEngine

_ROUNDS = 10


class Clock:
    """Lets the event loop run until a plan is shown, and takes the time."""

    def __init__(self, weir: Weir) -> None:
        assert weir.plans
        self._n_shown = 0
        weir.plans.planned.connect(self._on_planned)
        self.computed: list[float] = []
        self.waited: list[float] = []

    def _on_planned(self) -> None:
        self._n_shown += 1

    def take(self, act: Callable[[], object]) -> None:
        """Do `act` and wait for the plan that follows."""
        n_shown = self._n_shown
        begun, computing = time.perf_counter(), time.thread_time()
        act()
        while self._n_shown == n_shown:
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        QApplication.processEvents()  # painting
        self.computed.append((time.thread_time() - computing) * 1000)
        self.waited.append((time.perf_counter() - begun) * 1000)


def run_for(seconds: float) -> None:
    """Let the event loop run."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    loop.exec()


def open_pages(weir: Weir, path: str) -> tuple[Clock, Clock]:
    """The first time, when the page is made, and further times."""
    first, again = Clock(weir), Clock(weir)
    first.take(lambda: weir.pages.open_load_plan(path))
    run_for(0.7)  # the dry run too
    for _ in range(_ROUNDS):
        weir.window.show_page(None)
        run_for(0.05)
        again.take(lambda: weir.pages.open_load_plan(path))
        run_for(0.5)
    return first, again


def move_slider(weir: Weir) -> Clock:
    """Up and down all of its stops."""
    page = weir.pages.load_plan
    assert page
    slider, clock = page.controls.slider, Clock(weir)
    stops = list(range(slider.maximum()))
    for stop in (stops[::-1] + stops[1:] + [slider.maximum()]) * _ROUNDS:
        clock.take(lambda stop=stop: slider.setValue(stop))  # type: ignore[misc]
    return clock


def main() -> int:
    """Measure and print."""
    application = QApplication(["weir"])
    apply_theme(application, "light")
    bench = Bench(Path(tempfile.mkdtemp(prefix="weir-load-plan-")), machine(cpu(10 * GIB), card(6 * GIB)))
    engine = ScriptedEngine()
    sources = replace(bench.sources(), make_runner=Background)
    weir = Weir(engine, Path(bench.model("starter")), sources)
    weir.window.resize(1120, 760)
    weir.show()
    run_for(0.5)
    engine.newest.load()
    run_for(0.2)
    first, again = open_pages(weir, bench.model("other"))
    steps = move_slider(weir)
    print(
        json.dumps(
            {
                "first_open_ms": first.computed[0],
                "open_ms": statistics.median(again.computed),
                "open_waited_ms": statistics.median(again.waited),
                "step_ms": statistics.median(steps.computed),
                "longest_step_ms": max(steps.computed),
                "step_waited_ms": statistics.median(steps.waited),
            }
        )
    )
    weir.window.close()
    run_for(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
