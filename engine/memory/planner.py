"""The memory plan: will this model run here, with how much context, how fast, and why.

Facts, hardware and wishes go in, a `MemoryPlan` comes out, in milliseconds: a slider may ask for one at each
move. Pure arithmetic; nothing is loaded or asked. A plan never counts on swap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from engine.memory.calibration import CalibrationStore
from engine.memory.hardware import Hardware
from engine.memory.kv_math import can_quantize
from engine.memory.layout_plan import Layouts
from engine.memory.load_options import n_sequences, settle
from engine.memory.memory_plan import (
    ExactSizes,
    LoadShape,
    MemoryPlan,
    Verdict,
    Wishes,
    default_n_ctx,
    said_n_ctx_train,
    trained_n_ctx,
)
from engine.memory.plan_words import Alternatives, Outcome, reasons
from engine.memory.room_plan import Pool, Room, pools, worst
from engine.memory.speed_plan import planned_speed
from engine.models.model_facts import ModelFacts
from engine.protocol import KVType

_N_CTX_STEP = 256
# What is smaller; and f16 for heads that are too narrow for blocks.
_OTHER_TYPES = {
    KVType.F16: (KVType.Q8_0, KVType.Q4_0),
    KVType.Q8_0: (KVType.Q4_0, KVType.F16),
    KVType.Q4_0: (KVType.F16,),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a planned load must not simply be started; `can_insist` as in `MemoryPlan`."""

    message: str
    can_insist: bool


def plan(
    facts: ModelFacts,
    hardware: Hardware,
    wishes: Wishes,
    *,
    freed_bytes: Mapping[str, int] | None = None,
    exact: ExactSizes | None = None,
    calibrations: CalibrationStore | None = None,
) -> MemoryPlan:
    """What loading the model as wished would take, and whether there is room for it.

    `freed_bytes`: by device, what unloading the present model will free first. `exact`: llama.cpp's own sizes
    for one shape; what is counted for other shapes is corrected by them. `calibrations`: what decoding was
    measured to reach on these devices.
    """
    freed = freed_bytes or {}
    n_ctx = wishes.n_ctx or default_n_ctx(facts.n_ctx_train)
    wishes = replace(wishes, n_ctx=n_ctx)
    settled = settle(wishes, hardware.devices, facts)
    planner = _Planner(facts, hardware, wishes, Layouts(facts, hardware, settled.options, freed, exact))
    shape = planner.shape(n_ctx, wishes.kv_type)
    outcome = planner.outcome(shape, sum(freed.values()))
    places = planner.layouts.places(shape.n_gpu_layers)
    known = planner.layouts.exact
    speed = planned_speed(
        facts, hardware, places, n_ctx=n_ctx, options=shape.options, calibrations=calibrations
    )
    return MemoryPlan(
        verdict=outcome.verdict,
        shape=shape,
        devices=planner.layouts.devices(shape),
        available_bytes=sum(pool.free or 0 for pool in outcome.pools if not pool.is_part_of_ram),
        freed_bytes=outcome.freed_bytes,
        predicted_tps=speed.predicted,
        limit_tps=speed.limit,
        predicted_full_tps=speed.predicted_full,
        limit_full_tps=speed.limit_full,
        is_speed_measured=speed.is_measured,
        n_ctx_fitting=outcome.alternatives.n_ctx,
        reasons=(*reasons(facts, outcome, is_exact=known is not None), *settled.sentences),
        is_exact=known is not None and known.shape == shape,
        n_ctx_train=planner.n_ctx_train,
        can_insist=outcome.verdict is Verdict.DOES_NOT_FIT and planner.is_only_a_card_short(outcome),
    )


def may_load(planned: MemoryPlan) -> Refusal | None:
    """None if the planned load may be started; else why not, and whether a user may insist."""
    return None if planned.fits else Refusal(" ".join(planned.reasons), planned.can_insist)


