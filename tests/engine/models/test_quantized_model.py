"""What will become of a model, what is refused, and what the new file is called."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from engine.errors import ModelFileError
from engine.models.model_facts import facts_of
from engine.models.model_parts import headers_of
from engine.models.quantized_model import quantized_header, quantized_name
from engine.protocol import QuantKind
from tests.generated_models import write_model
from tests.quantizable_models import write_wide


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SmolLM2-135M-Instruct-F16", "SmolLM2-135M-Instruct-Q4_K_M.gguf"),
        ("model.BF16", "model.Q4_K_M.gguf"),
        ("model-fp32", "model-Q4_K_M.gguf"),
        ("model-Q8_0", "model-Q4_K_M.gguf"),
        ("f16-model", "Q4_K_M-model.gguf"),
        ("leaf16x", "leaf16x-Q4_K_M.gguf"),
        ("plain", "plain-Q4_K_M.gguf"),
    ],
)
def test_the_type_in_the_name_is_replaced_or_put_behind_it(name: str, expected: str) -> None:
    assert quantized_name(name, QuantKind.Q4_K_M) == expected


def test_a_name_that_no_file_could_have_is_cut() -> None:
    name = quantized_name("\N{SNOWMAN}" * 85, QuantKind.Q4_K_M)
    assert name.endswith("-Q4_K_M.gguf") and len(name.encode()) < 220


def test_facts_of_what_will_be_are_those_of_a_smaller_model(tmp_path: Path) -> None:
    headers = headers_of(write_model(tmp_path / "m-F16.gguf", n_tokens=2048, n_merges=100))
    before = facts_of(headers)
    after = facts_of((quantized_header(headers, QuantKind.Q4_K_M, tmp_path / "m-Q4_K_M.gguf"),))
    assert (after.name, after.quantization) == ("m-Q4_K_M", "Q4_K_M")
    assert after.n_params == before.n_params and after.layers == before.layers
    # 576 columns are no multiple of 256: Q5_0, Q6_K for what comes out as Q8_0, never 4.5 bits.
    assert 0.34 < after.weights_bytes / before.weights_bytes < 0.42


def test_what_is_quantized_already_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = write_wide(tmp_path / "m.gguf", kind=gguf.GGMLQuantizationType.Q4_0)
    with pytest.raises(ModelFileError, match=r"quantized already.*lose quality twice"):
        quantized_header(headers_of(path), QuantKind.Q4_K_M, tmp_path / "n.gguf")


def test_a_kind_that_makes_nothing_smaller_is_refused(tmp_path: Path) -> None:
    path = write_wide(tmp_path / "m.gguf", kind=gguf.GGMLQuantizationType.Q8_0)
    headers = headers_of(path)
    with pytest.raises(ModelFileError, match="would not become smaller as Q8_0"):
        quantized_header(headers, QuantKind.Q8_0, tmp_path / "n.gguf")
    assert quantized_header(headers, QuantKind.Q6_K, tmp_path / "n.gguf").tensors


@pytest.mark.parametrize("sort", ["projector", "vocabulary"])
def test_what_is_no_chat_model_is_refused_as_what_it_is(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "mmproj-F16.gguf"
    writer = gguf.GGUFWriter(path, "clip" if sort == "projector" else "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelFileError, match=f"{sort}.*Only chat models"):
        quantized_header(headers_of(path), QuantKind.Q4_K_M, tmp_path / "n.gguf")
