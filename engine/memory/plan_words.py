"""A plan's reasons in sentences for people, the most important first.

How a load fits and what else would goes in, sentences come out, which can be said in other languages. Knows
nothing about how it was counted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.memory.memory_plan import LoadShape, Verdict
from engine.memory.room_plan import Pool, Room
from engine.memory.words import Number, Words, size
from engine.models.model_facts import ModelFacts
from engine.protocol import EffectiveOptions, KVType

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
    """How a load of this shape fits; `all_layers`: the layers that cards could take, the output as one.

    `says_n_ctx_train` is False where `n_ctx_train` is a guess. `is_reserve_short`: nothing fits only because
    some memory is left to the system.
    """

    verdict: Verdict
    shape: LoadShape
    n_ctx_train: int
    all_layers: int
    pools: tuple[Pool, ...]
    freed_bytes: int
    alternatives: Alternatives
    is_reserve_short: bool = False
    says_n_ctx_train: bool = True


def reasons(facts: ModelFacts, outcome: Outcome, is_exact: bool) -> tuple[str, ...]:
    """The sentences. `is_exact`: the sizes are corrected by llama.cpp's own."""
    if outcome.verdict is Verdict.CANNOT_CHAT:
        return (facts.reason or Words("This file is no chat model."),)
    if outcome.verdict is Verdict.DOES_NOT_FIT:
        found = [*_obstacles(outcome), *_remedies(facts, outcome)]
    else:
        found = [_how_it_fits(outcome)]
    return (*found, *_notes(facts, outcome, is_exact))


def _how_it_fits(outcome: Outcome) -> Words:
    n_layers, used = outcome.shape.n_gpu_layers, _used(outcome)
    unknown = [name for pool in outcome.pools if pool.free is None for name in pool.devices]
    if unknown:
        return Words(
            "May fit: {used}. How much is free on {devices} is not known.", used=used, devices=_and(unknown)
        )
    if outcome.verdict is Verdict.TIGHT:
        return Words("Fits tightly: {used}. Other programs are left little.", used=used)
    if outcome.verdict is Verdict.FITS:
        return Words("Fits: {used}.", used=used)
    if not n_layers:
        return Words("Fits in RAM alone, since no layer has room on the GPU: {used}.", used=used)
    return Words(
        "Fits with {n} of {all} layers on the GPU: {used}. The layers in RAM make it slower.",
        n=Number(n_layers),
        all=Number(outcome.all_layers),
        used=used,
    )


def _obstacles(outcome: Outcome) -> Iterator[Words]:
    shape = outcome.shape
    short = [pool for pool in outcome.pools if pool.room is Room.NONE]
    if shape.n_ctx > outcome.n_ctx_train:  # what it would need says nothing
        yield _too_long(outcome)
    elif short:
        needs = (_need(pool, outcome.is_reserve_short) for pool in short)
        yield Words("Does not fit: {needs}.", needs=_joined("{first}, and {next}", needs))
    else:
        yield Words(
            "The KV cache of this model cannot be stored as {kv_type}: its heads are too narrow.",
            kv_type=_types(shape.options),
        )


def _too_long(outcome: Outcome) -> Words:
    n_ctx, n_ctx_train = Number(outcome.shape.n_ctx), Number(outcome.n_ctx_train)
    if outcome.says_n_ctx_train:
        return Words(
            "A context of {n_ctx} tokens is not possible: the model was trained for {n_ctx_train}.",
            n_ctx=n_ctx,
            n_ctx_train=n_ctx_train,
        )
    return Words(
        "A context of {n_ctx} tokens is not possible: {n_ctx_train} are taken, since the file does not say "
        "for how many the model was trained.",
        n_ctx=n_ctx,
        n_ctx_train=n_ctx_train,
    )


