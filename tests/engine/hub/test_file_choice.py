"""`REPO[:QUANT or FILE]` and pasted addresses."""

from __future__ import annotations

import pytest

from engine.errors import BadRequest
from engine.hub.file_choice import FileChoice, choose, read_choice, searched_words
from engine.hub.hub_values import RemotePart, RepoDetails, RepoSummary, WeightsFormat
from engine.hub.repo_names import models_of


def _details(*paths: str, weights_format: WeightsFormat = WeightsFormat.GGUF) -> RepoDetails:
    models = models_of("a/m", "c", [RemotePart(path, 1, None) for path in paths])
    return RepoDetails(RepoSummary("a/m", weights_format), "c", models)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/m", FileChoice("a/m")),
        (" a/m:Q4_K_M ", FileChoice("a/m", None, "Q4_K_M")),
        ("a/m:x/m-Q4_0.gguf", FileChoice("a/m", None, "x/m-Q4_0.gguf")),
        ("https://huggingface.co/a/m", FileChoice("a/m")),
        ("huggingface.co/a/m/", FileChoice("a/m")),
        ("https://huggingface.co/a/m:Q8_0", FileChoice("a/m", None, "Q8_0")),
        ("hf.co/a/m:Q8_0", FileChoice("a/m", None, "Q8_0")),
        ("https://huggingface.co/a/m/tree/main", FileChoice("a/m", "main")),
        ("https://huggingface.co/a/m/tree/v2/Q8_0", FileChoice("a/m", "v2", "Q8_0")),
        ("https://huggingface.co/a/m/blob/main/x%20y.gguf", FileChoice("a/m", "main", "x y.gguf")),
        (
            "https://hf-mirror.com/a/m/resolve/abc/x/m.gguf?download=true",
            FileChoice("a/m", "abc", "x/m.gguf"),
        ),
        ("https://huggingface.co/a/m/discussions/3", FileChoice("a/m")),
        ("hf://a/m", FileChoice("a/m")),
    ],
)
def test_what_is_typed_names_a_repository_and_a_file(text: str, expected: FileChoice) -> None:
    assert read_choice(text) == expected


@pytest.mark.parametrize(
    "text", ["", "m", "a/b/c", "../x", "https://huggingface.co/", "ftp://x/a/b", "a b/c"]
)
def test_what_names_no_repository_is_told(text: str) -> None:
    with pytest.raises(BadRequest, match="names no repository"):
        read_choice(text)


def test_address_is_searched_by_its_name() -> None:
    assert searched_words("https://huggingface.co/a/m/tree/main") == "a/m"
    assert searched_words(" tiny llama ") == "tiny llama"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["m-Q2_K.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf"], "m-Q4_K_M.gguf"),
        (["m-UD-Q4_K_XL.gguf", "m-Q4_K_M.gguf"], "m-Q4_K_M.gguf"),
        (["m-Q2_K.gguf", "m-Q5_K_M.gguf", "m-Q8_0.gguf"], "m-Q5_K_M.gguf"),
        (["m-F16.gguf", "m-Q8_0.gguf"], "m-Q8_0.gguf"),
        (["m.gguf"], "m.gguf"),
        (["m-Q4_K_M-00001-of-00002.gguf", "m-Q3_K_M.gguf"], "m-Q3_K_M.gguf"),
        (["mmproj-F16.gguf", "m-Q6_K.gguf"], "m-Q6_K.gguf"),
    ],
)
def test_usual_choice_is_four_bits_or_what_is_nearest(paths: list[str], expected: str) -> None:
    assert choose(_details(*paths)).parts[0].path == expected


@pytest.mark.parametrize(
    "wanted",
    ["q8_0", "m-Q8_0.gguf", "m-q8_0", "big", "big/m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"],
)
def test_wanted_is_found_by_quantization_file_part_and_folder(wanted: str) -> None:
    if wanted.startswith(("big", "m-Q8_0-0")):
        details = _details("big/m-Q8_0-00001-of-00002.gguf", "big/m-Q8_0-00002-of-00002.gguf", "m-Q4_0.gguf")
    else:
        details = _details("m-Q8_0.gguf", "m-Q4_0.gguf", "m-UD-Q8_K_XL.gguf")
    assert choose(details, wanted).quantization == "Q8_0"


def test_whole_path_wins_over_equal_names() -> None:
    details = _details("m-Q8_0.gguf", "x/m-Q8_0.gguf")
    assert choose(details, "m-Q8_0.gguf").id == "a/m/m-Q8_0.gguf"
    assert choose(details, "x/m-Q8_0.gguf").id == "a/m/x/m-Q8_0.gguf"
    with pytest.raises(BadRequest, match=r"Name one of them: m-Q8_0\.gguf, x/m-Q8_0\.gguf"):
        choose(details, "Q8_0")


def test_unknown_choice_lists_what_there_is() -> None:
    with pytest.raises(BadRequest, match=r"^a/m has no Q9\. It has: (Q4_0, Q8_0|Q8_0, Q4_0)\.$"):
        choose(_details("m-Q8_0.gguf", "m-Q4_0.gguf"), "Q9")
    with pytest.raises(BadRequest, match="Name one of them"):
        choose(_details("small-Q4_0.gguf", "large-Q4_0.gguf"))


def test_repository_without_gguf_is_named_for_what_it_is() -> None:
    with pytest.raises(BadRequest, match="holds AWQ weights, and Weir loads GGUF only"):
        choose(_details(weights_format=WeightsFormat.AWQ))
    with pytest.raises(BadRequest, match="no GGUF model"):
        choose(_details())


def test_without_a_wish_a_name_that_no_file_can_have_is_passed_over() -> None:
    details = _details("../../evil-Q4_K_M.gguf", "m-Q8_0.gguf")
    assert choose(details).parts[0].path == "m-Q8_0.gguf"
    with pytest.raises(BadRequest, match=r"can be downloaded.*its name cannot be a file name here"):
        choose(_details("../../evil-Q4_K_M.gguf"))
