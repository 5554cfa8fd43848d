"""Values as JSON gave them become the values that Weir uses.

Each function takes what stood in a file and returns the value, or raises ValueError for what cannot be
used. Nothing here knows which file it was, or what stands in for a value that cannot be used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from app.data.message_text import clean_text
from engine.errors import BadRequest
from engine.protocol import LARGEST_BATCH, FlashAttention, KVType, LoadOptions, Policy, Sampling, Split

Json = dict[str, Any]

ALL_LAYERS = -1
"""As a number of layers on the GPU: all of the model."""

MOST_LAYERS = 9_999
"""No model has more layers; llama.cpp takes a larger number for all of them."""


def parse_known(stored: Json, parsers: Mapping[str, Callable[[object], object]]) -> tuple[Json, list[str]]:
    """The values in `stored` that `parsers` know, and the names of those that could not be used."""
    values: Json = {}
    unusable: list[str] = []
    for name, parse in parsers.items():
        if name in stored:
            try:
                values[name] = parse(stored[name])
            except ValueError:
                unusable.append(name)
    return values, unusable


def sampling(stored: object) -> tuple[Sampling, list[str]]:
    """The usable options of sampling over the defaults, and the names of those that could not be used."""
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


def load_options(stored: object) -> tuple[LoadOptions, list[str]]:
    """The usable options of loading over the defaults, and the names of those that could not be used."""
    if not isinstance(stored, dict):
        return LoadOptions(), ["load_options"]
    values, unusable = parse_known(stored, _LOAD_OPTIONS)
    return LoadOptions(**values), [f"load_options.{name}" for name in unusable]


def _check_number(value: object, default: object) -> None:
    """Whether `value` is of the kind of `default`; None stands for a whole number that may be absent."""
    if value is None and default is None:
        return
    kinds = (int, float) if isinstance(default, float) else (int,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ValueError


def whole_number(value: object, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise ValueError


def count(value: object) -> int | None:
    """A number above 0, or None."""
    return None if value is None else whole_number(value, 1, 2**31 - 1)


def gpu_layers(value: object) -> int:
    """A number of layers, or ALL_LAYERS."""
    return whole_number(value, ALL_LAYERS, MOST_LAYERS)


def text(value: object) -> str:
    """A text."""
    if isinstance(value, str):
        return clean_text(value)
    raise ValueError


def flag(value: object) -> bool:
    """Yes or no."""
    if isinstance(value, bool):
        return value
    raise ValueError


def name(value: object) -> str | None:
    """A text exactly as it was stored, or None."""
    if value is None or isinstance(value, str):
        return value
    raise ValueError


def names(value: object) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError


def text_by_name(value: object) -> Mapping[str, str]:
    """An object of texts."""
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        return value
    raise ValueError


def one_of(*choices: str) -> Callable[[object], str]:
    """A parser of one of `choices`."""

    def parse(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise ValueError

    return parse


def policy(value: object) -> Policy:
    """A policy's name."""
    return Policy(text(value))


def kv_type(value: object) -> KVType:
    """A KV type's name."""
    return KVType(text(value))


def _batch(value: object) -> int | None:
    return None if value is None else whole_number(value, 1, LARGEST_BATCH)


_LOAD_OPTIONS: Mapping[str, Callable[[object], object]] = {
    "v_type": lambda value: None if value is None else kv_type(value),
    "flash_attention": lambda value: FlashAttention(text(value)),
    "n_batch": _batch,
    "n_ubatch": _batch,
    "main_device": name,
    "split": lambda value: None if value is None else Split(text(value)),
    "mmap": lambda value: None if value is None else flag(value),
    "mlock": flag,
}
