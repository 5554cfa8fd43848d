"""The plan against the load: the model is loaded in a worker and writes a little, and both are compared.

A plan goes in, an `Audit` comes out: an error for weights, KV cache and compute buffers, and how fast tokens
came. Promises that the worker has ended, and its memory is free, when the answer is there. Knows nothing
about how a plan is made.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cli.chat_session import EngineFactory
from app.cli.engine_events import next_event
from app.cli.last_words import cause_in_words
from engine.errors import EngineGone, ModelLoadError
from engine.memory.memory_plan import MemoryPlan, Wishes
from engine.protocol import (
    EngineDied,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    Message,
    ModelInfo,
    ModelLoaded,
    Role,
    Sampling,
    TurnStats,
)

# llama.cpp logs hundredths of a MiB, for each kind of buffer up to two on a device.
_ROUNDING = 0.005 * 2**20
_BUFFERS_A_DEVICE = 2
_SHORT_CHAT = Generate(
    request_id=1,
    chat_id="audit",
    messages=(Message(Role.USER, "Tell me about rivers."),),
    sampling=Sampling(temperature=0),
    max_tokens=48,
    ignore_eos=True,
)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`error_pct`: of what was allocated, 0 where the log's two decimals tell no difference.

    None where something was predicted and nothing allocated.
    """

    predicted_bytes: int
    allocated_bytes: int
    error_pct: float | None


@dataclass(frozen=True, slots=True)
class Audit:
    """`entries`: by "weights", "kv" (with states) and "compute". `stats`: of what it wrote, if it did."""

    entries: Mapping[str, AuditEntry]
    info: ModelInfo
    stats: TurnStats | None

    @property
    def measured_tps(self) -> float | None:
        """Tokens a second in a short chat."""
        return self.stats.decode_tps if self.stats else None


def audit(planned: MemoryPlan, path: str, wishes: Wishes, make_engine: EngineFactory) -> Audit:
    """Load the model as planned, let it write a little, and compare.

    Raises ModelLoadError, ModelFileError or EngineGone where it cannot be loaded.
    """
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with contextlib.closing(make_engine(events.put)) as engine:
        engine.send(_load_command(planned, path, wishes))
        info = _loaded(events, path)
        with contextlib.suppress(EngineGone):  # what was allocated is known all the same
            engine.send(_SHORT_CHAT)
        stats = _finished(events)
    n_devices, buffers = len(info.buffers), info.buffers
    kv_bytes = planned.kv_bytes + planned.state_bytes
    # What is mapped and was rearranged is twice in llama.cpp's log.
    weights_bytes = planned.weights_bytes + planned.file_cache_bytes
    entries = {
        "weights": _entry(weights_bytes, sum(one.weights + one.file_cache for one in buffers), n_devices),
        "kv": _entry(kv_bytes, sum(one.kv for one in buffers), n_devices),
        "compute": _entry(planned.compute_bytes, sum(one.compute for one in buffers), n_devices),
    }
    return Audit(entries, info, stats)


def _entry(predicted: int, allocated: int, n_devices: int) -> AuditEntry:
    off = predicted - allocated
    if abs(off) <= _ROUNDING * _BUFFERS_A_DEVICE * n_devices:
        return AuditEntry(predicted, allocated, 0.0)
    return AuditEntry(predicted, allocated, round(100 * off / allocated, 3) if allocated else None)


def _load_command(planned: MemoryPlan, path: str, wishes: Wishes) -> LoadModel:
    return LoadModel(
        path=path,
        n_ctx=planned.n_ctx,
        n_gpu_layers=planned.n_gpu_layers,
        n_seq_max=wishes.n_seq_max,
        kv_type=wishes.kv_type,
        options=wishes.options,
    )


def _loaded(events: queue.SimpleQueue[Event], path: str) -> ModelInfo:
    while True:
        match next_event(events):
            case ModelLoaded(info):
                return info
            case Failed(_, error):
                raise ModelLoadError(error.message)
            case EngineDied() as end:
                why = cause_in_words(end)
                raise EngineGone(f"The engine stopped while it loaded {Path(path).name} ({why}).")


def _finished(events: queue.SimpleQueue[Event]) -> TurnStats | None:
    """None where the model cannot write, which is no fault of the plan."""
    while True:
        match next_event(events):
            case Finished(stats=stats):
                return stats
            case Failed() | EngineDied():
                return None
