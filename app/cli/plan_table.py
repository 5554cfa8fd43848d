"""A memory plan for people: verdict and reasons, then a bar and the sizes of each device.

Facts, a plan and perhaps its audit go in, lines come out. Knows nothing about where they are printed.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.cli.plan_audit import Audit, AuditEntry
from engine.memory.memory_plan import PROCESS_BYTES, DevicePlan, MemoryPlan, Verdict
from engine.memory.words import size
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts

_NARROWEST, _WIDEST = 20, 78
_END = "|"


def lines(
    facts: ModelFacts, planned: MemoryPlan, audited: Audit | None, n_columns: int = 80
) -> Iterator[str]:
    """What `weir plan` prints on a terminal of so many columns."""
    yield f"{shown(facts.name)}, {facts.quantization}, {_parameters(facts.n_params)} parameters"
    yield from planned.reasons
    if planned.verdict is Verdict.CANNOT_CHAT:
        return
    yield ""
    yield from _columns(list(_rows(planned)))
    if planned.is_context_possible:
        yield from _devices(planned, max(_NARROWEST, min(_WIDEST, n_columns - 2)))
    if audited is not None:
        yield ""
        yield from _columns(
            [("", "planned", "allocated", "error"), *map(_audit_row, audited.entries.items())]
        )
        yield ""
        yield _audited_speed(planned, audited)


def _rows(planned: MemoryPlan) -> Iterator[tuple[str, ...]]:
    k_type, v_type = planned.kv_type, planned.shape.options.v_type
    stored = k_type if v_type is k_type else f"{k_type} (K) and {v_type} (V)"
    n_tokens = planned.n_cells if planned.is_context_possible else planned.n_ctx
    yield "Context", f"{n_tokens:,} tokens as {stored}"
    yield "Largest context", f"{planned.n_ctx_fitting:,} tokens" if planned.n_ctx_fitting else "none fits"
    if len(planned.devices) > 1:
        yield "GPU layers", f"{planned.n_gpu_layers:,}"
    if planned.is_context_possible:
        needed = planned.total_bytes + PROCESS_BYTES
        yield "Needed", f"{size(needed)} of {size(planned.available_bytes)}"
    yield from (("Speed", text) if number == 0 else ("", text) for number, text in enumerate(speed(planned)))
    if planned.is_context_possible:
        yield "Sizes", "llama.cpp's own" if planned.is_exact else "estimated"


def _devices(planned: MemoryPlan, width: int) -> Iterator[str]:
    *cards, host = planned.devices
    for device, process_bytes in (*((card, 0) for card in cards), (host, PROCESS_BYTES)):
        yield ""
        yield from _device(device, process_bytes, width)
    yield ""
    end = f", {_END} end of memory" if any(_is_over_full(device) for device in planned.devices) else ""
    yield f"W weights, K KV cache and states, B buffers, o other programs, . free{end}"


def speed(planned: MemoryPlan) -> Iterator[str]:
    """How fast tokens will come, one line after the other."""
    if planned.predicted_tps is None:
        yield "not known: this machine's memory was not measured yet. `weir doctor --bandwidth` does that"
        return
    about = f"about {_rate(planned.predicted_tps)} tokens/s in a short chat"
    if planned.predicted_full_tps is not None:
        about += f", {_rate(planned.predicted_full_tps)} when the context is full"
    yield about
    if planned.limit_tps is not None:
        yield f"its memory allows {_rate(planned.limit_tps)} at most"
    if not planned.is_speed_measured:
        yield "estimated from this machine's parts; a chat or --audit measures it"


def _rate(tps: float) -> str:
    return f"{tps:,.1f}" if tps < 10 else f"{tps:,.0f}"


def _parameters(count: int) -> str:
    if count >= 1e6:
        return f"{count / 1e6:,.0f} M"
    return f"{count / 1e3:,.0f} K" if count >= 1e4 else f"{count:,}"


def _audited_speed(planned: MemoryPlan, audited: Audit) -> str:
    if audited.measured_tps is None:
        return "The model was loaded, but it wrote nothing, so its speed was not measured."
    predicted = "nothing" if planned.predicted_tps is None else f"{_rate(planned.predicted_tps)} tokens/s"
    return f"Speed in a short chat: {predicted} predicted, {_rate(audited.measured_tps)} tokens/s measured"


def _device(device: DevicePlan, process_bytes: int, width: int) -> Iterator[str]:
    total = "" if device.total is None else f" of {size(device.total)}"
    yield f"{device.device}  {size(device.needed + process_bytes)}{total}"
    if device.total:
        yield f"[{bar(device, device.total, width)}]"
    parts = (
        ("weights", device.weights),
        ("KV cache", device.kv),
        ("states", device.state),
        ("buffers", device.compute),
        ("engine", device.engine + process_bytes),
    )
    yield ", ".join(f"{name} {size(n_bytes)}" for name, n_bytes in parts if n_bytes)
    if device.file_cache:
        yield f"file cache {size(device.file_cache)} on top, which can be taken back"


def _others(device: DevicePlan) -> int:
    return 0 if device.total is None or device.free is None else max(0, device.total - device.free)


def _is_over_full(device: DevicePlan) -> bool:
    return device.total is not None and device.needed + _others(device) > device.total


def bar(device: DevicePlan, total: int, width: int) -> str:
    """`width` letters in the proportion of a device's memory; what is there but small has a letter too.

    Where more is needed than there is, all of it is shown, and where the memory ends.
    """
    parts = [
        (letter, n_bytes)
        for letter, n_bytes in (
            ("W", device.weights),
            ("K", device.kv + device.state),
            ("B", device.compute + device.engine),
            ("o", _others(device)),
        )
        if n_bytes
    ]
    whole = max(total, sum(n_bytes for _, n_bytes in parts))
    left, drawn = width, ""
    for index, (letter, n_bytes) in enumerate(parts):
        most = left - (len(parts) - index - 1)
        count = max(1, min(most, width * n_bytes // whole))
        drawn, left = drawn + letter * count, left - count
    drawn = drawn[:width].ljust(width, "." if whole == total else drawn[-1:])
    end = width * total // whole
    return drawn if whole == total else drawn[:end] + _END + drawn[end + 1 :]


def _audit_row(item: tuple[str, AuditEntry]) -> tuple[str, ...]:
    name, entry = item
    error = "n/a" if entry.error_pct is None else f"{entry.error_pct:+.2f} %" if entry.error_pct else "none"
    return name, size(entry.predicted_bytes), size(entry.allocated_bytes), error


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
