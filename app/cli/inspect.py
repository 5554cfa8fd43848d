"""`weir inspect`: what a model file is and what it will keep in memory, without loading it.

In: a path. Out: two columns for people or one JSON object, and an exit status: 1 for a file that cannot be
read or is damaged, with one sentence on standard error (and as `error` in the JSON object). A file that is no
chat model is not damaged: it is told what it is. This process never loads llama.cpp, and knows nothing about
this machine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

from app.cli.model_argument import failed, read_model
from app.data.message_text import clean_text
from engine.errors import ModelFileError
from engine.memory.kv_math import bytes_per_token, can_quantize, kv_sizes
from engine.models.byte_reader import shown
from engine.models.model_facts import ModelFacts, ModelKind
from engine.protocol import KVType

_KIND_WORDS = {
    ModelKind.CHAT: "chat model",
    ModelKind.TEXT: "language model without a chat template",
    ModelKind.EMBEDDING: "embedding model",
    ModelKind.PROJECTOR: "projector",
    ModelKind.ADAPTER: "adapter",
    ModelKind.VOCABULARY: "vocabulary without weights",
    ModelKind.OTHER: "no chat model",
}
# What the JSON object leaves out of the facts: it has these in its own words.
_LEFT_OUT = ("layers", "tensor_bytes", "layer_bytes", "rearranged")


def run_inspect(path: str, as_json: bool) -> int:
    """Print the facts of the model at `path`; 0, or 1 if it cannot be read."""
    try:
        facts = read_model(path)
    except ModelFileError as error:
        return failed(str(error), as_json)
    if as_json:
        print(json.dumps(json_fields(facts), allow_nan=False))
        return 0
    rows = list(_rows(facts))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:<{width}}  {text}".rstrip())
    return 0


def json_fields(facts: ModelFacts) -> dict[str, object]:
    """The fields of the JSON object; sizes in bytes.

    `n_kv_heads` is one number where all layers agree, else one for each. `kv_bytes_per_token` is for f16;
    `kv_bytes_per_token_by_type` is null for types that the heads do not fit. `recurrent_state_bytes`: of one
    sequence.
    """
    plain = {field.name: getattr(facts, field.name) for field in fields(facts) if field.name not in _LEFT_OUT}
    heads = [layer.n_kv_heads for layer in facts.layers]
    by_type = {
        str(kv_type): bytes_per_token(facts, kv_type) if can_quantize(facts, kv_type) else None
        for kv_type in KVType
    }
    return plain | {
        "name": clean_text(facts.name),
        "n_kv_heads": _one_or_all(heads),
        "layer_kinds": [str(layer.kind) for layer in facts.layers],
        "tensor_bytes": dict(facts.tensor_bytes),
        "kv_bytes_per_token": by_type[str(KVType.F16)],
        "kv_bytes_per_token_by_type": by_type,
        "recurrent_state_bytes": kv_sizes(facts, 0, KVType.F16).state_bytes,
        "is_chat_model": facts.is_chat_model,
    }


def _one_or_all(numbers: list[int]) -> int | list[int] | None:
    if not numbers:
        return None
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _rows(facts: ModelFacts) -> Iterator[tuple[str, str]]:
    yield "Model", shown(facts.name)
    yield "Kind", _KIND_WORDS[facts.kind]
    yield "Architecture", shown(facts.architecture) or "not said"
    yield "Parameters", _parameters(facts)
    mix = ", ".join(f"{name} {_size(size)}" for name, size in _by_size(facts))
    yield "Quantization", f"{facts.quantization} ({mix})" if mix else facts.quantization
    yield "Weights", _size(facts.weights_bytes)
    if facts.is_chat_model:
        yield from _cache_rows(facts)
        yield "Trained context", f"{facts.n_ctx_train:,} tokens" if facts.n_ctx_train else "not said"
        yield "Endless chats", "yes" if facts.can_shift else "no"
    yield "License", shown(facts.license or "not said")
    if facts.reason:
        yield "Note", facts.reason


def _parameters(facts: ModelFacts) -> str:
    text = _in_millions(facts.n_params)
    if facts.n_experts:
        active = _in_millions(facts.n_active_params)
        text += f", {active} for each token ({facts.n_experts_used} of {facts.n_experts:,} experts)"
    return text


def _in_millions(count: int) -> str:
    return f"{count / 1e9:,.2f} B" if count >= 1e9 else f"{count / 1e6:,.1f} M"


def _by_size(facts: ModelFacts) -> list[tuple[str, int]]:
    return sorted(facts.tensor_bytes.items(), key=lambda item: -item[1])


def _cache_rows(facts: ModelFacts) -> Iterator[tuple[str, str]]:
    kinds = Counter(str(layer.kind) for layer in facts.layers)
    yield "Layers", f"{facts.n_layers:,} ({', '.join(f'{count} {kind}' for kind, count in kinds.items())})"
    if facts.n_heads:
        yield "Heads", f"{facts.n_heads:,}, {_kv_heads(facts)}"
    if facts.sliding_window:
        yield "Sliding window", f"{facts.sliding_window:,} tokens"
    costs = [
        f"{_size(bytes_per_token(facts, kv_type))} as {kv_type}"
        for kv_type in KVType
        if can_quantize(facts, kv_type)
    ]
    if bytes_per_token(facts, KVType.F16):
        at_least = "" if facts.is_cache_exact else "at least "
        yield "KV for each token", at_least + ", ".join(costs)
    state = kv_sizes(facts, 0, KVType.F16).state_bytes
    if state:
        yield "State", f"{_size(state)} for each chat"


def _kv_heads(facts: ModelFacts) -> str:
    size = f"{facts.key_length or 0:,} numbers"
    if facts.kv_lora_rank and not facts.value_length:
        return f"all over one latent of {size}"
    heads = sorted({layer.n_kv_heads for layer in facts.layers})
    count = f"{heads[0]:,}" if len(heads) == 1 else f"{heads[0]:,} to {heads[-1]:,} (by layer)"
    return f"over {count} KV heads of {size}"


def _size(n_bytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes:,} B"
