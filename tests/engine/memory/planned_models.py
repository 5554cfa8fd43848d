"""Facts of models of real sizes and machines of real sizes, for tests of the memory plan."""

from __future__ import annotations

from engine.memory.hardware import Device, Hardware
from engine.models.model_facts import LayerFacts, LayerKind, ModelFacts, ModelKind

MIB, GIB = 2**20, 2**30
N_LAYERS, N_VOCAB, N_EMBD, INNER = 32, 128_256, 4096, 14_336
LAYER_BYTES = 110 * MIB
TABLE_BYTES = 282 * MIB


def model_8b(
    *,
    n_ctx_train: int = 131_072,
    kind: ModelKind = ModelKind.CHAT,
    reason: str | None = None,
    layer_bytes: int = LAYER_BYTES,
    is_tied: bool = False,
    head: int = 128,
    is_cache_exact: bool = True,
) -> ModelFacts:
    """A model of 8 billion parameters in 4 bits: 1 GiB of cache for 8,192 tokens."""
    output_bytes = 0 if is_tied else TABLE_BYTES
    layers = (LayerFacts(LayerKind.FULL, 8, 8 * head, 8 * head),) * N_LAYERS
    return ModelFacts(
        name="A model",
        architecture="llama",
        kind=kind,
        n_params=8_000_000_000,
        n_active_params=8_000_000_000,
        weights_bytes=N_LAYERS * layer_bytes + TABLE_BYTES + output_bytes,
        active_bytes=N_LAYERS * layer_bytes + TABLE_BYTES,
        tensor_bytes={},
        quantization="Q4_K_M",
        n_layers=N_LAYERS,
        n_heads=32,
        n_embd=N_EMBD,
        n_vocab=N_VOCAB,
        n_ctx_train=n_ctx_train,
        layers=layers,
        sliding_window=None,
        rope_scaling=None,
        n_experts=None,
        n_experts_used=None,
        kv_lora_rank=None,
        tokenizer="gpt2",
        has_chat_template=True,
        license=None,
        can_shift=True,
        reason=reason,
        is_cache_exact=is_cache_exact,
        layer_bytes=(layer_bytes,) * N_LAYERS,
        output_bytes=output_bytes,
        output_copy_bytes=TABLE_BYTES if is_tied else 0,
        inner_width=INNER,
    )


def card(
    total_gib: float | None,
    free_gib: float | None,
    *,
    name: str = "CUDA0",
    kind: str = "gpu",
    others_gib: float | None = None,
    bandwidth: float | None = None,
    shares_ram: bool = False,
) -> Device:
    """A graphics card, or a graphics unit of the processor."""
    total, free, others = (None if n is None else int(n * GIB) for n in (total_gib, free_gib, others_gib))
    return Device(name, f"Card {name}", kind, total, free, others, bandwidth, shares_ram=shares_ram)


def machine(
    *cards: Device,
    ram_gib: float = 32,
    available_gib: float = 24,
    others_gib: float | None = None,
    bandwidth: float | None = None,
) -> Hardware:
    """A machine with so much RAM, and these cards."""
    total, available = int(ram_gib * GIB), int(available_gib * GIB)
    others = None if others_gib is None else int(others_gib * GIB)
    cpu = Device("CPU", "A processor", "cpu", total, available, others, bandwidth)
    return Hardware("A processor", 8, 8, total, available, 0, 0, (cpu, *cards))
