"""A plan from what is known: a file, the machine, and what llama.cpp said of some ways to load it.

Values go in, a `PlanResult` comes out, within some ten milliseconds: call it on any thread but the window's.
Promises: what llama.cpp refuses cannot be loaded, whatever the formulas say. Knows nothing about who asks.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.data.settings_parsing import ALL_LAYERS
from app.services.plan_result import PlanResult
from app.services.plan_sources import PlanSources
from engine.dry_run import Refused
from engine.errors import KnownError
from engine.memory.hardware import Hardware
from engine.memory.kv_math import can_quantize
from engine.memory.memory_plan import ExactSizes, LoadShape, MemoryPlan, Verdict, Wishes
from engine.models.model_facts import ModelFacts
from engine.protocol import DeviceMemory, KVType

Tried = Mapping[LoadShape, ExactSizes | Refused | None]
"""What llama.cpp said of each shape that it was asked about, the newest last; None where it said nothing."""

# What is smaller; and f16 for heads that are too narrow for blocks.
_OTHER_TYPES = {
    KVType.F16: (KVType.Q8_0, KVType.Q4_0),
    KVType.Q8_0: (KVType.Q4_0, KVType.F16),
    KVType.Q4_0: (KVType.F16,),
}


@dataclass(frozen=True, slots=True)
class Known:
    """A file and the machine, looked at for one question; `problem` is why there are no facts."""

    path: str
    freed: Mapping[str, int]
    facts: ModelFacts | None = None
    hardware: Hardware | None = None
    problem: str = ""


def look(
    sources: PlanSources,
    path: str,
    devices: Sequence[DeviceMemory],
    freed: Mapping[str, int],
    own_pids: Sequence[int],
) -> Known:
    """Read the file and the machine, which may take seconds; without `devices` they are asked for."""
    try:
        facts = sources.read_facts(Path(path))
    except KnownError as error:
        return Known(path, freed, problem=str(error))
    return Known(path, freed, facts, sources.machine(devices or sources.probe_devices(), own_pids))


def counted(sources: PlanSources, known: Known, wishes: Wishes, tried: Tried) -> PlanResult:
    """The plan for `wishes`, as exact as what was `tried` makes it, with what would fit instead."""
    facts, hardware = known.facts, known.hardware
    if facts is None or hardware is None:
        return PlanResult(known.path, wishes, problem=known.problem, is_settled=True)

    def plan(wishes: Wishes) -> MemoryPlan:
        count = functools.partial(sources.plan, facts, hardware, wishes, freed_bytes=known.freed)
        by_formulas = count(calibrations=sources.calibrations)
        exact = _exact_for(by_formulas.shape, tried)
        return count(exact=exact, calibrations=sources.calibrations) if exact else by_formulas

    planned = plan(wishes)
    options = planned.shape.options
    has_possible_cache = can_quantize(facts, options.k_type, options.v_type)
    # Of an impossible cache the plan itself says more than llama.cpp.
    refusal = _refusal(planned.shape, tried) if has_possible_cache else ""
    has_no_room = planned.verdict is Verdict.DOES_NOT_FIT and not refusal
    return PlanResult(
        known.path,
        wishes,
        facts,
        hardware,
        planned,
        known.freed,
        problem=refusal,
        is_settled=planned.verdict is Verdict.CANNOT_CHAT or not has_possible_cache or planned.shape in tried,
        fitting=_fitting(wishes, planned.n_ctx_fitting, lambda w: plan(w).fits) if has_no_room else (),
    )


def _exact_for(shape: LoadShape, tried: Tried) -> ExactSizes | None:
    """For this shape, or else for the last one: it corrects the others."""
    found = tried.get(shape)
    if isinstance(found, ExactSizes):
        return found
    others = [sizes for sizes in tried.values() if isinstance(sizes, ExactSizes)]
    return others[-1] if others else None


def _refusal(shape: LoadShape, tried: Tried) -> str:
    """Why llama.cpp refuses this shape. One that it was not asked about it refuses if it took none yet."""
    asked = [tried[shape]] if shape in tried else list(tried.values())
    refusals = [found.reason for found in asked if isinstance(found, Refused)]
    return refusals[-1] if refusals and len(refusals) == len(asked) else ""


def _fitting(wishes: Wishes, n_ctx: int, fits: Callable[[Wishes], bool]) -> tuple[Wishes, ...]:
    """The nearest changes that would fit: of layers, KV type and context."""
    by_layers = [dataclasses.replace(wishes, n_gpu_layers=ALL_LAYERS)] if wishes.n_gpu_layers > 0 else []
    by_type = [dataclasses.replace(wishes, kv_type=kind) for kind in _OTHER_TYPES[wishes.kv_type]]
    by_context = [dataclasses.replace(wishes, n_ctx=n_ctx)] if n_ctx else []
    firsts = (next(filter(fits, tries), None) for tries in (by_layers, by_type, by_context))
    return tuple(first for first in firsts if first)
