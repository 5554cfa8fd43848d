"""What one token makes a device do: weights and cache to read, attention to compute, kernels to start.

Facts, the places of the layers and a depth go in, one `TokenWork` for each device comes out. Pure
arithmetic; knows nothing about how fast any device is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.memory.kv_math import padded_cells, row_bytes
from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts
from engine.protocol import KVType

_STATE_BYTES = 4  # read and written


@dataclass(frozen=True, slots=True)
class TokenWork:
    """The work of one token on one device.

    `weights`: bytes to read, by tensor type as "Q4_K"; `kv_bytes`: of cache and states. `head_cells`: pairs
    of a query head and a cell that is computed for it, summed over the layers, with `head_size` numbers in a
    key; `sharing` query heads look at one head of the cache. `n_logits`: of how many tokens of the vocabulary
    the likelihood is computed, 0 without the output layer.
    """

    weights: Mapping[str, float]
    kv_bytes: float = 0
    head_cells: float = 0
    head_size: int = 0
    k_type: str = KVType.F16.value
    n_layers: int = 0
    n_logits: int = 0
    sharing: float = 1.0
    flash_attention: bool = True

    @property
    def bytes_read(self) -> float:
        """Bytes of weights and cache."""
        return sum(self.weights.values()) + self.kv_bytes


def works(
    facts: ModelFacts,
    places: Sequence[str],
    n_cells: float = 0,
    k_type: KVType = KVType.F16,
    v_type: KVType | None = None,
    *,
    flash_attention: bool = True,
) -> Mapping[str, TokenWork]:
    """The work on each device that has any, of a token with `n_cells` cells before it.

    `places`: the device of each layer, then that of the output. Without `flash_attention` cells that are not
    looked at are computed too: those of a sliding layer behind its window, and up to the next 256.
    """
    weights = bytes_read(facts, places)
    layers = facts.layers[: len(places) - 1]
    found: dict[str, TokenWork] = {}

    def computed(layer: LayerFacts) -> float:
        return _cells(layer, facts, n_cells) if flash_attention else _computed_cells(layer, n_cells)

    for device, n_bytes in weights.items():
        here = [layer for layer, place in zip(layers, places, strict=False) if place == device]
        found[device] = TokenWork(
            weights=_by_type(facts, n_bytes),
            kv_bytes=sum(_cache_bytes(layer, facts, n_cells, k_type, v_type) for layer in here),
            head_cells=sum(computed(layer) for layer in here) * (facts.n_heads or 0),
            head_size=facts.key_length or 0,
            k_type=k_type.value,
            n_layers=sum(place == device for place in places[:-1]),
            n_logits=(facts.n_vocab or 0) if places[-1] == device else 0,
            sharing=_sharing(here, facts),
            flash_attention=flash_attention,
        )
    return found


def bytes_read(facts: ModelFacts, places: Sequence[str]) -> Mapping[str, float]:
    """Bytes of weights that one token reads from each device; of experts, only those used."""
    read: defaultdict[str, float] = defaultdict(float)
    output = facts.output_bytes + facts.output_copy_bytes
    read[places[-1]] += min(output, facts.active_bytes)
    layers = facts.layer_bytes or (1,) * facts.n_layers
    share = max(0, facts.active_bytes - output) / (sum(layers) or 1)
    for place, n_bytes in zip(places, layers, strict=False):
        read[place] += n_bytes * share
    return {name: n_bytes for name, n_bytes in read.items() if n_bytes}


def _by_type(facts: ModelFacts, n_bytes: float) -> Mapping[str, float]:
    """The mix of the whole file."""
    total = sum(facts.tensor_bytes.values())
    if not total:
        return {"": n_bytes}
    return {name: n_bytes * size / total for name, size in facts.tensor_bytes.items()}


def _cells(layer: LayerFacts, facts: ModelFacts, n_cells: float) -> float:
    """How many cells its attention looks at."""
    if layer.kind is LayerKind.FULL:
        return n_cells
    # A layer with a state beside its cache is of no kind of its own.
    if layer.kind is LayerKind.SLIDING:
        return min(n_cells, facts.sliding_window or n_cells)
    return n_cells if layer.key_values else 0


def _computed_cells(layer: LayerFacts, n_cells: float) -> float:
    # `get_n_kv` in llama.cpp's src/llama-kv-cache.cpp; sliding layers keep all cells, as Weir asks for.
    return padded_cells(math.ceil(n_cells) + 1) if layer.key_values else 0


def _sharing(layers: Sequence[LayerFacts], facts: ModelFacts) -> float:
    """Query heads for each head of the cache, on the average of the layers that have one."""
    kept = [layer.n_kv_heads for layer in layers if layer.n_kv_heads]
    return (facts.n_heads or 0) * len(kept) / sum(kept) if kept and facts.n_heads else 1.0


def _cache_bytes(
    layer: LayerFacts, facts: ModelFacts, n_cells: float, k_type: KVType, v_type: KVType | None
) -> float:
    states = 2 * layer.state_values * _STATE_BYTES
    return _cells(layer, facts, n_cells) * row_bytes(layer, k_type, v_type) + states
