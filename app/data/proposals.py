"""Which of the curated models suit this machine, the best first, and why.

The catalogue and a way to plan go in, `Proposal`s come out. A model that has no room, or would be too slow to
talk to, is not proposed. Sizes are those of the catalogue: the plan that is made from a file's header after
it was chosen is the exact one. Pure arithmetic.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.data.catalogue import CatalogueModel
from engine.memory.memory_plan import MemoryPlan, Verdict
from engine.models.model_facts import ModelFacts

MOST = 5
COMFORTABLE_TPS = 8.0
"""About twice as fast as most people read."""

_LEAST_TPS = 2.0


class Reason(enum.StrEnum):
    """Why a model is proposed."""

    MOST_CAPABLE = "most_capable"  # of those that are fast here
    LIGHTER = "lighter"  # less capable and faster, and leaves more memory free
    SLOWER = "slower"  # more capable, but not comfortable to read along
    TIGHT = "tight"  # more capable, but leaves other programs little


@dataclass(frozen=True, slots=True)
class Proposal:
    """A curated model with its plan on this machine."""

    model: CatalogueModel
    plan: MemoryPlan
    reason: Reason


def proposals(
    catalogue: Iterable[CatalogueModel], plan: Callable[[ModelFacts], MemoryPlan], most: int = MOST
) -> tuple[Proposal, ...]:
    """At most so many: the most capable one that is fast here, what is lighter, then what asks for more."""
    planned = [(model, plan(model.facts)) for model in catalogue]
    fitting = [(model, counted) for model, counted in planned if counted.fits and _is_bearable(counted)]
    good = [pair for pair in fitting if _is_comfortable(pair[1]) and pair[1].verdict is not Verdict.TIGHT]
    rest = [pair for pair in fitting if pair not in good]
    lighter = sorted(good, key=lambda pair: -pair[0].position)
    best = lighter[0][0].position if lighter else -1
    # The nearest ones: what is only a little more than the best is likelier to be borne than the largest.
    more = sorted((pair for pair in rest if pair[0].position > best), key=lambda pair: pair[0].position)
    n_more = 1 if lighter else most
    chosen = _distinct([*lighter[: most - min(n_more, len(more))], *more[:n_more]])
    return tuple(Proposal(model, counted, _reason(model, counted, best)) for model, counted in chosen)


def _is_bearable(plan: MemoryPlan) -> bool:
    return plan.predicted_tps is None or plan.predicted_tps >= _LEAST_TPS


def _is_comfortable(plan: MemoryPlan) -> bool:
    return plan.predicted_tps is None or plan.predicted_tps >= COMFORTABLE_TPS


def _reason(model: CatalogueModel, plan: MemoryPlan, best: int) -> Reason:
    if model.position == best:
        return Reason.MOST_CAPABLE
    if model.position < best:
        return Reason.LIGHTER
    return Reason.TIGHT if plan.verdict is Verdict.TIGHT else Reason.SLOWER


def _distinct(
    chosen: Iterable[tuple[CatalogueModel, MemoryPlan]],
) -> list[tuple[CatalogueModel, MemoryPlan]]:
    """Of one repository only the first: another quantization of the same model is no other proposal."""
    seen: set[str] = set()
    kept = []
    for model, plan in chosen:
        if model.repo_id not in seen:
            seen.add(model.repo_id)
            kept.append((model, plan))
    return kept
