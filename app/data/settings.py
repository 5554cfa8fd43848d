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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.data import settings_parsing as parsing
from app.data.chat_options import ChatOptions
from app.data.json_file import read_object, write_object
from app.data.paths import broken_name
from app.data.presets import EXAMPLES, Preset, parse_presets
from app.data.settings_parsing import Json
from engine.errors import KnownError
from engine.protocol import CachePolicy, KVType, LoadOptions, Policy, Sampling

Theme = Literal["system", "light", "dark"]
Direction = Literal["auto", "ltr", "rtl"]

SMALLEST_FONT, LARGEST_FONT = 8, 28
"""Points; with less nothing can be read, with more the window's parts have no room."""

SMALLEST_SAVED_KV, LARGEST_SAVED_KV = 2**28, 2**40
"""Bytes; less is hardly one chat of a small model, more is a disk."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What a model is loaded with; another one needs it loaded anew. See `engine.protocol.LoadModel`."""

    n_ctx: int | None = None
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = parsing.ALL_LAYERS
    n_threads: int | None = None
    load_options: LoadOptions = field(default_factory=LoadOptions)


def fields_of(how: LoadSettings) -> dict[str, Any]:
    """Its fields by name, which are fields of `Settings` too."""
    return {field.name: getattr(how, field.name) for field in dataclasses.fields(how)}


@dataclass(frozen=True, slots=True)
class Settings:
    """The user's choices; None stands for what Weir or the model chooses by itself.

    `n_ctx` and `max_tokens` in tokens; `window_geometry` as the window wrote it; `chat_formats` maps a
    model's path to the name of the chat format that replaces its own; `policy` is what happens when a
    chat has filled its context. `n_gpu_layers` -1 means all; `font_size` in points, None is the system's;
    `direction` is where lines of the window begin, "auto" as the system's language has it; `presets` are
    the system prompts to choose from. With `saved_kv` the cells of chats are kept on disk, in at most
    `saved_kv_budget` bytes. With `speculate` tokens may be drafted ahead of the model.
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
    sidebar_collapsed: bool = False
    chat_formats: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = Policy.ENDLESS
    kv_type: KVType = KVType.F16
    n_gpu_layers: int = parsing.ALL_LAYERS
    font_size: int | None = None
    direction: Direction = "auto"
    presets: tuple[Preset, ...] = EXAMPLES
    load_options: LoadOptions = field(default_factory=LoadOptions)
    parallel_downloads: int = 2
    speculate: bool = True
    saved_kv: bool = True
    saved_kv_budget: int = 4 * 2**30

    @property
    def load_settings(self) -> LoadSettings:
        """What a model is loaded with."""
        return LoadSettings(self.n_ctx, self.kv_type, self.n_gpu_layers, self.n_threads, self.load_options)

    def with_options(self, options: ChatOptions) -> Settings:
        """What holds in a chat that has `options`."""
        names = [option.name for option in dataclasses.fields(options)]
        chosen = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
        return dataclasses.replace(self, **chosen)

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
            stored = read_object(self._path)
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
            stored = read_object(self._path)
        try:
            write_object(self._path, _merged(stored, settings))
        except OSError as error:
            raise KnownError(
                f"Your settings could not be stored in {self._path} ({error.strerror or error}). They hold "
                "until Weir is closed: check the disk, then change them again."
            ) from error

    def _replace_broken(self, repaired: Json, what: str) -> str:
        aside = broken_name(self._path)
        try:
            self._path.replace(aside)
            write_object(self._path, repaired)
        except OSError:
            return f"Your settings file {self._path} {what}."
        return f"Your settings file {what}; the old file is kept as {aside}."


def _merged(stored: Json, settings: Settings) -> Json:
    """`settings` as JSON, with the unknown keys of `stored`."""
    known = dataclasses.asdict(settings) | {"chat_formats": dict(settings.chat_formats)}
    for name in ("sampling", "load_options"):
        part = stored.get(name)
        known[name] = (part if isinstance(part, dict) else {}) | known[name]
    return stored | known


def _parse(stored: Json) -> tuple[Settings, list[str]]:
    """The settings in `stored`, and the names of the values that could not be used."""
    values, unusable = parsing.parse_known(stored, _PARSERS)
    sampling, unusable_sampling = parsing.sampling(stored.get("sampling", {}))
    load_options, unusable_load_options = parsing.load_options(stored.get("load_options", {}))
    settings = Settings(**values, sampling=sampling, load_options=load_options)
    return settings, unusable + unusable_sampling + unusable_load_options


def _font_size(value: object) -> int | None:
    return None if value is None else parsing.whole_number(value, SMALLEST_FONT, LARGEST_FONT)


_PARSERS = {
    "theme": parsing.one_of("system", "light", "dark"),
    "last_model": parsing.name,
    "model_folders": parsing.names,
    "n_ctx": parsing.count,
    "system_prompt": parsing.text,
    "max_tokens": parsing.count,
    "n_threads": parsing.count,
    "window_geometry": parsing.name,
    "sidebar_collapsed": parsing.flag,
    "chat_formats": parsing.text_by_name,
    "policy": parsing.policy,
    "kv_type": parsing.kv_type,
    "n_gpu_layers": parsing.gpu_layers,
    "font_size": _font_size,
    "direction": parsing.one_of("auto", "ltr", "rtl"),
    "presets": parse_presets,
    "speculate": parsing.flag,
    "saved_kv": parsing.flag,
    "saved_kv_budget": lambda value: parsing.whole_number(value, SMALLEST_SAVED_KV, LARGEST_SAVED_KV),
    "parallel_downloads": lambda value: parsing.whole_number(value, 1, 3),
}
