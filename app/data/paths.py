"""Where Weir keeps what it stores: one folder for chats, settings and logs.

The environment goes in, paths come out. Promises that every path it hands out lies in a folder that
exists, that only this user can enter (mode 0700 where Weir made it) and that can be written; but for
`data_dir_to_read` and `saved_kv_dir`.
Knows nothing about what is in the files.
"""

from __future__ import annotations

import datetime
import itertools
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import platformdirs

from engine.errors import KnownError

SETTINGS_FILE, LIBRARY_FILE, MODELS_FOLDER = "settings.json", "library.json", "models"
QUANTIZED_FOLDER = "quantized"
SAVED_KV_FOLDER = "saved-kv"


def data_dir() -> Path:
    """The folder of everything that Weir stores: WEIR_HOME, or else the platform's data folder.

    Raises KnownError when it cannot be made or written.
    """
    return _usable(data_dir_to_read())


def data_dir_to_read() -> Path:
    """The same folder for those who only read in it: it may be missing, or not writable."""
    home = os.environ.get("WEIR_HOME")
    chosen = Path(home).expanduser() if home else platformdirs.user_data_path("Weir", appauthor=False)
    return chosen.absolute()


def log_dir() -> Path:
    """The folder of the logs. Raises KnownError when it cannot be made or written."""
    return _usable(data_dir() / "logs")


def database_path() -> Path:
    """The file of the chats. Raises KnownError when its folder cannot be made or written."""
    return data_dir() / "chats.db"


def settings_path() -> Path:
    """The file of the settings. Raises KnownError when its folder cannot be made or written."""
    return data_dir() / SETTINGS_FILE


def bandwidth_path() -> Path:
    """The file of the measured memory bandwidth. Raises KnownError when its folder cannot be written."""
    return data_dir() / "bandwidth.json"


def calibrations_path() -> Path:
    """The file of the times that decoding took. Raises KnownError when its folder cannot be written."""
    return data_dir() / "calibrations.json"


def library_path() -> Path:
    """The file of what is known of the models. Raises KnownError when its folder cannot be written."""
    return data_dir() / LIBRARY_FILE


def models_dir() -> Path:
    """The folder of downloaded models. Raises KnownError when it cannot be made or written."""
    return _usable(data_dir() / MODELS_FOLDER)


def saved_kv_dir() -> Path:
    """The folder of saved KV. It may be missing: the engine makes it with the first chat that it saves.

    It lies with the chats, since it holds their texts: what takes the one folder away leaves none of them.
    """
    return data_dir_to_read() / SAVED_KV_FOLDER


def quantized_dir() -> Path:
    """The folder, in that of the models, of those that Weir has quantized. Raises KnownError as it does."""
    return _usable(models_dir() / QUANTIZED_FOLDER)


def broken_name(path: Path, suffixes: Iterable[str] = ("",)) -> Path:
    """An unused name beside `path` for a broken file to be kept: `chats-broken-<date>.db`.

    It is unused with each of `suffixes` behind it.
    """
    stem = f"{path.stem}-broken-{datetime.date.today().isoformat()}"
    names = (path.with_name(f"{stem}{'' if n == 1 else f'-{n}'}{path.suffix}") for n in itertools.count(1))
    return next(name for name in names if not any(Path(f"{name}{suffix}").exists() for suffix in suffixes))


def _usable(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Permission bits do not tell about read-only disks and access lists; only writing does.
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise KnownError(
            f"Weir cannot write to its folder {folder} ({error.strerror or error}). Nothing was changed: "
            "make the folder writable, or set WEIR_HOME to another one."
        ) from error
