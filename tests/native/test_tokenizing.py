"""No text overflows the tokenizer's stack, whatever regular expressions the vocabulary splits it with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.llama.model import Model
from engine.protocol import CountTokens, Failed, TokenCount
from tests import model_files
from tests.model_files import TokenizerFields
from tests.native.harness import remote_engine, user


@pytest.fixture(scope="module", params=["gpt-4o", "deepseek-llm"])
def regex_model(
    request: pytest.FixtureRequest, model_folder: Path, tokenizer_fields: TokenizerFields
) -> Path:
    """A model whose words are split by `std::regex`, which recurses for each character."""
    fields = tuple(
        replace(field, value=request.param) if field.key == "tokenizer.ggml.pre" else field
        for field in tokenizer_fields.fields
    )
    path = model_folder / f"{request.param}.gguf"
    return model_files.write_small_chat_model(path, TokenizerFields(fields))


@pytest.mark.parametrize("unit", ["x", " ", "=", "漢", "\n"])
def test_a_million_characters_without_a_border_cost_no_worker(regex_model: Path, unit: str) -> None:
    with remote_engine() as engine:
        engine.load(regex_model, n_ctx=256)
        engine.client.send(CountTokens("draft", unit * 1_000_000))
        assert engine.next(TokenCount).n_tokens > 1000
        engine.generate([user("x" + unit * 1_000_000 + "x")])
        assert "shorten it" in engine.next(Failed).error.message


def test_the_count_is_the_number_of_tokens(starter: Model) -> None:
    for text in ("", "Hello there", "x" * 5000 + " y", " " * 5000, "<|im_end|>", "👍 ok \ud83d"):
        assert starter.count(text) == len(starter.tokenize(text, parse_special=False))
