"""The memory wall: how fast tokens can come, since each one has to read all weights and the whole cache.

Bytes, bandwidths and rates go in, times and rates come out. Pure functions; all sizes in bytes, times in
seconds, rates in tokens, bytes or floating-point operations a second. Knows nothing about this machine.

Sources: the roofline is that of Williams, Waterman and Patterson, "Roofline: an insightful visual
performance model", 2009, doi:10.1145/1498765.1498785. Two operations for each parameter and token: Kaplan
et al., "Scaling laws for neural language models", 2020, arXiv:2001.08361, section 2.1. That a small model
on a fast card is bound by the launches of its kernels and not by memory was measured: 1.05 ms a token on an
H200 for 97 MB of weights, which its memory reads in 0.02 ms; hence the constant overhead. A processor with
few cores computes quantized weights slower than it reads them, and hides little of the one behind the other:
hence the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.memory.kernel_speed import KernelSpeed
from engine.memory.token_work import TokenWork
from engine.models.model_facts import ModelFacts

# Those of a llama: the matrices; norms with their weights, RoPE, storing K and V, sums and the activation.
# Attention without the one-pass kernel has two products more, softmax and a copy.
_PRODUCTS, _KERNELS = 7, 9
_PRODUCTS_OF_ATTENTION, _KERNELS_OF_ATTENTION = 2, 2
_OPERATIONS_PER_PARAMETER = 2  # a multiplication and an addition


@dataclass(frozen=True, slots=True)
class DecodeSpeed:
    """How a device decodes: `overhead` seconds for each token, and `bandwidth` bytes read a second beside.

    `kernels`: where they are known, they tell the time instead. `logit`: seconds for each token of the
    vocabulary that may come next. `base_factor` and `attention_factor`: of what does not depend on the depth,
    and of what does, what was really measured with those kernels.
    """

    bandwidth: float
    overhead: float = 0.0
    kernels: KernelSpeed | None = None
    logit: float = 0.0
    base_factor: float = 1.0
    attention_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Tokens a second with `depth` tokens in the context."""

    depth: int
    tps: float


def seconds_per_token(bytes_read: float, speed: DecodeSpeed) -> float:
    """Time of one token that reads `bytes_read` of weights and cache from one device."""
    return speed.overhead + bytes_read / speed.bandwidth


def seconds_of(work: TokenWork, speed: DecodeSpeed) -> float:
    """Time of one token's `work` on a device."""
    if speed.kernels is None:
        return seconds_per_token(work.bytes_read, speed) + work.n_logits * speed.logit
    base, attention = kernel_seconds(work, speed, speed.kernels)
    return speed.base_factor * base + speed.attention_factor * attention


def kernel_seconds(work: TokenWork, speed: DecodeSpeed, kernels: KernelSpeed) -> tuple[float, float]:
    """As the kernels were measured: time that does not depend on the depth, and time of attention."""
    reading = sum(
        n_bytes / (kernels.weights_rate(name) or speed.bandwidth) for name, n_bytes in work.weights.items()
    )
    products, others = _PRODUCTS, _KERNELS
    if not work.flash_attention:
        products, others = products + _PRODUCTS_OF_ATTENTION, others + _KERNELS_OF_ATTENTION
    started = work.n_layers * (products * kernels.product + others * kernels.kernel)
    of_head_cell = kernels.seconds_per_head_cell(
        work.k_type, work.head_size, work.sharing, flash_attention=work.flash_attention
    )
    attention = max(work.head_cells * of_head_cell, work.kv_bytes / speed.bandwidth)
    return speed.overhead + work.n_logits * speed.logit + started + reading, attention


def split_seconds_per_token(reads: Iterable[tuple[float, DecodeSpeed]]) -> float:
    """Time of one token whose layers lie on several devices: they wait for each other."""
    return sum(seconds_per_token(bytes_read, speed) for bytes_read, speed in reads)


def predicted_tps(
    facts: ModelFacts,
    kv_bytes_per_token: float,
    depth: int,
    bandwidth: float,
    efficiency: float = 1.0,
    *,
    overhead: float = 0.0,
) -> float:
    """Tokens a second of one chat with `depth` tokens in the cache, all on one device.

    `efficiency`: the part of `bandwidth` that decoding reaches; 1 is the roofline.
    """
    bytes_read = facts.active_bytes + kv_bytes_per_token * depth
    return 1 / seconds_per_token(bytes_read, DecodeSpeed(bandwidth * efficiency, overhead))


def curve(
    active_bytes: float, kv_bytes_read: Callable[[int], float], depths: Iterable[int], speed: DecodeSpeed
) -> tuple[CurvePoint, ...]:
    """Tokens a second at each of `depths`; `kv_bytes_read`: the bytes of cache that a token reads there."""
    return tuple(
        CurvePoint(depth, 1 / seconds_per_token(active_bytes + kv_bytes_read(depth), speed))
        for depth in depths
    )


def speed_up(bytes_now: float, bytes_then: float, speed: DecodeSpeed) -> float:
    """How many times faster a token comes that reads `bytes_then` instead: another KV type, other weights."""
    return seconds_per_token(bytes_now, speed) / seconds_per_token(bytes_then, speed)


def quantized_bytes(n_active_params: int, bits_per_weight: float) -> float:
    """Bytes that a token reads of weights of which each takes so many bits on the average."""
    return n_active_params * bits_per_weight / 8


def effective_bandwidth(tps: float, active_bytes: float, kv_bytes_read: float) -> float:
    """Bytes a second that decoding at `tps` read, whatever else its time went to."""
    return tps * (active_bytes + kv_bytes_read)


def arithmetic_intensity(n_active_params: int, bytes_read: float) -> float:
    """Operations for each byte read in decoding; 1 for 16-bit weights and an empty cache."""
    return _OPERATIONS_PER_PARAMETER * n_active_params / bytes_read


def compute_share(n_active_params: int, tps: float, peak_operations: float) -> float:
    """The part of a device's `peak_operations` a second that tokens at `tps` use."""
    return _OPERATIONS_PER_PARAMETER * n_active_params * tps / peak_operations


def prefill_tps(
    n_active_params: int, active_bytes: float, n_batch: int, bandwidth: float, operations: float
) -> float:
    """Tokens of a prompt a second in batches of `n_batch`, of which each reads the weights once.

    `operations`: those a second that the device reaches. A batch takes as long as the slower of both.
    """
    computing = n_batch * _OPERATIONS_PER_PARAMETER * n_active_params / operations
    return n_batch / max(active_bytes / bandwidth, computing)


def effective_operations(n_active_params: int, prefill_tps: float) -> float:
    """Operations a second that reading a prompt at `prefill_tps` needs: what `prefill_tps` takes."""
    return _OPERATIONS_PER_PARAMETER * n_active_params * prefill_tps


def streaming_kv_bytes(length: int, n_sinks: int, n_window: int, kv_bytes_per_token: float) -> float:
    """Bytes of the cache after `length` tokens, of which sinks and window stay: from there on constant.

    Xiao et al., "Efficient streaming language models with attention sinks", 2023, arXiv:2309.17453.
    """
    return min(length, n_sinks + n_window) * kv_bytes_per_token