class _Planner:
    """Tries shapes of loads against the room that there is."""

    def __init__(self, facts: ModelFacts, hardware: Hardware, wishes: Wishes, layouts: Layouts) -> None:
        self.layouts = layouts
        self.n_ctx_train = trained_n_ctx(facts.n_ctx_train)
        self._facts = facts
        self._hardware = hardware
        self._wishes = wishes

    def shape(self, n_ctx: int, kv_type: KVType, n_gpu_layers: int | None = None) -> LoadShape:
        """A load with so many layers on the cards, None as wished: -1 takes all that have room there."""
        wished = self._wishes.n_gpu_layers if n_gpu_layers is None else n_gpu_layers
        most = self.layouts.all_layers if self.layouts.cards else 0
        wishes = replace(self._wishes, n_ctx=n_ctx, kv_type=kv_type)
        options = settle(wishes, self._hardware.devices, self._facts).options

        n_seq_max = n_sequences(wishes.n_seq_max, any(layer.state_values for layer in self._facts.layers))

        def with_layers(count: int) -> LoadShape:
            return LoadShape(n_ctx, count, n_seq_max, options)

        def has_room(count: int) -> bool:
            return worst(self._pools(with_layers(count))[:-1]) is Room.AMPLE

        return with_layers(min(wished, most) if wished >= 0 else _largest(most, has_room))

    def outcome(self, shape: LoadShape, freed_bytes: int) -> Outcome:
        """How this shape fits, and what else would."""
        found = self._pools(shape)
        verdict = self._verdict(shape, worst(found))
        alternatives = Alternatives() if verdict is Verdict.CANNOT_CHAT else self._alternatives(shape)
        return Outcome(
            verdict=verdict,
            shape=shape,
            n_ctx_train=self.n_ctx_train,
            all_layers=self.layouts.all_layers,
            pools=found,
            freed_bytes=freed_bytes,
            alternatives=alternatives,
            says_n_ctx_train=said_n_ctx_train(self._facts.n_ctx_train) is not None,
            is_reserve_short=alternatives == Alternatives() and self._would_fit_to_the_brim(),
        )

    def is_only_a_card_short(self, outcome: Outcome) -> bool:
        """Whether RAM has room, and nothing but memory speaks against the load."""
        return self._is_possible(outcome.shape) and outcome.pools[-1].room is not Room.NONE

    def _pools(self, shape: LoadShape) -> tuple[Pool, ...]:
        return pools(self.layouts.devices(shape), self._hardware)

    def _fits(self, shape: LoadShape) -> bool:
        return self._is_possible(shape) and worst(self._pools(shape)) is not Room.NONE

    def _would_fit_to_the_brim(self) -> bool:
        """Whether the smallest context would fit if nothing were left to the system and other programs."""
        found = self._pools(self.shape(_N_CTX_STEP, self._wishes.kv_type, -1))
        return all(pool.free is None or pool.needed <= pool.free for pool in found)

    def _is_possible(self, shape: LoadShape) -> bool:
        return shape.n_ctx <= self.n_ctx_train and can_quantize(
            self._facts, shape.options.k_type, shape.options.v_type
        )

    def _verdict(self, shape: LoadShape, room: Room) -> Verdict:
        if not self._facts.is_chat_model:
            return Verdict.CANNOT_CHAT
        if room is Room.NONE or not self._is_possible(shape):
            return Verdict.DOES_NOT_FIT
        if room is Room.TIGHT or any(pool.free is None for pool in self._pools(shape)):
            return Verdict.TIGHT
        in_ram = self.layouts.cards and shape.n_gpu_layers < self.layouts.all_layers
        return Verdict.FITS_PARTLY if in_ram and self._wishes.n_gpu_layers else Verdict.FITS

    def _alternatives(self, shape: LoadShape) -> Alternatives:
        kv_type = self._wishes.kv_type
        n_ctx = self._n_ctx_fitting(kv_type, None)
        if self._fits(shape):
            return Alternatives(n_ctx=max(n_ctx, shape.n_ctx))
        by_itself = self.shape(shape.n_ctx, kv_type, -1)
        smaller = (other for other in _OTHER_TYPES[kv_type] if self._fits(self.shape(shape.n_ctx, other)))
        return Alternatives(
            n_gpu_layers=by_itself.n_gpu_layers if self._fits(by_itself) else None,
            kv_type=next(smaller, None),
            n_ctx=n_ctx,
            n_ctx_by_itself=n_ctx or self._n_ctx_fitting(kv_type, -1),
        )

    def _n_ctx_fitting(self, kv_type: KVType, n_gpu_layers: int | None) -> int:
        def shape(steps: int) -> LoadShape:
            return self.shape(min(steps * _N_CTX_STEP, self.n_ctx_train), kv_type, n_gpu_layers)

        most = -(-self.n_ctx_train // _N_CTX_STEP)
        return shape(_largest(most, lambda steps: self._fits(shape(steps)))).n_ctx


def _largest(most: int, is_good: Callable[[int], bool]) -> int:
    """The largest number up to `most` that is good, 0 if none; what is good is good for all below it too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_good(middle) else (low, middle - 1)
    return low
