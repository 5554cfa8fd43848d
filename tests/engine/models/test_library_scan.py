"""A folder full of broken files is listed with a reason for each, and nothing is read twice."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models import library_scan
from engine.models.gguf_header import GGUFHeader
from engine.models.library_folders import SkippedFolder, files_of
from engine.models.library_scan import scan
from engine.models.model_facts import ModelKind
from engine.models.model_parts import headers_of
from engine.models.scanned_model import ScannedModel, from_json, to_json
from tests import generated_models
from tests import malformed_files as raw
from tests.engine.models.test_bad_files import LEFT_TO_OTHERS, NO_CHAT_MODELS, UNREADABLE_HEADERS
from tests.generated_models import write_part


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose headers were read."""
    paths: list[Path] = []

    def read(path: Path) -> Sequence[GGUFHeader]:
        paths.append(path)
        return headers_of(path)

    monkeypatch.setattr(library_scan, "headers_of", read)
    return paths


def _scan(folder: Path, known: dict[Path, ScannedModel] | None = None) -> dict[Path, ScannedModel]:
    found = scan([folder], known or {})
    return {model.path: model for model in found if isinstance(model, ScannedModel)}


def test_model_is_listed_with_what_its_header_says(tmp_path: Path) -> None:
    path = generated_models.write_model(
        tmp_path / "m.gguf", n_tokens=300, n_merges=10, name="Tiny\n\u202eone"
    )
    (model,) = scan([tmp_path], {})
    assert isinstance(model, ScannedModel)
    assert (model.path, model.size, model.mtime_ns) == (path, path.stat().st_size, path.stat().st_mtime_ns)
    assert model.kind is ModelKind.CHAT
    assert model.is_chat_model
    assert model.architecture == "llama"
    assert model.n_ctx_train == 8192
    assert model.reason is None
    assert model.name.isprintable()


def test_hostile_folder_is_listed_with_a_reason_for_each_file_and_the_good_model(
    bad_files: dict[str, Path], starter_model: Path
) -> None:
    folder = bad_files["empty"].parent
    good = folder / "zz-good.gguf"
    if not good.exists():
        good.symlink_to(starter_model)
    list(scan([folder], {}))  # the first header imports the gguf package
    tracemalloc.start()
    start = time.monotonic()
    models = _scan(folder)
    seconds = time.monotonic() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(models) == {*bad_files.values(), good}
    assert models[good].is_chat_model
    for name, cause in (UNREADABLE_HEADERS | NO_CHAT_MODELS).items():
        model = models[bad_files[name]]
        assert not model.is_chat_model, name
        assert cause.split(":")[0] in (model.reason or ""), name
    assert seconds < 5
    assert peak < 50e6


def test_context_that_no_machine_can_hold_is_listed_as_the_file_says_it(bad_files: dict[str, Path]) -> None:
    models = _scan(bad_files["empty"].parent)
    assert {"context-huge", "context-0"} <= LEFT_TO_OTHERS
    assert models[bad_files["context-huge"]].n_ctx_train == 2**31 - 1
    assert models[bad_files["context-0"]].n_ctx_train is None
    assert models[bad_files["context-0"]].is_chat_model


def test_unchanged_file_is_not_read_again(tmp_path: Path, reads: list[Path]) -> None:
    generated_models.write_model(tmp_path / "good.gguf", n_tokens=3, n_merges=1)
    (tmp_path / "bad.gguf").write_bytes(b"no model")
    known = _scan(tmp_path)
    assert len(reads) == 2
    assert _scan(tmp_path, known) == known
    assert len(reads) == 2


