"""One worker process with its model, as the loader keeps track of it. It knows nothing about others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from app.data.saved_kv import saved_kv
from app.data.settings import LoadSettings, Settings
from app.data.settings_parsing import ALL_LAYERS
from app.services.engine_bridge import EngineBridge
from app.services.plan_result import PlanResult
from engine.memory.memory_plan import Verdict
from engine.protocol import LoadModel, ModelInfo

MEMORY_RESERVE = 1.1
"""A second model without a plan needs its file's size and a tenth more to be loaded beside the first."""


@dataclass(slots=True)
class ModelEngine:
    """The worker behind `bridge`, told to load with `command`; `info` and `load_ms` once it has.

    `how` is what was asked for, and `plan` what that was expected to take: where not all layers fit on the
    graphics card, the command says how many do.
    """

    bridge: EngineBridge
    command: LoadModel
    how: LoadSettings
    restarted: bool = False
    plan: PlanResult | None = None
    info: ModelInfo | None = None
    load_ms: float | None = None

    @property
    def path(self) -> str:
        """Where the model's file is."""
        return self.command.path

    def plan_with(self, planned: PlanResult | None) -> None:
        """Load as planned: "all layers" are as many as fit."""
        self.plan = planned
        plan = planned.plan if planned else None
        if plan and plan.verdict is Verdict.FITS_PARTLY and self.how.n_gpu_layers == ALL_LAYERS:
            self.command = replace(self.command, n_gpu_layers=plan.n_gpu_layers)

    def fits_beside(self, available: int) -> bool:
        """Whether the present model can stay meanwhile; `available` are the bytes that are free in RAM."""
        if self.plan and self.plan.plan:
            return self.plan.fits_beside
        try:
            size = Path(self.path).stat().st_size
        except OSError:
            return True  # the worker will say what is wrong with the file
        return available >= size * MEMORY_RESERVE


class RetiredEngines:
    """Engines that were told to end."""

    def __init__(self) -> None:
        self._engines: list[ModelEngine] = []

    def add(self, engine: ModelEngine) -> None:
        """End an engine without waiting for it."""
        engine.bridge.close()
        self._engines.append(engine)

    @property
    def ending(self) -> bool:
        """Whether one of them still holds what it had."""
        return any(engine.bridge.is_ending for engine in self._engines)

    def wait(self, timeout_s: float) -> None:
        """Wait until each has ended, at most `timeout_s` for one. Any thread may do so."""
        for engine in list(self._engines):
            engine.bridge.wait_closed(timeout_s)


def load_command(path: str, how: LoadSettings, settings: Settings) -> LoadModel:
    """What the worker is told; `settings` add what no plan looks at: the chat format and saved KV."""
    return LoadModel(
        path,
        n_ctx=how.n_ctx,
        n_threads=how.n_threads,
        n_gpu_layers=how.n_gpu_layers,
        chat_format=settings.chat_formats.get(path),
        kv_type=how.kv_type,
        options=how.load_options,
        saved_kv=saved_kv(settings),
    )
