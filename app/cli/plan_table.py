"""A memory plan for people: verdict and reasons, then a bar and the sizes of each device.

Facts, a plan and perhaps its audit go in, lines come out. Knows nothing about where they are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.cli.plan_audit import AuditEntry
from engine.memory.memory_plan import DevicePlan, MemoryPlan, Verdict
from engine.memory.words import size
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts

_BAR_WIDTH = 50


def lines(facts: ModelFacts, planned: MemoryPlan, audited: Mapping[str, AuditEntry] | None) -> Iterator[str]:
    """What `weir plan` prints."""
    yield f"{shown(facts.name)}, {facts.quantization}, {facts.n_params / 1e6:,.0f} M parameters"
    yield from planned.reasons
    if planned.verdict is Verdict.CANNOT_CHAT:
        return
    yield ""
    yield from _columns(list(_rows(planned)))
    for device in planned.devices:
        yield ""
        yield from _device(device)
    yield ""
    yield "W weights, K KV cache and states, B buffers, o other programs, . free"
    if audited is not None:
        yield ""
        yield from _columns([("", "planned", "allocated", "error"), *map(_audit_row, audited.items())])


def _rows(planned: MemoryPlan) -> Iterator[tuple[str, ...]]:
    k_type, v_type = planned.kv_type, planned.shape.options.v_type
    stored = k_type if v_type is k_type else f"{k_type} (K) and {v_type} (V)"
    yield "Context", f"{planned.n_ctx:,} tokens as {stored}"
    yield "Largest context", f"{planned.n_ctx_fitting:,} tokens" if planned.n_ctx_fitting else "none fits"
    if len(planned.devices) > 1:
        yield "GPU layers", f"{planned.n_gpu_layers:,}"
    yield "Needed", f"{size(planned.total_bytes)} of {size(planned.available_bytes)}"
    if planned.predicted_tps is not None and planned.limit_tps is not None:
        limit = f"its memory allows {planned.limit_tps:,.0f} at most"
        yield "Speed", f"about {planned.predicted_tps:,.0f} tokens/s; {limit}"
    yield "Sizes", "llama.cpp's own" if planned.is_exact else "estimated"


def _device(device: DevicePlan) -> Iterator[str]:
    total = "" if device.total is None else f" of {size(device.total)}"
    yield f"{device.device}  {size(device.needed)}{total}"
    if device.total:
        yield f"[{bar(device, device.total)}]"
    parts = (
        ("weights", device.weights),
        ("KV cache", device.kv),
        ("states", device.state),
        ("buffers", device.compute),
        ("engine", device.engine),
    )
    yield ", ".join(f"{name} {size(n_bytes)}" for name, n_bytes in parts if n_bytes)


def bar(device: DevicePlan, total: int, width: int = _BAR_WIDTH) -> str:
    """`width` letters in the proportion of a device's memory; what is there but small has a letter too."""
    others = max(0, total - device.free) if device.free is not None else 0
    parts = (
        ("W", device.weights),
        ("K", device.kv + device.state),
        ("B", device.compute + device.engine),
        ("o", others),
    )
    drawn = "".join(letter * max(1, round(width * n_bytes / total)) for letter, n_bytes in parts if n_bytes)
    return drawn[:width].ljust(width, ".")


def _audit_row(item: tuple[str, AuditEntry]) -> tuple[str, ...]:
    name, entry = item
    error = "n/a" if entry.error_pct is None else f"{entry.error_pct:+.2f} %" if entry.error_pct else "none"
    return name, size(entry.predicted_bytes), size(entry.allocated_bytes), error


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
