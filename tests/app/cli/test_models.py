"""`weir models` and `weir rm`: what is listed, and that nothing is deleted without a yes."""

from __future__ import annotations

import io
import json
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
