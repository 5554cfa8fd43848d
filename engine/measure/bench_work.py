"""The work of one case, ready to be repeated: prompts and replies on a context here, a chat with a worker.

A settled case goes in; nanoseconds come out of each repetition, and in the end what was measured beside them.
Promises: what was opened is closed by `close`. Knows nothing about grids, noise or events.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Protocol

from engine.llama import backend
from engine.llama.buffers import by_device
from engine.llama.context import Context
from engine.llama.model import Model
from engine.measure.bench_cache import ROOM_FOR_EVICTIONS, CacheCosts, cache_costs
from engine.measure.bench_chat import ChatBench, ChatTime, ClientFactory, counted, whole_path
from engine.measure.bench_loads import Loads, context_params
from engine.measure.bench_pass import BenchPass, DepthState
from engine.measure.bench_texts import Questions
from engine.memory.memory_plan import UNKNOWN_N_CTX_TRAIN
from engine.protocol import BenchCase, BenchModel, DeviceBuffers, WholePath

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Placed:
    """What is loaded, and where its bytes lie."""

    model: BenchModel
    kv_bytes: int
    buffers: tuple[DeviceBuffers, ...]

    @property
    def device(self) -> str | None:
        """The one that all layers lie on; None for several."""
        names = {one.device for one in self.buffers if one.kv}
        return names.pop() if len(names) == 1 else None

    @property
    def is_on_cpu(self) -> bool:
        """Whether no card computes."""
        return not self.vram_bytes

    @property
    def vram_bytes(self) -> int | None:
        """Bytes on graphics cards; None where there is no card."""
        cards = {device.name for device in backend.devices() if device.kind != "cpu"}
        on_cards = (one.weights + one.kv + one.compute for one in self.buffers if one.device in cards)
        return sum(on_cards) if cards else None


class Work(Protocol):
    """One case that can be repeated."""

    @property
    def case(self) -> BenchCase:
        """The case with the numbers that are really measured."""

    @property
    def placed(self) -> Placed:
        """What is loaded."""

    @property
    def pid(self) -> int | None:
        """The process that computes, None for this one."""

    @property
    def depth_state(self) -> DepthState | None:
        """The cells of the depth, for the next case; None where there is none, or the next cannot use it."""

    def warm_up(self) -> None:
        """Once before anything is timed."""

    def repeat(self) -> int:
        """Do it and return the nanoseconds."""

    def whole_path(self) -> WholePath:
        """What was measured beside the repetitions."""

    def close(self) -> None:
        """Free what was opened."""


class PassWork:
    """A prompt, a reply, or one after the other. `depth_state` is handed from case to case."""

    def __init__(self, loads: Loads, case: BenchCase, depth_state: DepthState | None, check: Check) -> None:
        self.case = case
        self.pid = None
        model = loads.model(case)
        self._resources = ExitStack()
        context = Context(model, context_params(case, model))
        self._resources.callback(context.close)
        names = [device.name for device in backend.devices()]
        buffers = by_device(model.buffers, context.buffers, names)
        n_ctx = case.n_prompt + case.n_gen + case.n_depth
        self.placed = Placed(_describe(model), loads.kv_bytes(case, n_ctx, swa_full=False), buffers)
        self._pass = self._resources.enter_context(closing(BenchPass(model, context, case, check)))
        self._pass.depth_state = depth_state

    @property
    def depth_state(self) -> DepthState | None:
        """The cells of the depth, for the next case."""
        return self._pass.depth_state

    def warm_up(self) -> None:
        """Once before anything is timed."""
        self._pass.warm_up()

    def repeat(self) -> int:
        """Do it and return the nanoseconds."""
        return self._pass.repeat()

    def whole_path(self) -> WholePath:
        """Nothing: it is not a chat."""
        return WholePath()

    def close(self) -> None:
        """Free context and batch."""
        self._resources.close()


class ChatWork:
    """A question and its answer, seen from outside the worker. The model of `loads` is closed for it."""

    def __init__(
        self, loads: Loads, case: BenchCase, n_questions: int, make_client: ClientFactory, check: Check
    ) -> None:
        self.depth_state = None
        self._asked = case
        self._answers: list[ChatTime] = []
        model = loads.model(case)
        described, most_cells = _describe(model), model.n_ctx_train or UNKNOWN_N_CTX_TRAIN
        questions = Questions(model, n_questions * case.n_prompt + case.n_depth)
        self._costs = _cache_costs(case, model, check)
        loads.close()  # two models may not fit
        self._chat = ChatBench(described.path, case, questions, make_client, check, most_cells=most_cells)
        info = self._chat.loaded.info
        self.placed = Placed(described, loads.kv_bytes(case, info.n_ctx, swa_full=True), info.buffers)
        self.pid = self._chat.pid

    @property
    def case(self) -> BenchCase:
        """The case with the tokens that were really read and written."""
        return counted(self._asked, self._answers)

    def warm_up(self) -> None:
        """One question that does not count."""
        self._chat.ask()

    def repeat(self) -> int:
        """Ask another question and return the nanoseconds until its answer is complete."""
        self._answers.append(self._chat.ask())
        return round(self._answers[-1].total * 1e9)

    def whole_path(self) -> WholePath:
        """The medians of the answers, and what the cache's operations cost."""
        return replace(
            whole_path(self._chat.loaded.load_ms, self._answers),
            eviction_ms=self._costs.eviction_ms,
            restore_ms=self._costs.restore_ms,
            reevaluation_ms=self._costs.reevaluation_ms,
            n_restored=self._costs.n_restored,
        )

    def close(self) -> None:
        """End the worker."""
        self._chat.close()


def _describe(model: Model) -> BenchModel:
    return BenchModel(str(model.path), model.description, model.size_bytes, model.n_params)


def _cache_costs(case: BenchCase, model: Model, check: Check) -> CacheCosts:
    n_tokens = case.n_depth + case.n_prompt
    # Room for the tokens that are read around the evictions.
    params = context_params(replace(case, n_gen=ROOM_FOR_EVICTIONS), model)
    with closing(Context(model, replace(params, swa_full=True))) as context:
        return cache_costs(model, context, n_tokens, check)
