"""A plan's reasons in sentences for people, the most important first.

How a load fits and what else would goes in, sentences come out. Knows nothing about how it was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.memory.memory_plan import LoadShape, Verdict
from engine.memory.room_plan import Pool, Room
from engine.models.model_facts import ModelFacts
from engine.protocol import KVType

_MIB, _GIB = 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What would fit where the wish does not, None or 0 if nothing of the kind does.

    `n_ctx_by_itself`: with as many layers on the cards as have room there.
    """

    n_gpu_layers: int | None = None
    kv_type: KVType | None = None
    n_ctx: int = 0
    n_ctx_by_itself: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a load of this shape fits; `all_layers`: the layers that cards could take, the output as one."""

    verdict: Verdict
    shape: LoadShape
    n_ctx_train: int
    all_layers: int
    pools: tuple[Pool, ...]
    freed_bytes: int
    alternatives: Alternatives


def reasons(facts: ModelFacts, outcome: Outcome, is_exact: bool) -> tuple[str, ...]:
    """The sentences. `is_exact`: the sizes are corrected by llama.cpp's own."""
    if outcome.verdict is Verdict.CANNOT_CHAT:
        return (facts.reason or "This file is no chat model.",)
    if outcome.verdict is Verdict.DOES_NOT_FIT:
        found = [*_obstacles(outcome), *_remedies(facts, outcome)]
    else:
        found = [_how_it_fits(outcome)]
    return (*found, *_notes(facts, outcome, is_exact))


def _how_it_fits(outcome: Outcome) -> str:
    n_layers, used = outcome.shape.n_gpu_layers, _used(outcome)
    unknown = [name for pool in outcome.pools if pool.free is None for name in pool.devices]
    if unknown:
        return f"May fit: {used}. How much is free on {_and(unknown)} is not known."
    if outcome.verdict is Verdict.TIGHT:
        return f"Fits tightly: {used}. Other programs are left little."
    if outcome.verdict is Verdict.FITS:
        return f"Fits: {used}."
    if not n_layers:
        return f"Fits in RAM alone, since no layer has room on the GPU: {used}."
    layers = f"{n_layers} of {outcome.all_layers} layers on the GPU"
    return f"Fits with {layers}: {used}. The layers in RAM make it slower."


def _obstacles(outcome: Outcome) -> Iterator[str]:
    shape = outcome.shape
    if shape.n_ctx > outcome.n_ctx_train:
        asked = f"A context of {shape.n_ctx:,} tokens is not possible"
        yield f"{asked}: the model was trained for {outcome.n_ctx_train:,}."
    short = [pool for pool in outcome.pools if pool.room is Room.NONE]
    if short:
        yield f"Does not fit: {', and '.join(_need(pool) for pool in short)}."
    elif shape.n_ctx <= outcome.n_ctx_train:
        yield f"The KV cache of this model cannot be stored as {shape.kv_type}: its heads are too narrow."


def _remedies(facts: ModelFacts, outcome: Outcome) -> Iterator[str]:
    other, shape = outcome.alternatives, outcome.shape
    if other.n_gpu_layers is not None:
        yield f"With {other.n_gpu_layers} of {outcome.all_layers} layers on the GPU it would fit."
    if other.kv_type is not None:
        yield f"With {other.kv_type} for the KV cache {shape.n_ctx:,} tokens would fit."
    if other.n_ctx:
        yield f"With a context of {other.n_ctx:,} tokens it would fit."
    elif other.n_ctx_by_itself and other.n_gpu_layers is None:
        yield f"With fewer layers on the GPU a context of {other.n_ctx_by_itself:,} tokens would fit."
    for pool in outcome.pools:
        if pool.room is Room.NONE and pool.used_by_others and pool.would_fit_alone:
            yield f"Other programs hold {size(pool.used_by_others)}{_where(pool)}: closing some would help."
    if other == Alternatives():
        advice = "choose a smaller quantization of it, or a smaller model"
        yield f"Its weights alone take {size(facts.weights_bytes)}: {advice}."


def _notes(facts: ModelFacts, outcome: Outcome, is_exact: bool) -> Iterator[str]:
    if outcome.freed_bytes:
        yield f"{size(outcome.freed_bytes)} of what is free will be freed by unloading the present model."
    if not facts.is_cache_exact and not is_exact:
        yield "The cache of this architecture takes more than can be counted before it is loaded."


def _need(pool: Pool) -> str:
    free = pool.free or 0
    text = f"it needs {size(pool.needed)}{_where(pool)}, where {size(free)} are free"
    # Without this it would look as if it fitted.
    kept = f", of which {size(pool.reserve)} stay for the system" if pool.needed <= free else ""
    return text + kept


def _where(pool: Pool) -> str:
    return " in RAM" if pool.is_ram else f" on {_and(pool.devices)}"


def _used(outcome: Outcome) -> str:
    """For example "5.1 of 7.2 GiB free on CUDA0, 0.3 of 12.0 GiB of free RAM"."""
    used = [pool for pool in outcome.pools if not pool.is_part_of_ram]
    return ", ".join(_of(pool) + (" of free RAM" if pool.is_ram else _where(pool)) for pool in used)


def _of(pool: Pool) -> str:
    if pool.free is None:
        return size(pool.needed)
    unit, scale, digits = ("GiB", _GIB, 1) if pool.free >= _GIB else ("MiB", _MIB, 0)
    free = "" if pool.is_ram else " free"
    return f"{pool.needed / scale:,.{digits}f} of {pool.free / scale:,.{digits}f} {unit}{free}"


def size(n_bytes: int) -> str:
    """Memory in MiB below 1 GiB, else in GiB."""
    return f"{n_bytes / _GIB:,.1f} GiB" if n_bytes >= _GIB else f"{n_bytes / _MIB:,.0f} MiB"


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
