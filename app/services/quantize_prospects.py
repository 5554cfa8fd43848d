"""What would become of a model, for each kind that it can be quantized to.

A library's model goes in, `Prospects` come out: how large the file will be, how it fits and how fast it will
be here. Promises: files and the machine are read off this object's thread; of several questions only the
newest is answered. Knows nothing about widgets, and writes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.services.background import Background, Runner
from app.services.machine_plans import MachineNow, MachinePlans, Plan
from engine.download.space import RESERVE_BYTES, missing_bytes
from engine.errors import KnownError
from engine.memory.memory_plan import PROCESS_BYTES, Verdict
from engine.models.model_facts import ModelFacts, facts_of
from engine.models.model_parts import headers_of
from engine.models.quantized_model import quantized_header, quantized_name
from engine.protocol import QuantKind


@dataclass(frozen=True, slots=True)
class Prospect:
    """A model before or after; `verdict`, `memory_bytes` and `predicted_tps` None where nobody could count.

    `missing_bytes`: what the disk lacks for the file, less than 0 where it lacks nothing. `is_there`: a file
    of its name is there already.
    """

    quantization: str
    file_bytes: int
    target: Path
    verdict: Verdict | None = None
    memory_bytes: int | None = None
    predicted_tps: float | None = None
    missing_bytes: int = 0
    is_there: bool = False

    @property
    def free_bytes(self) -> int:
        """What is free on the disk once the file is there."""
        return RESERVE_BYTES - self.missing_bytes

    @property
    def can_be_made(self) -> bool:
        """Whether there is room for it, and its name is free."""
        return not self.is_there and self.missing_bytes <= 0


@dataclass(frozen=True, slots=True)
class Prospects:
    """Of the model at `path`; `problem` is a sentence why there are no `kinds`."""

    path: Path
    name: str
    before: Prospect | None = None
    kinds: tuple[tuple[QuantKind, Prospect], ...] = ()
    problem: str = ""


class QuantizeProspects(QObject):
    """Owns the question that was asked last."""

    found = Signal(object)
    """`Prospects`."""

    def __init__(
        self,
        folder: Path,
        machine: MachinePlans | None,
        make_runner: Callable[[str], Runner] = Background,
        parent: QObject | None = None,
    ) -> None:
        """`folder`: where new files go. Without `machine` nobody says how a model fits."""
        super().__init__(parent)
        self._folder = folder
        self._machine = machine
        self._runner = make_runner("quantize-prospects")
        self._asked: Path | None = None

    def ask(self, path: Path, name: str) -> None:
        """Have `found` emitted for the model called `name` at `path`."""
        self._asked = path
        now = self._machine.now() if self._machine else None
        self._runner.run(
            functools.partial(prospects, path, name, self._folder, now),
            functools.partial(self._on_found, path, name),
        )

    def close(self) -> None:
        """Nothing is answered any more."""
        self._runner.close()

    def _on_found(self, path: Path, name: str, found: Prospects | None) -> None:
        if path == self._asked:
            problem = self.tr("What would become of this model could not be counted.")
            self.found.emit(found or Prospects(path, name, problem=problem))


def prospects(path: Path, name: str, folder: Path, now: MachineNow | None) -> Prospects:
    """On any thread but the window's: it may take seconds."""
    try:
        headers = headers_of(path)
        facts = facts_of(headers)
    except KnownError as error:
        return Prospects(path, name, problem=str(error))
    plan = now.plan(measures=True) if now else None
    size = sum(header.file_size or header.required_size for header in headers)
    before = _prospect(facts, size, path, plan)
    kinds: list[tuple[QuantKind, Prospect]] = []
    problem = ""
    for kind in QuantKind:
        target = folder / quantized_name(facts.name, kind)
        try:
            new = quantized_header(headers, kind, target)
        except KnownError as error:
            problem = problem or str(error)
            continue
        kinds.append((kind, _prospect(facts_of((new,)), new.required_size, target, plan, label=kind)))
    return Prospects(path, name, before, tuple(kinds), "" if kinds else problem)


def _prospect(
    facts: ModelFacts, file_bytes: int, target: Path, plan: Plan | None, label: str | None = None
) -> Prospect:
    planned = plan(facts) if plan else None
    try:
        missing = missing_bytes(file_bytes, target.parent) if label else 0
    except OSError:
        missing = 0  # writing will say what is wrong there
    return Prospect(
        label or facts.quantization,
        file_bytes,
        target,
        planned.verdict if planned else None,
        planned.total_bytes + PROCESS_BYTES if planned else None,
        planned.predicted_tps if planned else None,
        missing,
        is_there=label is not None and target.exists(),
    )
