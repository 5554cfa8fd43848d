"""What the user chose, in a JSON file.

A frozen `Settings` goes in and out. Promises:
- the file is replaced in one step: after a crash or a loss of power it is the old or the new one, whole;
- no file, however broken, stops the start: what cannot be used takes its default, the file is set aside
  beside the new one, and there is one sentence for the user;
- keys that this Weir does not know, perhaps a newer one's, are kept.

Knows nothing about what the values are used for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.data.message_text import clean_text
from app.data.paths import broken_name
from engine.errors import BadRequest, KnownError
from engine.protocol import CachePolicy, KVType, Policy, Sampling

Theme = Literal["system", "light", "dark"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """The user's choices; None stands for what Weir or the model chooses by itself.

    `n_ctx` and `max_tokens` in tokens; `window_geometry` as the window wrote it; `chat_formats` maps a
    model's path to the name of the chat format that replaces its own; `policy` is what happens when a
    chat has filled its context.
    """

    theme: Theme = "system"
    last_model: str | None = None
    model_folders: tuple[str, ...] = ()
    n_ctx: int | None = None
    system_prompt: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    n_threads: int | None = None
    window_geometry: str | None = None
    chat_formats: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = Policy.ENDLESS
    kv_type: KVType = KVType.F16

    @property
    def cache(self) -> CachePolicy:
        """How the cells of the chats are kept."""
        return CachePolicy(policy=self.policy)


class SettingsStore:
    """The settings file at `path`. It is read and written whole; there is nothing to close."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> tuple[Settings, str | None]:
        """The settings, and one sentence for the user if not all of the file could be used."""
        try:
            stored = _read(self._path)
        except FileNotFoundError:
            return Settings(), None
        except OSError as error:
            return Settings(), (
                f"Your settings in {self._path} could not be read ({error.strerror or error}), so Weir "
                "starts with its defaults; the file was left as it is."
            )
        except (ValueError, RecursionError):
            return Settings(), self._replace_broken({}, "could not be read, so Weir starts with its defaults")
        settings, unusable = _parse(stored)
        if not unusable:
            return settings, None
        what = f"had values that cannot be used ({', '.join(unusable)}); the defaults stand in for them"
        return settings, self._replace_broken(_merged(stored, settings), what)

    def save(self, settings: Settings) -> None:
        """Store `settings`. Raises KnownError when the file cannot be written."""
        stored: Json = {}
        with contextlib.suppress(OSError, ValueError, RecursionError):
            stored = _read(self._path)
        try:
            _write(self._path, _merged(stored, settings))
        except OSError as error:
            raise KnownError(
                f"Your settings could not be stored in {self._path} ({error.strerror or error}). They hold "
                "until Weir is closed: check the disk, then change them again."
            ) from error

    def _replace_broken(self, repaired: Json, what: str) -> str:
        aside = broken_name(self._path)
        try:
            self._path.replace(aside)
            _write(self._path, repaired)
        except OSError:
            return f"Your settings file {self._path} {what}."
        return f"Your settings file {what}; the old file is kept as {aside}."


def _read(path: Path) -> Json:
    stored = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(stored, dict):
        raise ValueError("settings are an object")
    return stored


def _write(path: Path, stored: Json) -> None:
    # ASCII escapes keep paths whose bytes are no valid text.
    text = json.dumps(stored, indent=2, allow_nan=False, ensure_ascii=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _merged(stored: Json, settings: Settings) -> Json:
    """`settings` as JSON, with the unknown keys of `stored`."""
    known = dataclasses.asdict(settings) | {"chat_formats": dict(settings.chat_formats)}
    sampling = stored.get("sampling")
    known["sampling"] = (sampling if isinstance(sampling, dict) else {}) | known["sampling"]
    return stored | known


# --- parsing: each function returns the value or raises ValueError ------------------------------------


def _parse(stored: Json) -> tuple[Settings, list[str]]:
    """The settings in `stored`, and the names of the values that could not be used."""
    values: Json = {}
    unusable: list[str] = []
    for name, parse in _PARSERS.items():
        if name in stored:
            try:
                values[name] = parse(stored[name])
            except ValueError:
                unusable.append(name)
    sampling, unusable_sampling = _sampling(stored.get("sampling", {}))
    return Settings(**values, sampling=sampling), unusable + unusable_sampling


def _sampling(stored: object) -> tuple[Sampling, list[str]]:
    if not isinstance(stored, dict):
        return Sampling(), ["sampling"]
    values: Json = {}
    unusable: list[str] = []
    for option in dataclasses.fields(Sampling):
        if option.name in stored:
            value: Json = {option.name: stored[option.name]}
            try:
                _check_number(stored[option.name], option.default)
                Sampling(**value)
                values |= value
            except (ValueError, BadRequest):
                unusable.append(f"sampling.{option.name}")
    return Sampling(**values), unusable


def _check_number(value: object, default: object) -> None:
    """Whether `value` is of the kind of `default`; None stands for a whole number that may be absent."""
    if value is None and default is None:
        return
    kinds = (int, float) if isinstance(default, float) else (int,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ValueError


def _count(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31):
        return value
    raise ValueError


def _theme(value: object) -> str:
    if value in ("system", "light", "dark"):
        return str(value)
    raise ValueError


def _text(value: object) -> str:
    if isinstance(value, str):
        return clean_text(value)
    raise ValueError


def _name(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError


def _formats(value: object) -> Mapping[str, str]:
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return value
    raise ValueError


def _policy(value: object) -> Policy:
    return Policy(_text(value))


def _kv_type(value: object) -> KVType:
    return KVType(_text(value))


_PARSERS: dict[str, Callable[[object], object]] = {
    "theme": _theme,
    "last_model": _name,
    "model_folders": _names,
    "n_ctx": _count,
    "system_prompt": _text,
    "max_tokens": _count,
    "n_threads": _count,
    "window_geometry": _name,
    "chat_formats": _formats,
    "policy": _policy,
    "kv_type": _kv_type,
}
