"""What one chat does differently from the settings.

A frozen `ChatOptions` goes in and out, also as the JSON text in which the store keeps it; together with
the `Settings` it gives those that hold in the chat. Knows nothing about stores and engines.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    raise NotImplementedError


def options_from_json(text: str) -> ChatOptions:
    """The options in `text`; what cannot be used, or is not known, is None."""
    raise NotImplementedError
