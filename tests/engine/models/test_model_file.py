"""Chat models pass, their neighbours do not, and a split model is judged as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_header
from engine.models.model_file import check_chat_model
from tests import malformed_files as raw
from tests.conftest import SmallModels
from tests.generated_models import write_part


def test_chat_models_of_every_memory_kind_pass(
    starter_model: Path,
    small_models: SmallModels,
    mamba_model: Path,
    gemma3_model: Path,
    no_byte_tokens_model: Path,
) -> None:
    for path in (starter_model, small_models(), mamba_model, gemma3_model, no_byte_tokens_model):
        check_chat_model(read_header(path))


def test_split_model_with_all_its_parts_passes(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1)  # all tensors may lie in the parts behind the first
    write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    check_chat_model(read_header(first))


def test_layers_of_all_parts_are_counted_together(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1, tensor=b"blk.0.attn_norm.weight")
    write_part(tmp_path, 2, tensor=b"output_norm.weight")
    with pytest.raises(ModelFileError, match="it claims 2 layers but holds 1"):
        check_chat_model(read_header(first))


@pytest.mark.parametrize(
    ("entries", "n_layers"),
    [((raw.uint32_entry(b"llama.nextn_predict_layers", 1),), 2), ((), 1)],
)
def test_layers_that_predict_further_tokens_may_lack_weights(
    tmp_path: Path, entries: tuple[bytes, ...], n_layers: int
) -> None:
    head = raw.header(1, 2 + len(entries)) + raw.ARCHITECTURE + b"".join(entries)
    head += raw.uint32_entry(b"llama.block_count", n_layers) + raw.tensor_entry(
        b"blk.0.attn_norm.weight", (8,)
    )
    path = tmp_path / "nextn.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    check_chat_model(read_header(path))


def test_architecture_whose_name_only_resembles_an_embedding_models_passes(tmp_path: Path) -> None:
    head = raw.header(1, 1) + raw.string_entry(b"general.architecture", b"pangu-embedded")
    head += raw.tensor_entry(b"blk.0.attn_norm.weight", (8,))
    path = tmp_path / "pangu.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    check_chat_model(read_header(path))
