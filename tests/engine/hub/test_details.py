"""A repository: its models, grouped and named, and what it was made from."""

from __future__ import annotations

import hashlib

import pytest

from engine.hub.hub import Hub
from engine.hub.hub_values import Gating, RemotePart
from engine.hub.repo_names import MOST_MISSING, is_model_file, models_of, name_without_format, quantization_of
from tests.fake_hub.content import COMMIT, HubFile, HubRepo
from tests.fake_hub.server import FakeHub


def _part(path: str, size: int = 1) -> RemotePart:
    return RemotePart(path, size, None)


def test_models_have_size_hash_and_commit(server: FakeHub, hub: Hub) -> None:
    files = {
        "README.md": HubFile(b"#", is_lfs=False),
        "m-Q8_0.gguf": HubFile(b"12"),
        "m-Q4_K_M.gguf": HubFile(b"1"),
    }
    server.add(HubRepo("a/m", files, gated="auto", tags=["gguf", "license:mit", "base_model:b/m"]))
    details = hub.details("a/m")
    assert (details.revision, details.based_on) == (COMMIT, ("b/m",))
    assert (details.summary.license, details.summary.gating) == ("mit", Gating.AUTO)
    assert [(model.id, model.quantization, model.size) for model in details.models] == [
        ("a/m/m-Q4_K_M.gguf", "Q4_K_M", 1),
        ("a/m/m-Q8_0.gguf", "Q8_0", 2),
    ]
    assert details.models[1].parts[0].sha256 == hashlib.sha256(b"12").hexdigest()
    assert {model.revision for model in details.models} == {COMMIT}


def test_parts_are_one_model_and_missing_ones_are_named() -> None:
    files = [_part(f"Q8_0/m-Q8_0-{number:05d}-of-00003.gguf", number) for number in (3, 1, 2)] + [
        _part("m-Q4_0-00002-of-00003.gguf"),
        _part("m-Q4_0-00003-of-00003.gguf"),
    ]
    broken, whole = models_of("a/m", "c", files)
    assert [part.path[-19:-14] for part in whole.parts] == ["00001", "00002", "00003"]
    assert (whole.size, whole.quantization, whole.missing) == (6, "Q8_0", ())
    assert broken.missing == ("m-Q4_0-00001-of-00003.gguf",)


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_each_missing_part_is_named(missing: int) -> None:
    names = [f"m-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    (model,) = models_of("a/m", "c", [_part(name) for name in names if name != names[missing - 1]])
    assert model.missing == (names[missing - 1],)


def test_equal_names_in_two_folders_are_two_models() -> None:
    models = models_of("a/m", "c", [_part("x/m-Q4_0.gguf"), _part("y/m-Q4_0.gguf")])
    assert [model.id for model in models] == ["a/m/x/m-Q4_0.gguf", "a/m/y/m-Q4_0.gguf"]


def test_claims_of_names_are_bounded() -> None:
    (model,) = models_of("a/m", "c", [_part("m-00001-of-99999.gguf")])
    assert len(model.missing) == MOST_MISSING
    assert models_of("a/m", "c", [_part("m-00009-of-00003.gguf"), _part("m-00000-of-00003.gguf")]) == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Llama-3.2-1B-Instruct-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("model.Q5_K_S.gguf", "Q5_K_S"),
        ("m-Q3_K_XL.gguf", "Q3_K_XL"),
        ("Qwen3-8B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m-UD-IQ2_XXS.gguf", "UD-IQ2_XXS"),
        ("m.i1-IQ3_XS.gguf", "IQ3_XS"),
        ("m-IQ4_NL.gguf", "IQ4_NL"),
        ("m-Q4_0_4_4.gguf", "Q4_0_4_4"),
        ("m-TQ1_0.gguf", "TQ1_0"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("m-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("m-BF16.gguf", "BF16"),
        ("m-bf16-00001-of-00002.gguf", "BF16"),
        ("m.fp16.gguf", "F16"),
        ("m-f32.gguf", "F32"),
        ("f16/m-Q6_K.gguf", "Q6_K"),
        ("Q8_0/m-00001-of-00002.gguf", "Q8_0"),
        ("m-q8.gguf", "Q8"),
        ("Q4All-7B.gguf", None),
        ("m.gguf", None),
    ],
)
def test_quantization_is_read_from_the_name(path: str, expected: str | None) -> None:
    assert quantization_of(path) == expected


@pytest.mark.parametrize(
    "name",
    [
        "mmproj-F16.gguf",
        "gemma-mmproj-bf16.gguf",
        "imatrix.gguf",
        "m.imatrix.gguf",
        "README.md",
        "m.gguf.part1of2",
    ],
)
def test_files_beside_a_model_are_no_models(name: str) -> None:
    assert not is_model_file(name)


def test_model_made_with_an_importance_matrix_is_one() -> None:
    assert is_model_file("m-imatrix-Q4_K_M.gguf")


def test_name_without_format_is_the_models_own() -> None:
    assert name_without_format("TheBloke/Mistral-7B-v0.1-AWQ") == "Mistral-7B-v0.1"
    assert name_without_format("x/Qwen2-7B-Instruct-GPTQ-Int4") == "Qwen2-7B-Instruct"
    assert name_without_format("x/Plain") == "Plain"


def test_names_that_are_none_are_passed_over(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/m", tags=["gguf", "base_model:../x", "base_model:b/c d", "base_model:e/f"]))
    assert hub.details("a/m").based_on == ("e/f",)
