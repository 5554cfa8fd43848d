"""The plan against the load: the model is loaded in a worker, and what llama.cpp allocated is compared.

A plan goes in, an error for weights, KV cache and compute buffers comes out. Promises that the worker has
ended, and its memory is free, when the answer is there. Knows nothing about how a plan is made.
"""

from __future__ import annotations

import contextlib
import queue
from dataclasses import dataclass

from app.cli.chat_session import EngineFactory
from engine.errors import EngineGone, ModelLoadError
from engine.memory.memory_plan import MemoryPlan, Wishes
from engine.protocol import EngineDied, Event, Failed, LoadModel, ModelInfo, ModelLoaded

# A wait without a limit cannot be interrupted by Ctrl+C on Windows.
_WAIT_S = 0.1
# llama.cpp logs hundredths of a MiB, for each kind of buffer up to two on a device.
_ROUNDING = 0.005 * 2**20
_BUFFERS_A_DEVICE = 2


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`error_pct`: of what was allocated, 0 where the log's two decimals tell no difference.

    None where something was predicted and nothing allocated.
    """

    predicted_bytes: int
    allocated_bytes: int
    error_pct: float | None


def audit(
    planned: MemoryPlan, path: str, wishes: Wishes, make_engine: EngineFactory
) -> dict[str, AuditEntry]:
    """Load the model as planned and compare; keys are "weights", "kv" (with states) and "compute".

    Raises ModelLoadError, ModelFileError or EngineGone where it cannot be loaded.
    """
    info = _load(planned, path, wishes, make_engine)
    n_devices = len(info.buffers)
    return {
        "weights": _entry(planned.weights_bytes, sum(one.weights for one in info.buffers), n_devices),
        "kv": _entry(planned.kv_bytes + planned.state_bytes, sum(one.kv for one in info.buffers), n_devices),
        "compute": _entry(planned.compute_bytes, sum(one.compute for one in info.buffers), n_devices),
    }


def _entry(predicted: int, allocated: int, n_devices: int) -> AuditEntry:
    off = predicted - allocated
    if abs(off) <= _ROUNDING * _BUFFERS_A_DEVICE * n_devices:
        return AuditEntry(predicted, allocated, 0.0)
    return AuditEntry(predicted, allocated, round(100 * off / allocated, 3) if allocated else None)


def _load(planned: MemoryPlan, path: str, wishes: Wishes, make_engine: EngineFactory) -> ModelInfo:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    command = LoadModel(
        path=path,
        n_ctx=planned.n_ctx,
        n_gpu_layers=planned.n_gpu_layers,
        n_seq_max=wishes.n_seq_max,
        kv_type=wishes.kv_type,
        options=wishes.options,
    )
    with contextlib.closing(make_engine(events.put)) as engine:
        engine.send(command)
        while True:
            match _next(events):
                case ModelLoaded(info):
                    return info
                case Failed(_, error):
                    raise ModelLoadError(error.message)
                case EngineDied(exit_code, cause):
                    raise EngineGone(f"The engine died of it ({cause or f'exit code {exit_code}'}).")


def _next(events: queue.SimpleQueue[Event]) -> Event:
    while True:
        with contextlib.suppress(queue.Empty):
            return events.get(timeout=_WAIT_S)
