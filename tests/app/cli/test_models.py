"""`weir models` and `weir rm`: what is listed, and that nothing is deleted without a yes."""

from __future__ import annotations

import errno
import io
import json
import mmap
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import models as command
from app.cli.models import run_models, run_rm
from app.data.library_file import Kept, LibraryFile
from tests.app.library_stage import small_model
from tests.generated_models import write_part


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path / "weir"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(
        command, "starter_model_path", lambda: small_model(tmp_path / "site" / "starter.gguf")
    )
    monkeypatch.setattr("send2trash.send2trash", Path.unlink)
    return tmp_path / "weir" / "models"


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What somebody types at a terminal."""
    return lambda text: monkeypatch.setattr("sys.stdin", _Terminal(text))


def _json(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    out = capsys.readouterr().out
    found = json.loads(out, parse_constant=pytest.fail)
    assert out.count("\n") == 1
    assert isinstance(found, list)
    return found


def test_json_lists_every_model_with_its_reason(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_model(own / "org" / "x" / "m.gguf")
    (own / "bad.gguf").write_bytes(b"<html>")
    assert run_models((), as_json=True) == 0
    model, starter, bad = _json(capsys)
    assert (model["path"], model["repo_id"], model["source"]) == (str(path), "org/x", "weir")
    assert (model["is_chat_model"], model["verification"], model["size"]) == (
        True,
        "unverified",
        path.stat().st_size,
    )
    assert starter["source"] == "starter"
    assert bad["is_chat_model"] is False
    assert "web page" in str(bad["reason"])


def test_people_see_a_table(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_model(own / "org" / "x" / "m.gguf")
    write_part(own, 1)
    assert run_models((), as_json=False) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("m ")
    assert "8,192 tokens" in first
    assert first.endswith("org/x, unverified, in Weir's folder")
    assert second.endswith("the model that came with Weir")
    assert "m-00002-of-00002.gguf is missing" in third


def test_folders_can_be_listed_instead(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_model(own / "m.gguf")
    small_model(tmp_path / "usb" / "n.gguf")
    assert run_models((str(tmp_path / "usb"), str(tmp_path / "gone")), as_json=True) == 0
    captured = capsys.readouterr()
    (model,) = json.loads(captured.out)
    assert (model["name"], model["source"]) == ("n", "folder")
    assert "gone cannot be searched" in captured.err


def test_labels_are_names_here_too(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_model(own / "m.gguf")
    LibraryFile(own.parent / "library.json").save(Kept({path: "My model"}))
    assert run_rm("My model", as_json=False, is_sure=True) == 0
    assert not path.exists()
    assert "My model was moved to the trash" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["m", "m.gguf", "org/x/m.gguf", "{path}"])
def test_a_model_is_deleted_by_any_of_its_names(
    own: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = small_model(own / "org" / "x" / "m.gguf")
    assert run_rm(name.format(path=path), as_json=True, is_sure=True) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(path), "deleted": True, "in_trash": True}
    assert not path.exists()


def test_equal_names_are_told_apart_by_their_paths(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """janhq/jan#4519"""
    paths = [small_model(own / org / "x" / "m.gguf") for org in ("a", "b")]
    assert run_rm("m", as_json=False, is_sure=True) == 1
    err = capsys.readouterr().err
    assert "2 models are called m" in err
    assert all(str(path) in err for path in paths)
    assert run_rm("a/x/m.gguf", as_json=False, is_sure=True) == 0
    assert [path.exists() for path in paths] == [False, True]


def test_in_a_pipe_nothing_is_deleted_without_yes(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small_model(own / "m.gguf")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run_rm("m", as_json=False, is_sure=False) == 1
    assert "--yes" in capsys.readouterr().err
    assert path.exists()


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("yes\n", 0), ("\n", 1), ("n\n", 1), ("", 1)])
def test_at_a_terminal_it_is_asked(own: Path, types: Callable[[str], None], typed: str, status: int) -> None:
    path = small_model(own / "m.gguf")
    types(typed)
    assert run_rm("m", as_json=False, is_sure=False) == status
    assert path.exists() is bool(status)


