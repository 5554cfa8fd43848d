"""All models of the library: what half a download, hostile files and equal names look like in it."""

from __future__ import annotations

import shutil
import time
import tracemalloc
from pathlib import Path

import pytest

from app.data.installed_model import InstalledModel, Provenance, Verification
from app.data.library_contents import Places, contents
from app.data.library_file import Kept
from engine.models.known_folders import ModelFolder, ModelSource
from engine.models.library_folders import SkippedFolder
from tests import malformed_files
from tests.app.library_stage import small_model
from tests.generated_models import write_part


def _look(
    own: Path, *others: ModelFolder, kept: Kept | None = None, starter: Path | None = None
) -> dict[Path, InstalledModel]:
    places = Places((ModelFolder(own, ModelSource.WEIR), *others), starter)
    found = contents(places, kept or Kept(), lambda _path: None)
    return {item.path: item for item in found if isinstance(item, InstalledModel)}


def test_half_a_download_is_listed_with_the_true_cause_and_cannot_be_chosen(
    tmp_path: Path, starter_model: Path
) -> None:
    """janhq/jan#5266"""
    bad = malformed_files.write_bad_files(starter_model, tmp_path)
    models = _look(tmp_path)
    for name, cause in (
        ("cut-half", "cut short"),
        ("cut-last-4096", "cut short"),
        ("html", "web page"),
        ("lfs-pointer", "Git LFS"),
    ):
        model = models[bad[name]]
        assert not model.can_be_chosen, name
        assert cause in (model.reason or ""), name
    # Whole by its length: without a hash from somewhere nobody can vouch for it.
    zeroed = models[bad["zeros-after-2-million"]]
    assert zeroed.can_be_chosen
    assert zeroed.verification is Verification.UNVERIFIED


def test_hostile_files_are_listed_in_time_with_a_reason_each_and_the_good_model_can_be_chosen(
    tmp_path: Path, starter_model: Path
) -> None:
    """ggml-org/llama.cpp#27188, ggml-org/llama.cpp#7779"""
    bad = malformed_files.write_bad_files(starter_model, tmp_path)
    good = small_model(tmp_path / "zz-good.gguf")
    _look(tmp_path)  # the first header imports the tables of the package gguf
    tracemalloc.start()
    start = time.monotonic()
    models = _look(tmp_path)
    seconds = time.monotonic() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(models) == {*bad.values(), good}
    assert models[good].can_be_chosen
    assert all(model.can_be_chosen or model.reason for model in models.values())
    for name in ("mmproj-f16", "projector-named-chat"):
        assert not models[bad[name]].can_be_chosen
        assert "projector" in (models[bad[name]].reason or "")
    assert seconds < 5
    assert peak < 200e6


def test_equal_names_of_two_repositories_are_two_models_told_apart_by_them(tmp_path: Path) -> None:
    """janhq/jan#4519"""
    paths = [small_model(tmp_path / org / "x" / "model-Q4.gguf") for org in ("org-a", "org-b")]
    models = _look(tmp_path)
    assert [models[path].name for path in paths] == ["model-Q4", "model-Q4"]
    assert [models[path].place for path in paths] == ["org-a/x", "org-b/x"]
    paths[0].unlink()
    assert list(_look(tmp_path)) == [paths[1]]


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_split_model_names_the_part_that_is_missing(tmp_path: Path, missing: int) -> None:
    for number in {1, 2, 3} - {missing}:
        write_part(tmp_path, number, n_parts=3, tensor=b"blk.%d.attn_norm.weight" % number)
    (model,) = _look(tmp_path).values()
    assert not model.can_be_chosen
    assert f"m-{missing:05d}-of-00003.gguf is missing" in (model.reason or "")


def test_the_starter_is_listed_wherever_it_lies(tmp_path: Path) -> None:
    own, starter = tmp_path / "own", small_model(tmp_path / "site" / "starter.gguf")
    (model,) = _look(own, starter=starter).values()
    assert (model.source, model.can_be_chosen, model.can_be_deleted) == (ModelSource.STARTER, True, False)


def test_other_programs_models_are_read_only_and_named_by_their_folder_where_the_file_has_no_name(
    tmp_path: Path,
) -> None:
    path = small_model(tmp_path / "jan" / "Jan-v3-4b" / "model.gguf")
    (model,) = _look(tmp_path / "own", ModelFolder(tmp_path / "jan", ModelSource.JAN)).values()
    assert (model.path, model.name, model.can_be_deleted) == (path, "Jan-v3-4b", False)