@pytest.mark.parametrize("change", ["size", "time"])
def test_changed_file_is_read_again(tmp_path: Path, reads: list[Path], change: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"no model")
    known = _scan(tmp_path)
    status = path.stat()
    content = raw.header(0, 1) + raw.ARCHITECTURE
    path.write_bytes(content if change == "size" else b"<html>..")
    time_ns = status.st_mtime_ns if change == "size" else status.st_mtime_ns + 1_000
    os.utime(path, ns=(time_ns, time_ns))
    assert _scan(tmp_path, known)[path].reason != known[path].reason
    assert len(reads) == 2


def test_split_model_is_read_again_when_its_missing_part_has_come(tmp_path: Path) -> None:
    first = write_part(tmp_path, 1, tensor=b"blk.0.attn_norm.weight")
    known = _scan(tmp_path)
    assert "m-00002-of-00002.gguf is missing" in (known[first].reason or "")
    write_part(tmp_path, 2, tensor=b"blk.1.attn_norm.weight")
    assert _scan(tmp_path, known)[first].is_chat_model


def test_file_that_the_system_refused_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = generated_models.write_model(tmp_path / "m.gguf", n_tokens=3, n_merges=1)

    def refuse(path: Path) -> Sequence[GGUFHeader]:
        raise ModelFileError("m.gguf may not be read by this user.") from PermissionError(13, "denied")

    with monkeypatch.context() as patch:
        patch.setattr(library_scan, "headers_of", refuse)
        known = _scan(tmp_path)
    assert known[path].reason == "m.gguf may not be read by this user."
    assert _scan(tmp_path, known)[path].is_chat_model


def test_skipped_folder_is_named_between_the_models(tmp_path: Path) -> None:
    generated_models.write_model(tmp_path / "m.gguf", n_tokens=3, n_merges=1)
    skipped, model = scan([tmp_path / "gone", tmp_path], {})
    assert isinstance(skipped, SkippedFolder)
    assert isinstance(model, ScannedModel)


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path, reads: list[Path]) -> None:
    for name in "abc":
        generated_models.write_model(tmp_path / f"{name}.gguf", n_tokens=3, n_merges=1)
    models = scan([tmp_path], {})
    next(models)
    assert reads == [tmp_path / "a.gguf"]


def test_results_survive_as_json(bad_files: dict[str, Path]) -> None:
    for model in _scan(bad_files["empty"].parent).values():
        assert from_json(json.loads(json.dumps(to_json(model)))) == model


@pytest.mark.parametrize(
    "change",
    [
        {"weir": "0.0.0"},
        {"path": None},
        {"size": "5"},
        {"mtime_ns": None},
        {"kind": "dragon"},
        {"kind": None},
        {"architecture": 5},
        {"n_ctx_train": 0.5},
        {"reason": []},
    ],
)
def test_json_that_this_version_did_not_write_is_not_taken_back(change: dict[str, object]) -> None:
    stored = to_json(ScannedModel(Path("m.gguf"), 1, 2, "m", ModelKind.CHAT))
    assert from_json(stored) is not None
    assert from_json(stored | change) is None
    assert from_json([stored]) is None
    assert from_json({"weir": stored["weir"]}) is None


def test_files_that_are_only_named_like_parts_are_models_of_their_own(tmp_path: Path) -> None:
    first, second = (generated_models.write_model(tmp_path / f"z-0000{n}-of-00002.gguf") for n in (1, 2))
    for known in ({}, _scan(tmp_path)):
        models = _scan(tmp_path, known)
        assert {path: model.name for path, model in models.items()} == {
            first: "z-00001-of-00002",
            second: "z-00002-of-00002",
        }
        assert all(model.is_chat_model for model in models.values())
        assert models[first].size == first.stat().st_size
    assert files_of(first) == (first,)
    assert files_of(second) == (second,)


def test_a_whole_file_named_like_a_part_is_listed_by_its_files_name(tmp_path: Path) -> None:
    path = generated_models.write_model(tmp_path / "z-00001-of-00002.gguf")
    (model,) = _scan(tmp_path).values()
    assert (model.path, model.name, model.is_chat_model) == (path, "z-00001-of-00002", True)
