"""The benchmarks that were measured on this machine, as they are stored.

New records go in, and what the user wants of the stored ones; the runs come out, the newest first. Promises
that what another Weir has stored or deleted meanwhile is seen after `refresh`. Knows nothing about how
anything is measured or shown.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.data.bench_record import BenchRecord
from app.data.bench_store import BenchStore, RunFacts, StoredRun
from app.services.machine_memory import machine_memory
from engine.errors import KnownError
from engine.protocol import BenchMachine

_GIB = 2**30


class BenchResults(QObject):
    """Owns the store; nothing is read before `refresh` is called for the first time."""

    changed = Signal(object)
    """The runs, a tuple of `StoredRun`s, are others than before."""

    failed = Signal(str)
    """A sentence: something could not be read or stored, or was set aside."""

    def __init__(self, store: BenchStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._runs: tuple[StoredRun, ...] = ()
        self._growing = ""

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """As they were last read."""
        return self._runs

    def refresh(self) -> None:
        """Look what is stored."""
        self._do(lambda: None)

    def add(self, run: RunFacts, record: BenchRecord) -> None:
        """Keep a result of `run`, the newest of all, which is measured until `end_run`."""
        self._growing = run.id
        try:
            result = self._store.add(run, record)
        except KnownError as error:
            self.failed.emit(str(error))
            return
        # Reading all of them again would take time from what is measured next.
        mine = next((other for other in self._runs if other.facts.id == run.id), StoredRun(run, "", ()))
        others = tuple(other for other in self._runs if other.facts.id != run.id)
        self._show((replace(mine, results=(*mine.results, result)), *others))

    def end_run(self) -> None:
        """Nothing is measured any more: from now on a run that is not whole is a stopped one."""
        self._growing = ""
        self._do(lambda: None)

    def delete(self, result_ids: Sequence[int]) -> None:
        """Delete these results for good."""
        self._do(lambda: self._store.delete(result_ids))

    def set_label(self, run_id: str, label: str) -> None:
        """Call a run `label`; white space is put in order, and empty takes the name away."""
        self._do(lambda: self._store.set_label(run_id, " ".join(label.split())))

    def close(self) -> None:
        """Let the file go."""
        self._store.close()

    def _do(self, act: Callable[[], None]) -> None:
        try:
            act()
            self._show(self._store.runs())
        except KnownError as error:
            self.failed.emit(str(error))

    def _show(self, runs: tuple[StoredRun, ...]) -> None:
        if self._store.notice:
            self.failed.emit(self._store.notice)
            self._store.notice = None
        runs = tuple(
            replace(run, n_measured=run.facts.n_cases) if run.facts.id == self._growing else run
            for run in runs
        )
        if runs != self._runs:
            self._runs = runs
            self.changed.emit(runs)


def describe_machine(machine: BenchMachine) -> str:
    """The machine in words that name nobody: processor, cards, memory, system."""
    memory = f"{machine_memory().total / _GIB:,.0f} GiB RAM"
    parts = (machine.cpu_info, machine.gpu_info, memory, f"{platform.system()} {platform.machine()}")
    return " · ".join(" ".join(part.split()) for part in parts if part)
