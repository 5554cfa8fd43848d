"""Which weights go with which layer, told from the names of tensors."""

from __future__ import annotations

from engine.models.gguf_tensors import TensorInfo
from engine.models.placement_facts import PlacementFacts, place


def tensor(name: str, *shape: int, n_bytes: int = 1) -> TensorInfo:
    return TensorInfo(name, shape, "F32", 0, n_bytes)


def test_weights_are_sorted_by_layer_and_output() -> None:
    tensors = [
        tensor("token_embd.weight", 8, 100, n_bytes=1000),
        tensor("blk.0.attn_norm.weight", 8, n_bytes=1),
        tensor("blk.0.ffn_up.weight", 8, 32, n_bytes=10),
        tensor("blk.1.ffn_up.weight", 8, 48, n_bytes=20),
        tensor("output_norm.weight", 8, n_bytes=2),
        tensor("output.weight", 8, 100, n_bytes=500),
    ]
    assert place(tensors, 2, 2, 0) == PlacementFacts((11, 20), 502, 0, 48)


def test_embeddings_that_are_the_output_too_are_what_another_device_copies() -> None:
    tensors = [tensor("token_embd.weight", 8, 100, n_bytes=1000), tensor("output_norm.weight", 8, n_bytes=2)]
    assert place(tensors, 1, 1, 0) == PlacementFacts((0,), 2, 1000, 0)


def test_layers_that_stay_in_the_file_weigh_nothing() -> None:
    tensors = [
        tensor("blk.0.ffn_up.weight", 8, 32, n_bytes=10),
        tensor("blk.1.ffn_up.weight", 8, 64, n_bytes=10),
    ]
    assert place(tensors, 2, 1, 0) == PlacementFacts((10, 0), 0, 0, 32)


def test_width_is_that_of_all_experts_used() -> None:
    tensors = [tensor("blk.0.ffn_up_exps.weight", 8, 16, 64), tensor("blk.0.ffn_up.weight", 8, 32)]
    assert place(tensors, 1, 1, 4).inner_width == 64
