"""Facts of files with one property each; what llama.cpp makes of them is tests/native/test_kv_math.py's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf
import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_header
from engine.models.model_facts import LayerKind, ModelKind, facts_of, read_facts
from tests import malformed_files as raw
from tests.engine.models.written_facts import blocks, facts, kinds, zeros

FULL, NONE = LayerKind.FULL, LayerKind.NONE


def test_starter_model(starter_model: Path) -> None:
    found = read_facts(starter_model)
    assert (found.name, found.architecture) == ("SmolLM2-135M-Instruct.Q4_1", "llama")
    assert (found.kind, found.is_chat_model, found.has_chat_template) == (ModelKind.CHAT, True, True)
    assert (found.n_params, found.n_active_params) == (134_515_008, 134_515_008)
    assert (found.weights_bytes, found.quantization) == (96_576_768, "Q4_1")
    assert sum(found.tensor_bytes.values()) == found.weights_bytes
    assert (found.n_layers, found.n_heads, found.n_embd, found.n_vocab) == (30, 9, 576, 49_152)
    assert (found.key_length, found.value_length, found.n_ctx_train) == (64, 64, 8192)
    assert {(layer.kind, layer.n_kv_heads, layer.key_values) for layer in found.layers} == {(FULL, 3, 192)}
    assert (found.tokenizer, found.license) == ("gpt2", "apache-2.0")
    assert (found.can_shift, found.reason) == (True, None)


@pytest.mark.parametrize(
    ("architecture", "settings", "general", "kind", "words"),
    [
        ("clip", {}, {}, ModelKind.PROJECTOR, "is a projector"),
        ("llama", {}, {"general__type": "mmproj"}, ModelKind.PROJECTOR, "is a projector"),
        ("llama", {}, {"general__type": "adapter"}, ModelKind.ADAPTER, "is a LoRA adapter"),
        ("controlvector", {}, {}, ModelKind.ADAPTER, "is a control vector"),
        ("nomic-bert", {}, {}, ModelKind.EMBEDDING, "is an embedding"),
        ("qwen3", {"pooling_type": 3}, {}, ModelKind.EMBEDDING, "is an embedding"),
        ("llama", {}, {"general__type": "imatrix"}, ModelKind.OTHER, "is an importance matrix"),
    ],
)
def test_neighbours_of_chat_models_are_told_apart(
    tmp_path: Path,
    architecture: str,
    settings: dict[str, int],
    general: dict[str, str],
    kind: ModelKind,
    words: str,
) -> None:
    found = facts(tmp_path, architecture, settings, None, **general)
    assert (found.kind, found.is_chat_model, found.can_shift) == (kind, False, False)
    assert found.reason is not None
    assert found.reason.startswith(f"{architecture} {words}")
    assert found.reason.endswith(".")


def test_vocabulary_without_weights_is_one(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(raw.header(0, 1) + raw.ARCHITECTURE)
    assert read_facts(path).kind is ModelKind.VOCABULARY


def test_language_model_without_a_template_is_text(tmp_path: Path) -> None:
    found = facts(tmp_path, "llama", blocks(1), {"blk.0.attn_norm.weight": zeros(8)})
    assert (found.kind, found.is_chat_model) == (ModelKind.TEXT, True)


def test_mixture_of_experts_reads_the_experts_used(tmp_path: Path) -> None:
    tensors = {
        "token_embd.weight": zeros(10, 64),
        "output.weight": zeros(10, 64),
        "blk.0.ffn_up_exps.weight": zeros(8, 16, 64),
        "blk.0.ffn_up_shexp.weight": zeros(16, 64),
    }
    found = facts(tmp_path, "qwen2moe", blocks(1, expert_count=8, expert_used_count=2), tensors)
    assert found.n_params == 2 * 640 + 9 * 1024
    assert found.n_active_params == 640 + 3 * 1024
    assert found.active_bytes == 2 * found.n_active_params
    assert (found.n_experts, found.n_experts_used) == (8, 2)


def test_embedding_that_is_the_output_too_is_read_whole(tmp_path: Path) -> None:
    tensors = {"token_embd.weight": zeros(10, 64), "blk.0.attn_norm.weight": zeros(64)}
    assert facts(tmp_path, "llama", blocks(1), tensors).n_active_params == 704


def test_layers_that_predict_further_tokens_are_not_loaded(tmp_path: Path) -> None:
    tensors = {f"blk.{layer}.attn_norm.weight": zeros(64) for layer in range(3)}
    found = facts(tmp_path, "glm4moe", blocks(3, nextn_predict_layers=1), tensors)
    assert (found.n_params, found.n_active_params, found.weights_bytes) == (192, 128, 256)
    assert kinds(found) == [FULL, FULL, NONE]
    assert found.layers[2].key_values == 0


def quantized(folder: Path, sizes: Mapping[str, int], file_type: int | None) -> str:
    """The label of a file with so many rows of 256 weights of each type."""
    types = gguf.GGMLQuantizationType
    numbers = [raw.uint32_entry(b"general.file_type", file_type)] if file_type is not None else []
    head, offset = raw.header(len(sizes), 1 + len(numbers)) + raw.ARCHITECTURE + b"".join(numbers), 0
    for name, n_rows in sizes.items():
        length, n_bytes = gguf.GGML_QUANT_SIZES[types[name]]
        head += raw.tensor_entry(name.encode(), (256, n_rows), ggml_type=types[name], offset=offset)
        offset += -(-(256 // length * n_bytes * n_rows) // 32) * 32
    path = folder / "quantized.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + offset))
    return read_facts(path).quantization


@pytest.mark.parametrize(
    ("sizes", "file_type", "label"),
    [
        ({"Q4_K": 80, "Q6_K": 20, "F32": 1}, 15, "Q4_K_M"),
        ({"Q5_0": 80, "Q8_0": 20}, 15, "Q4_K_M"),  # rows that do not fit blocks of 256
        ({"Q4_1": 80, "Q8_0": 20}, 3, "Q4_1"),
        ({"F16": 80, "F32": 1}, 1, "F16"),
        ({"F16": 80, "F32": 1}, None, "F16"),
        ({"Q4_K": 80, "Q6_K": 40}, None, "mixed Q4_K/Q6_K"),
        ({"Q4_K": 80, "Q6_K": 40}, 0, "mixed Q4_K/Q6_K"),  # a writer that always says "all F32"
        ({"Q4_K": 80}, 7, "Q4_K"),
        ({"BF16": 80}, 9999, "BF16"),
    ],
)
def test_quantization_has_the_name_that_people_know(
    tmp_path: Path, sizes: dict[str, int], file_type: int | None, label: str
) -> None:
    assert quantized(tmp_path, sizes, file_type) == label


@pytest.mark.parametrize("heads", [[1, 1], [1] * 2000, [-1, 1, 1]])
def test_list_that_does_not_fit_the_layers_is_damage(tmp_path: Path, heads: list[int]) -> None:
    entries = raw.ARCHITECTURE + raw.uint32_entry(b"llama.block_count", 3)
    content = b"".join(number.to_bytes(4, "little", signed=True) for number in heads)
    entries += raw.array_entry(b"llama.attention.head_count_kv", raw.INT32, len(heads), content)
    head = raw.header(1, 3) + entries + raw.tensor_entry(b"blk.2.attn_norm.weight", (8,))
    path = tmp_path / "lists.gguf"
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    with pytest.raises(ModelFileError, match=r"^lists\.gguf is damaged: attention\.head_count_kv"):
        read_facts(path)


def test_more_layers_than_llama_cpp_takes_are_damage(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="1 to 512 are possible"):
        facts(tmp_path, "llama", blocks(513))


def test_broken_files_have_no_facts(bad_files: dict[str, Path]) -> None:
    for name in ("cut-half", "cut-1024", "cut-4"):
        with pytest.raises(ModelFileError, match=f"^{name}"):
            read_facts(bad_files[name])


def test_parts_of_a_split_model_are_one(tmp_path: Path) -> None:
    paths = []
    for number in (1, 2):
        entries = [raw.uint32_entry(b"split.no", number - 1), raw.uint32_entry(b"split.count", 2)]
        if number == 1:
            entries += [raw.ARCHITECTURE, raw.uint32_entry(b"llama.block_count", 2)]
        head = raw.header(1, len(entries)) + b"".join(entries)
        head += raw.tensor_entry(b"blk.%d.attn_norm.weight" % (number - 1), (8,))
        paths.append(tmp_path / f"split-{number:05d}-of-00002.gguf")
        paths[-1].write_bytes(head + bytes(-len(head) % 32 + 32))
    found = read_facts(paths[0])
    assert (found.name, found.n_params, found.weights_bytes) == ("split", 16, 64)
    assert found == facts_of([read_header(path) for path in paths])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attention.head_count": 0}, "does not say how many attention heads"),
        ({"attention.head_count": "eight"}, "does not say how many attention heads"),
        ({"block_count": True}, "does not say how many layers"),
        ({"block_count": 2.5}, "does not say how many layers"),
        ({"attention.head_count_kv": 1_000_000_000}, "claims 1,000,000,000 KV heads for 2 heads"),
        ({"attention.key_length": 4_294_967_295}, "claims 4,294,967,295 numbers in one attention head"),
        ({"expert_count": 8, "expert_used_count": 99}, "to use 99 experts for a token, and has 8"),
    ],
)
def test_claims_that_no_model_can_make_are_told(
    tmp_path: Path, settings: Mapping[str, int | float | str], words: str
) -> None:
    found = facts(tmp_path, "llama", blocks(2) | dict(settings))
    assert (found.kind, found.is_chat_model, found.can_shift) == (ModelKind.OTHER, False, False)
    assert found.reason is not None and words in found.reason


def test_architecture_that_llama_cpp_does_not_know_is_named(tmp_path: Path) -> None:
    found = facts(tmp_path, "nosucharch", blocks(2))
    assert (found.kind, found.is_chat_model) == (ModelKind.OTHER, False)
    assert found.reason == (
        "nosucharch has the architecture 'nosucharch', which this Weir's llama.cpp does not know."
    )
    path = tmp_path / "bare.gguf"
    path.write_bytes(raw.header(0, 1) + raw.string_entry(b"general.architecture", b"nosucharch"))
    without_weights = read_facts(path)
    assert without_weights.reason and "architecture 'nosucharch'" in without_weights.reason
    assert without_weights.kind is ModelKind.OTHER


def test_architectures_newer_than_the_package_are_known(tmp_path: Path) -> None:
    assert facts(tmp_path, "granite_swa", blocks(2)).is_chat_model
