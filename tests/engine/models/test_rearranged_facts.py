"""What is laid anew for the processor, against the buffers that llama.cpp logged for such a model."""

from __future__ import annotations

from collections.abc import Iterator

from engine.models.gguf_tensors import TensorInfo
from engine.models.rearranged_facts import RearrangedFacts, rearranged_of

ROW = 1024


def tensors(*names_and_types: tuple[str, str], rows: int = 64) -> Iterator[TensorInfo]:
    """One after the other, each of 1 KiB a row; norms have one row."""
    offset = 0
    for name, ggml_type in names_and_types:
        shape = (256,) if "norm" in name else (256, rows)
        n_bytes = ROW * (1 if "norm" in name else rows)
        yield TensorInfo(name, shape, ggml_type, offset, n_bytes)
        offset += n_bytes


def test_matrices_of_these_types_are_rearranged_and_the_rest_stays_mapped() -> None:
    part = list(
        tensors(
            ("token_embd.weight", "Q6_K"),
            ("blk.0.attn_q.weight", "Q4_K"),
            ("blk.0.attn_norm.weight", "F32"),
            ("blk.0.ffn_up.weight", "Q4_0"),
            ("output.weight", "Q6_K"),
            ("blk.1.ffn_up.weight", "Q4_K"),
        )
    )
    found = rearranged_of([part])
    # Mapped is all from the embeddings to the output: the last matrix is behind it.
    assert found == RearrangedFacts(matrices=192 * ROW, copies=0, mapped=(4 * 64 + 1) * ROW)
    assert found.file_cache(weights_bytes=(5 * 64 + 1) * ROW) == 128 * ROW


def test_embeddings_that_are_the_output_too_lie_there_twice() -> None:
    part = list(tensors(("token_embd.weight", "Q4_K"), ("output_norm.weight", "F32")))
    found = rearranged_of([part])
    assert found == RearrangedFacts(matrices=64 * ROW, copies=64 * ROW, mapped=65 * ROW)
    assert found.file_cache(weights_bytes=65 * ROW) == 0


def test_embeddings_beside_an_output_are_read_row_by_row() -> None:
    part = list(tensors(("token_embd.weight", "Q4_K"), ("output.weight", "Q4_K")))
    assert rearranged_of([part]).matrices == 64 * ROW


def test_rows_that_are_no_eights_stay_as_they_are() -> None:
    part = list(tensors(("blk.0.attn_q.weight", "Q4_K"), ("output.weight", "F16"), rows=60))
    found = rearranged_of([part])
    assert found.matrices == 0
    assert found.file_cache(weights_bytes=0) == 0


def test_each_part_of_a_split_model_is_mapped_by_itself() -> None:
    first = list(tensors(("token_embd.weight", "F16"), ("blk.0.ffn_up.weight", "Q4_K")))
    second = list(tensors(("blk.1.ffn_up.weight", "Q4_K"), ("output.weight", "F16")))
    assert rearranged_of([first, second]) == RearrangedFacts(128 * ROW, 0, 128 * ROW)
