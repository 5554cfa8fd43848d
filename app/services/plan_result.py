"""What is known of a model before it is loaded: its facts, the machine, the plan made of both.

Frozen values, made by `load_plans`, shown by views and heeded by the loader. Knows nothing about either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from app.data.settings import LoadSettings
from engine.memory.hardware import Hardware
from engine.memory.memory_plan import DevicePlan, MemoryPlan, Verdict, Wishes
from engine.memory.room_plan import Room, pools, worst
from engine.models.model_facts import ModelFacts


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan of the model at `path`; `problem` tells why there is none, or why llama.cpp refuses the model.

    `freed`: by device, the bytes that unloading the present model frees, which the plan counts as free.
    `is_settled`: no exacter plan will follow. `fitting`: of a plan that does not fit, the nearest wishes that
    do.
    """

    path: str
    wishes: Wishes
    facts: ModelFacts | None = None
    hardware: Hardware | None = None
    plan: MemoryPlan | None = None
    freed: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    is_settled: bool = False
    fitting: tuple[Wishes, ...] = ()

    @property
    def does_not_fit(self) -> bool:
        """Whether there is no room for it."""
        return self.plan is not None and self.plan.verdict is Verdict.DOES_NOT_FIT

    @property
    def can_chat(self) -> bool:
        """Whether it is a model that can be loaded at all, as far as is known."""
        return not self.problem and (self.plan is None or self.plan.verdict is not Verdict.CANNOT_CHAT)

    @property
    def has_choices(self) -> bool:
        """Whether it is a chat model, which another context or KV type may let load if this one does not."""
        return self.plan is not None and self.plan.verdict is not Verdict.CANNOT_CHAT

    @property
    def may_load(self) -> bool:
        """Whether it can be loaded so, as far as is known."""
        return self.plan is not None and self.can_chat and not self.does_not_fit

    @property
    def may_insist(self) -> bool:
        """Whether it does not fit, but trying cannot make the machine swap."""
        return self.plan is not None and self.plan.can_insist and self.can_chat

    @property
    def fits_beside(self) -> bool:
        """Whether there is room for it while the present model stays."""
        if self.plan is None or self.hardware is None:
            return True
        devices = [self._without_freed(device) for device in self.plan.devices]
        return worst(pools(devices, self.hardware)) is not Room.NONE

    def _without_freed(self, device: DevicePlan) -> DevicePlan:
        if device.free is None or self.hardware is None:
            return device
        sharing = [card.name for card in self.hardware.devices if card.shares_ram and device.device == "CPU"]
        freed = sum(self.freed.get(name, 0) for name in (device.device, *sharing))
        return replace(device, free=max(0, device.free - freed))


Guard = Callable[[str, LoadSettings, Callable[[PlanResult | None], None]], None]
"""Looks at a load that nobody has seen the plan of, and answers with that; None where it cannot tell."""


def wishes_of(how: LoadSettings) -> Wishes:
    """What the plan is asked for when a model shall be loaded so."""
    return Wishes(how.n_ctx, how.kv_type, how.n_gpu_layers, options=how.load_options)
