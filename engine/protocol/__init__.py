"""Everything that crosses the boundary to the engine's worker process.

Commands go to the worker, events come back; both are frozen dataclasses of plain values, so they
pickle under `spawn` on every platform. One worker serves one model for its whole life: the first
command is `LoadModel`, and another model means another worker. Every `Generate` carries the whole
chat as messages, never as tokens, so that after a crash a new worker can simply be sent it again.

For each `Generate` exactly one `Finished` or `Failed` with its `request_id` comes back, unless the
worker dies: then `EngineDied` is the last event of all.

This module knows nothing about pipes, llama.cpp or Qt.
"""

from __future__ import annotations

from engine.protocol.bench import (
    Bench,
    BenchCase,
    BenchFinished,
    BenchKind,
    BenchMachine,
    BenchModel,
    BenchNoise,
    BenchProgress,
    BenchResult,
    WholePath,
)
from engine.protocol.commands import (
    Cancel,
    Command,
    CountTokens,
    Endure,
    Forget,
    Generate,
    LoadModel,
    LookAt,
    Shutdown,
)
from engine.protocol.error_report import ErrorCode, ErrorReport
from engine.protocol.events import (
    CacheShifted,
    CacheView,
    EnduranceProgress,
    EnduranceReport,
    EngineDied,
    Event,
    Failed,
    Finished,
    Gauges,
    LoadProgress,
    ModelLoaded,
    PrefillProgress,
    TextDelta,
    TokenCount,
)
from engine.protocol.load_options import (
    LARGEST_BATCH,
    EffectiveOptions,
    FlashAttention,
    KVType,
    LoadOptions,
    Split,
)
from engine.protocol.values import (
    BackendReport,
    CachePolicy,
    DeviceBuffers,
    DeviceMemory,
    Endurance,
    EnduranceRun,
    FinishReason,
    Message,
    ModelInfo,
    Policy,
    Role,
    Sampling,
    Shift,
    TurnStats,
    max_sinks,
    real_n_ctx,
)

__all__ = [
    "LARGEST_BATCH",
    "BackendReport",
    "Bench",
    "BenchCase",
    "BenchFinished",
    "BenchKind",
    "BenchMachine",
    "BenchModel",
    "BenchNoise",
    "BenchProgress",
    "BenchResult",
    "CachePolicy",
    "CacheShifted",
    "CacheView",
    "Cancel",
    "Command",
    "CountTokens",
    "DeviceBuffers",
    "DeviceMemory",
    "EffectiveOptions",
    "Endurance",
    "EnduranceProgress",
    "EnduranceReport",
    "EnduranceRun",
    "Endure",
    "EngineDied",
    "ErrorCode",
    "ErrorReport",
    "Event",
    "Failed",
    "FinishReason",
    "Finished",
    "FlashAttention",
    "Forget",
    "Gauges",
    "Generate",
    "KVType",
    "LoadModel",
    "LoadOptions",
    "LoadProgress",
    "LookAt",
    "Message",
    "ModelInfo",
    "ModelLoaded",
    "Policy",
    "PrefillProgress",
    "Role",
    "Sampling",
    "Shift",
    "Shutdown",
    "Split",
    "TextDelta",
    "TokenCount",
    "TurnStats",
    "WholePath",
    "max_sinks",
    "real_n_ctx",
]