@pytest.mark.parametrize(("typed", "status"), [("y\ny\n", 0), ("y\nn\n", 1)])
def test_without_a_trash_it_is_asked_again(
    own: Path,
    types: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    status: int,
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    path = small_model(own / "m.gguf")
    types(typed)
    assert run_rm("m", as_json=False, is_sure=False) == status
    assert path.exists() is bool(status)
    assert "Delete it for ever?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"), [("starter", "came with Weir"), ("gone", "No model is called gone")]
)
def test_what_is_not_there_or_not_the_users_is_told(
    own: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    assert run_rm(name, as_json=False, is_sure=True) == 1
    assert words in capsys.readouterr().err


def test_other_programs_models_are_listed_and_left_alone(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_model(tmp_path / "home" / ".lmstudio" / "models" / "org" / "x" / "lm.gguf")
    assert run_models((), as_json=True) == 0
    assert [model["source"] for model in _json(capsys)] == ["lm_studio", "starter"]
    assert run_rm("lm", as_json=False, is_sure=True) == 1
    assert "LM Studio's" in capsys.readouterr().err
    assert path.exists()


def test_a_file_name_cannot_steer_the_terminal(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_model(own / "a\x1b[2Jb.gguf")
    assert run_models((), as_json=False) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_what_lies_outside_of_weirs_folder_is_left_alone_and_named(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], linked: str
) -> None:
    real = small_model(tmp_path / "elsewhere" / "out.gguf")
    own.mkdir(parents=True)
    if linked == "folder":
        (own / "linkdir").symlink_to(real.parent, target_is_directory=True)
    else:
        (own / "out.gguf").symlink_to(real)
    assert run_models((), as_json=False) == 0
    assert "linked from elsewhere" in capsys.readouterr().out
    assert run_rm("out", as_json=False, is_sure=True) == 1
    assert f"out really is {real}, outside of Weir's folders" in capsys.readouterr().err
    assert real.exists()


def test_equal_names_in_one_repository_are_told_apart_by_their_folders(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [small_model(own / "org-a" / "x-GGUF" / sub / "n-Q4_0.gguf") for sub in ("sub1", "sub2")]
    assert run_models((), as_json=False) == 0
    out = capsys.readouterr().out
    assert "org-a/x-GGUF/sub1" in out
    assert "org-a/x-GGUF/sub2" in out
    assert run_rm("n-Q4_0", as_json=False, is_sure=True) == 1
    assert f"{paths[1]} (org-a/x-GGUF/sub2)" in capsys.readouterr().err
    assert run_rm("org-a/x-GGUF/sub2/n-Q4_0.gguf", as_json=False, is_sure=True) == 0
    assert [path.exists() for path in paths] == [True, False]


def test_folders_without_a_model_are_named(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert run_models((str(tmp_path / "empty"),), as_json=False) == 0
    err = capsys.readouterr().err
    assert f"No models are in {tmp_path / 'empty'}." in err
    assert "yet" not in err


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_of_weirs_that_cannot_be_written_is_read(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    if is_there:
        small_model(own / "m.gguf")

    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert run_models((), as_json=False) == 0
    captured = capsys.readouterr()
    assert (own / "m.gguf").exists() is captured.out.startswith("m ")
    assert captured.err == ""
    assert own.parent.exists() is is_there  # only read


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells who has a file mapped")
def test_a_model_that_a_program_has_loaded_is_left_alone(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_model(own / "m.gguf")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert run_rm("m", as_json=False, is_sure=True) == 1
    assert "m is loaded by a running program" in capsys.readouterr().err
    assert path.exists()
    assert run_rm("m", as_json=False, is_sure=True) == 0
