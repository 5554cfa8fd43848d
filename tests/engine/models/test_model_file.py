"""Chat models pass, their neighbours do not, and a split model is judged as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_header
from engine.models.model_file import check_chat_model, part_paths
from tests import malformed_files as raw
from tests import model_files
from tests.conftest import SmallModels


def _write_part(folder: Path, number: int, *, n_parts: int = 2, tensor: bytes = b"", name: str = "m") -> Path:
    """Part `number` as llama-gguf-split writes it: only the first one names the architecture."""
    entries = [raw.uint32_entry(b"split.no", number - 1), raw.uint32_entry(b"split.count", n_parts)]
    if number == 1:
        entries += [raw.ARCHITECTURE, raw.uint32_entry(b"llama.block_count", 2)]
    head = raw.header(bool(tensor), len(entries)) + b"".join(entries)
    if tensor:
        head += raw.tensor_entry(tensor, (8,))
    path = folder / f"{name}-{number:05d}-of-{n_parts:05d}.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    return path


def test_chat_models_of_every_memory_kind_pass(
    starter_model: Path,
    small_models: SmallModels,
    mamba_model: Path,
    gemma3_model: Path,
    no_byte_tokens_model: Path,
) -> None:
    for path in (starter_model, small_models(), mamba_model, gemma3_model, no_byte_tokens_model):
        check_chat_model(read_header(path))
        assert part_paths(read_header(path)) == (path,)


def test_split_model_with_all_its_parts_passes(tmp_path: Path) -> None:
    first = _write_part(tmp_path, 1)  # all tensors may lie in the parts behind the first
    second = _write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    check_chat_model(read_header(first))
    assert part_paths(read_header(first)) == (first, second)


def test_missing_part_is_named(tmp_path: Path) -> None:
    first = model_files.write_first_split_part(tmp_path)
    named = (
        r"^split-00001-of-00002\.gguf is one of 2 parts .* its part split-00002-of-00002\.gguf is missing\."
    )
    with pytest.raises(ModelFileError, match=named):
        check_chat_model(read_header(first))


def test_part_that_is_cut_short_is_named(tmp_path: Path) -> None:
    first = _write_part(tmp_path, 1, tensor=b"blk.0.attn_norm.weight")
    second = _write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    second.write_bytes(second.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match=r"^m-00002-of-00002\.gguf is cut short"):
        check_chat_model(read_header(first))


def test_second_part_points_to_the_first(tmp_path: Path) -> None:
    second = _write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    with pytest.raises(ModelFileError, match=r"is part 2 .* Choose the first part, m-00001-of-00002\.gguf"):
        check_chat_model(read_header(second))


def test_renamed_part_asks_for_its_name_back(tmp_path: Path) -> None:
    renamed = _write_part(tmp_path, 1).rename(tmp_path / "chat.gguf")
    with pytest.raises(ModelFileError, match=r"^chat\.gguf is part 1 .* ends in -00001-of-00002\.gguf"):
        check_chat_model(read_header(renamed))


def test_layers_of_all_parts_are_counted_together(tmp_path: Path) -> None:
    first = _write_part(tmp_path, 1, tensor=b"blk.0.attn_norm.weight")
    _write_part(tmp_path, 2, tensor=b"output_norm.weight")
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