def test_a_single_file_is_listed_where_it_is_and_named_when_it_is_gone(tmp_path: Path) -> None:
    path, gone = small_model(tmp_path / "usb" / "m.gguf"), tmp_path / "usb" / "gone.gguf"
    inside = small_model(tmp_path / "own" / "inside.gguf")
    models = _look(tmp_path / "own", kept=Kept(files=(path, gone, inside)))
    assert models[path].source is ModelSource.FILE
    assert not models[gone].can_be_chosen
    assert "gone.gguf" in (models[gone].reason or "")
    assert models[inside].source is ModelSource.WEIR
    assert len(models) == 3


def test_a_folder_that_the_user_added_and_that_is_gone_is_named_and_others_are_not(tmp_path: Path) -> None:
    folders = tuple(
        ModelFolder(tmp_path / source.value, source) for source in (ModelSource.FOLDER, ModelSource.JAN)
    )
    (skipped,) = contents(Places(folders), Kept(), lambda _path: None)
    assert isinstance(skipped, SkippedFolder)
    assert skipped.path == tmp_path / "folder"


def test_a_download_is_known_by_its_record(tmp_path: Path) -> None:
    path = small_model(tmp_path / "org" / "x" / "m.gguf")
    copy = tmp_path / "copy.gguf"
    shutil.copy(path, copy)
    known = {path: Provenance("Org/X", Verification.VERIFIED)}
    found = contents(Places((ModelFolder(tmp_path, ModelSource.WEIR),)), Kept(), known.get)
    models = {item.path: item for item in found if isinstance(item, InstalledModel)}
    assert (models[path].repo_id, models[path].verification) == ("Org/X", Verification.VERIFIED)
    assert models[copy].verification is Verification.UNVERIFIED


def test_labels_are_shown_instead_of_names(tmp_path: Path) -> None:
    path = small_model(tmp_path / "m.gguf")
    assert _look(tmp_path, kept=Kept({path: "My model"}))[path].name == "My model"


@pytest.mark.parametrize("linked", ["folder", "file", "second part"])
def test_what_a_link_leads_to_outside_of_the_folder_is_only_read(tmp_path: Path, linked: str) -> None:
    own, elsewhere = tmp_path / "own", tmp_path / "elsewhere"
    own.mkdir()
    elsewhere.mkdir()
    match linked:
        case "folder":
            real = small_model(elsewhere / "out.gguf")
            (own / "linkdir").symlink_to(elsewhere, target_is_directory=True)
        case "file":
            real = small_model(elsewhere / "out.gguf")
            (own / "out.gguf").symlink_to(real)
        case _:
            write_part(own, 1, tensor=b"blk.0.attn_norm.weight")
            real = write_part(elsewhere, 2, tensor=b"blk.1.attn_norm.weight")
            (own / real.name).symlink_to(real)
    (model,) = _look(own).values()
    assert (model.source, model.can_be_deleted, model.real_path) == (ModelSource.LINKED, False, real)


def test_a_models_folder_that_is_a_link_itself_is_weirs(tmp_path: Path) -> None:
    path = small_model(tmp_path / "disk" / "org" / "x" / "m.gguf")
    (tmp_path / "own").symlink_to(tmp_path / "disk", target_is_directory=True)
    (model,) = _look(tmp_path / "own").values()
    assert model.path.samefile(path)
    assert (model.source, model.real_path, model.can_be_deleted) == (ModelSource.WEIR, None, True)


def test_equal_names_in_one_repository_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("sub1", "sub2"):
        small_model(tmp_path / "org-a" / "x-GGUF" / folder / "n-Q4_0.gguf")
    places = {(model.name, model.place) for model in _look(tmp_path).values()}
    assert places == {("n-Q4_0", "org-a/x-GGUF/sub1"), ("n-Q4_0", "org-a/x-GGUF/sub2")}


def test_equal_names_in_an_added_folder_are_told_apart_by_all_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        small_model(tmp_path / "usb" / folder / "x" / "m.gguf")
    added = ModelFolder(tmp_path / "usb", ModelSource.FOLDER)
    assert {model.place for model in _look(tmp_path / "own", added).values()} == {"a/x", "b/x"}


def test_a_file_without_a_name_right_in_weirs_folder_is_not_called_like_that_folder(tmp_path: Path) -> None:
    own = tmp_path / "models"
    paths = [small_model(own / "model.gguf"), small_model(own / "imported" / "model.gguf")]
    models = _look(own)
    assert [models[path].name for path in paths] == ["model", "imported"]
