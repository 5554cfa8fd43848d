"""What the library keeps comes back whole, and a broken file costs labels nobody their models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.data.library_file import LONGEST_LABEL, Kept, LibraryFile, as_label
from engine.errors import KnownError
from engine.models.model_facts import ModelKind
from engine.models.scanned_model import ScannedModel


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.json"


def test_all_comes_back(path: Path) -> None:
    model = ScannedModel(Path("/m/a.gguf"), 5, 6, "a", ModelKind.CHAT, "llama", "Q4_1", 7, 8, None)
    kept = Kept({model.path: "My model"}, (Path("/m/b\udcff.gguf"),), {model.path: model})
    LibraryFile(path).save(kept)
    assert LibraryFile(path).load() == kept


def test_no_file_is_no_library(path: Path) -> None:
    assert LibraryFile(path).load() == Kept()
    assert not path.exists()


def test_a_file_that_is_no_object_is_set_aside(path: Path) -> None:
    path.write_text("[1, 2")
    assert LibraryFile(path).load() == Kept()
    (aside,) = path.parent.iterdir()
    assert aside.name.startswith("library-broken-")


def test_what_cannot_be_used_is_passed_over(path: Path) -> None:
    stored = {
        "labels": {"/m/a.gguf": " Good\nname ", "/m/b.gguf": 5, "/m/c.gguf": " "},
        "files": [5, "", "/m/d.gguf"],
    }
    path.write_text(json.dumps(stored | {"models": [5, {"path": "x"}]}))
    kept = LibraryFile(path).load()
    assert kept == Kept({Path("/m/a.gguf"): "Good name"}, (Path("/m/d.gguf"),), {})
    path.write_text(json.dumps({"labels": [], "files": {}, "models": "x"}))
    assert LibraryFile(path).load() == Kept()


def test_a_disk_that_refuses_is_told_and_the_old_file_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LibraryFile(path).save(Kept({Path("/a"): "old"}))
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(KnownError, match="No space left"):
            LibraryFile(path).save(Kept({Path("/a"): "new"}))
    assert LibraryFile(path).load().labels == {Path("/a"): "old"}
    assert list(path.parent.iterdir()) == [path]


def test_a_label_is_one_line_of_bounded_length() -> None:
    assert as_label("  a \n b\t") == "a b"
    assert len(as_label("x" * 1000)) == LONGEST_LABEL
