"""What one chat does differently from the settings.

A frozen `ChatOptions` goes in and out, also as the JSON text in which the store keeps it; together with
the `Settings` it gives those that hold in the chat. Knows nothing about stores and engines.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from app.data import settings_parsing as parsing
from engine.protocol import KVType, Policy, Sampling


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """None takes what the settings say. `n_ctx`, `kv_type`, `n_gpu_layers` need the model loaded anew."""

    system_prompt: str | None = None
    sampling: Sampling | None = None
    max_tokens: int | None = None
    policy: Policy | None = None
    n_ctx: int | None = None
    kv_type: KVType | None = None
    n_gpu_layers: int | None = None


def options_to_json(options: ChatOptions) -> str:
    """The options as JSON, without what is None."""
    chosen = {name: value for name, value in dataclasses.asdict(options).items() if value is not None}
    return json.dumps(chosen, allow_nan=False, ensure_ascii=False)


def options_from_json(text: str) -> ChatOptions:
    """The options in `text`; what cannot be used, or is not known, is None."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        return ChatOptions()
    if not isinstance(stored, dict):
        return ChatOptions()
    chosen = {name: value for name, value in stored.items() if value is not None}
    values, _unusable = parsing.parse_known(chosen, _PARSERS)
    return ChatOptions(**values)


def _sampling(value: object) -> Sampling:
    sampling, unusable = parsing.sampling(value)
    if unusable:
        raise ValueError
    return sampling


_PARSERS = {
    "system_prompt": parsing.text,
    "sampling": _sampling,
    "max_tokens": parsing.count,
    "policy": parsing.policy,
    "n_ctx": parsing.count,
    "kv_type": parsing.kv_type,
    "n_gpu_layers": parsing.gpu_layers,
}
