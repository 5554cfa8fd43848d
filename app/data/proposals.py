"""Which of the curated models suit this machine, the best first, and why.

The catalogue and a way to plan go in, `Proposal`s come out. A model that has no room, or would be too slow to
talk to, is not proposed; where nobody knows how fast models are, the smallest come first. Sizes are those of
the catalogue: the plan that is made from a file's header after it was chosen is the exact one. Only counts.
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


_Planned = tuple[CatalogueModel, MemoryPlan]


class Reason(enum.StrEnum):
    """Why a model is proposed."""

    MOST_CAPABLE = "most_capable"  # of those that are fast here
    LIGHTER = "lighter"  # less capable, but smaller and faster
    SLOWER = "slower"  # more capable, but not comfortable to read along
    TIGHT = "tight"  # more capable, but leaves other programs little
    SPEED_UNKNOWN = "speed_unknown"  # fits, and nobody knows how fast it is


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
    fitting = [pair for pair in planned if pair[1].fits]
    if not any(counted.predicted_tps for _model, counted in fitting):
        return _by_size(fitting, most)
    bearable = [pair for pair in fitting if _speed(pair) >= _LEAST_TPS]
    good = [pair for pair in bearable if _is_comfortable(pair)]
    first = max(good, key=_position, default=None)
    lighter = sorted((pair for pair in good if first and _is_lighter(pair, first)), key=_position)[::-1]
    best = first[0].position if first else -1
    # The nearest ones: what is only a little more than the best is likelier to be borne than the largest.
    more = sorted((pair for pair in bearable if pair[0].position > best), key=_position)
    n_more = 1 if first else most
    less = [first, *lighter] if first else []
    chosen = _distinct([*less[: most - min(n_more, len(more))], *more[:n_more]])
    return tuple(Proposal(model, counted, _reason(model, counted, best)) for model, counted in chosen)


def _by_size(fitting: Iterable[_Planned], most: int) -> tuple[Proposal, ...]:
    """The smallest ones: whatever the machine, they are the likeliest to be fast."""
    by_size = sorted(fitting, key=lambda pair: (pair[1].verdict is Verdict.TIGHT, pair[0].size))
    chosen = _distinct(by_size)[:most]
    return tuple(Proposal(model, counted, Reason.SPEED_UNKNOWN) for model, counted in chosen)


def _position(planned: _Planned) -> int:
    return planned[0].position


def _speed(planned: _Planned) -> float:
    """Tokens a second, 0 where that is not known."""
    return planned[1].predicted_tps or 0.0


def _is_comfortable(planned: _Planned) -> bool:
    return _speed(planned) >= COMFORTABLE_TPS and planned[1].verdict is not Verdict.TIGHT


def _is_lighter(planned: _Planned, first: _Planned) -> bool:
    return planned[0].size < first[0].size and _speed(planned) > _speed(first)


def _reason(model: CatalogueModel, plan: MemoryPlan, best: int) -> Reason:
    if model.position == best:
        return Reason.MOST_CAPABLE
    if model.position < best:
        return Reason.LIGHTER
    return Reason.TIGHT if plan.verdict is Verdict.TIGHT else Reason.SLOWER


def _distinct(
    chosen: Iterable[_Planned],
) -> list[_Planned]:
    """Of one repository only the first: another quantization of the same model is no other proposal."""
    seen: set[str] = set()
    kept = []
    for model, plan in chosen:
        if model.repo_id not in seen:
            seen.add(model.repo_id)
            kept.append((model, plan))
    return kept
