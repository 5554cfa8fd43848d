"""Where the data lies, and what is said when it cannot lie there."""

import stat
import sys
from pathlib import Path

import platformdirs
import pytest

from app.data import paths
from engine.errors import KnownError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "some" / "home"
    monkeypatch.setenv("WEIR_HOME", str(folder))
    return folder


def test_everything_lies_under_weir_home(home: Path) -> None:
    assert paths.data_dir() == home
    assert paths.database_path() == home / "chats.db"
    assert paths.settings_path() == home / "settings.json"
    assert paths.log_dir() == home / "logs"
    assert (home / "logs").is_dir()
    assert paths.saved_kv_dir() == home / "saved-kv"
    assert not paths.saved_kv_dir().exists()


def test_without_weir_home_the_platform_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_HOME", "")
    monkeypatch.setattr(platformdirs, "user_data_path", lambda name, appauthor: tmp_path / name)
    assert paths.data_dir() == tmp_path / "Weir"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permission bits")
def test_only_the_user_can_enter_the_folder(home: Path) -> None:
    assert stat.S_IMODE(paths.data_dir().stat().st_mode) == 0o700


def test_a_file_in_the_folders_place_is_named(home: Path) -> None:
    home.parent.mkdir()
    home.write_text("not a folder")
    with pytest.raises(KnownError, match=r"cannot write to its folder .*home"):
        paths.data_dir()
    assert home.read_text() == "not a folder"


def test_names_for_broken_files_are_never_used_twice(tmp_path: Path) -> None:
    first = paths.broken_name(tmp_path / "chats.db", ("", "-wal"))
    Path(f"{first}-wal").touch()
    second = paths.broken_name(tmp_path / "chats.db", ("", "-wal"))
    assert first.name.startswith("chats-broken-") and first.suffix == ".db"
    assert second != first