def _remedies(facts: ModelFacts, outcome: Outcome) -> Iterator[Words]:
    other, n_ctx = outcome.alternatives, Number(outcome.shape.n_ctx)
    if other.n_gpu_layers is not None:
        n, of_all = Number(other.n_gpu_layers), Number(outcome.all_layers)
        yield Words("With {n} of {all} layers on the GPU it would fit.", n=n, all=of_all)
    if other.kv_type is not None:
        kv_type = other.kv_type.value
        yield Words("With {kv_type} for the KV cache {n_ctx} tokens would fit.", kv_type=kv_type, n_ctx=n_ctx)
    if other.n_ctx:
        yield Words("With a context of {n_ctx} tokens it would fit.", n_ctx=Number(other.n_ctx))
    elif other.n_ctx_by_itself and other.n_gpu_layers is None:
        yield Words(
            "With fewer layers on the GPU a context of {n_ctx} tokens would fit.",
            n_ctx=Number(other.n_ctx_by_itself),
        )
    for pool in outcome.pools:
        if pool.room is Room.NONE and pool.used_by_others and pool.would_fit_alone:
            yield Words(
                "Other programs hold {size} {where}: closing some would help.",
                size=size(pool.used_by_others),
                where=_where(pool),
            )
    if outcome.is_reserve_short:
        yield Words(
            "With what must stay free a short context would fit: close other programs, or choose a smaller "
            "model."
        )
    elif other == Alternatives():
        yield Words(
            "Its weights alone take {size}: choose a smaller quantization of it, or a smaller model.",
            size=size(facts.weights_bytes),
        )


def _notes(facts: ModelFacts, outcome: Outcome, is_exact: bool) -> Iterator[Words]:
    if outcome.freed_bytes:
        yield Words(
            "{size} of what is free will be freed by unloading the present model.",
            size=size(outcome.freed_bytes),
        )
    if not outcome.says_n_ctx_train and outcome.shape.n_ctx <= outcome.n_ctx_train:
        yield Words(
            "The file does not say for how many tokens the model was trained: {n_ctx_train} are taken.",
            n_ctx_train=Number(outcome.n_ctx_train),
        )
    if outcome.shape.n_cells != outcome.shape.n_ctx <= outcome.n_ctx_train:
        yield Words(
            "A context is made in steps of 256 tokens: it has {n_cells} instead of {n_ctx}.",
            n_cells=Number(outcome.shape.n_cells),
            n_ctx=Number(outcome.shape.n_ctx),
        )
    if not facts.is_cache_exact and not is_exact:
        yield Words("The cache of this architecture takes more than can be counted before it is loaded.")


def _types(options: EffectiveOptions) -> str:
    """How K and V are stored: "q8_0", or both where they differ."""
    if options.k_type is options.v_type:
        return options.k_type.value
    return Words("{k_type} (K) and {v_type} (V)", k_type=options.k_type.value, v_type=options.v_type.value)


def _need(pool: Pool, is_reserve_short: bool) -> Words:
    free = pool.free or 0
    text = Words(
        "it needs {needed} {where}, where {free} are free",
        needed=size(pool.needed),
        where=_where(pool),
        free=size(free),
    )
    if pool.needed > free and not is_reserve_short:
        return text
    # Without this it would look as if it fitted, or as if something smaller would.
    return Words("{need}, and {kept} must stay free for the system", need=text, kept=size(pool.reserve))


def _where(pool: Pool) -> Words:
    return Words("in RAM") if pool.is_ram else Words("on {devices}", devices=_and(pool.devices))


def _used(outcome: Outcome) -> str:
    """For example "5.1 of 7.2 GiB free on CUDA0, 0.3 of 12.0 GiB of free RAM"."""
    used = [pool for pool in outcome.pools if not pool.is_part_of_ram]
    return _joined("{first}, {next}", map(_of, used))


def _of(pool: Pool) -> Words:
    if pool.free is None:
        return Words("{size} {where}", size=size(pool.needed), where=_where(pool))
    if pool.free >= _GIB:
        needed, free = (Number(n_bytes / _GIB, 1) for n_bytes in (pool.needed, pool.free))
        part = Words("{needed} of {free} GiB", needed=needed, free=free)
    else:
        needed, free = (Number(n_bytes / _MIB) for n_bytes in (pool.needed, pool.free))
        part = Words("{needed} of {free} MiB", needed=needed, free=free)
    if pool.is_ram:
        return Words("{part} of free RAM", part=part)
    return Words("{part} free {where}", part=part, where=_where(pool))


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return (
        Words("{names} and {name}", names=_joined("{first}, {next}", others), name=last) if others else last
    )


def _joined(template: str, parts: Iterable[str]) -> str:
    return functools.reduce(lambda first, following: Words(template, first=first, next=following), parts)
