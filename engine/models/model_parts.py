"""A split model as one: the path of its first file in, the headers of all its parts out.

llama.cpp finds the other parts by their names alone, so a missing or renamed part is told here by the
name it should have. What the parts hold together is not known here.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelFileError
from engine.models.byte_reader import refusal, shown
from engine.models.gguf_header import GGUFHeader, read_header

PART_NAME = re.compile(r"(?P<prefix>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL | re.ASCII)


def n_parts_of(header: GGUFHeader) -> int:
    """How many files its model has, as the header says; its name may say otherwise."""
    return header.integer("split.count") or 1


def is_whole_by_itself(path: Path) -> bool:
    """Whether the file at `path` says that it is no part of anything, whatever its name says."""
    try:
        return n_parts_of(read_header(path)) <= 1
    except ModelFileError:
        return False


def headers_of(path: Path) -> tuple[GGUFHeader, ...]:
    """Read the headers of the model whose first, or only, file is `path`; the first part's comes first.

    Raises ModelFileError if a part is missing or damaged, or belongs to another model.
    """
    return read_parts(read_header(path))


def read_parts(header: GGUFHeader) -> tuple[GGUFHeader, ...]:
    """The headers of all parts of the model whose first file has this `header`, which comes first.

    Raises ModelFileError if `header` is not the first part's, or a part is missing or damaged.
    """
    others = [read_header(part) for part in part_paths(header)[1:]]
    for number, other in enumerate(others, start=2):
        if other.integer("split.no") != number - 1:  # llama.cpp refuses it too
            cause = f"is not part {number} of {shown(header.path.name)}, though its name says so"
            raise refusal(other.path.name, cause, "Nothing was loaded: download this part again.")
    return (header, *others)


def part_paths(header: GGUFHeader) -> tuple[Path, ...]:
    """The files of a model, the first one first: one, or all the parts of a split model.

    Raises ModelFileError if `header` is not the first part's, or a part is missing.
    """
    n_parts = n_parts_of(header)
    if n_parts <= 1:
        return (header.path,)
    number = (header.integer("split.no") or 0) + 1
    name = PART_NAME.fullmatch(header.path.name)
    if name is None or (int(name["number"]), int(name["count"])) != (number, n_parts):
        cause = f"is part {number} of a model in {n_parts} parts, but its name does not say so"
        advice = f"Give it back its name, which ends in -{number:05d}-of-{n_parts:05d}.gguf."
        raise refusal(header.path.name, cause, advice)
    if number == 1:
        return (header.path, *_other_parts(header, name["prefix"], n_parts))
    first = _part_path(header, name["prefix"], 1, n_parts)
    if not first.is_file():
        raise _missing_part(header, n_parts, first)
    advice = f"Choose the first part, {shown(first.name)}, instead."
    raise refusal(header.path.name, f"is part {number} of a model in {n_parts} parts", advice)


def _other_parts(header: GGUFHeader, prefix: str, n_parts: int) -> list[Path]:
    """Parts 2 to `n_parts`; ends at the first one missing, so a false `n_parts` costs nothing."""
    paths = []
    for number in range(2, n_parts + 1):
        path = _part_path(header, prefix, number, n_parts)
        if not path.is_file():
            raise _missing_part(header, n_parts, path)
        paths.append(path)
    return paths


def _missing_part(header: GGUFHeader, n_parts: int, path: Path) -> ModelFileError:
    cause = f"is one of {n_parts} parts of a model, but its part {shown(path.name)} is missing"
    return refusal(
        header.path.name, cause, "Nothing was loaded: download the missing part into the same folder."
    )


def _part_path(header: GGUFHeader, prefix: str, number: int, n_parts: int) -> Path:
    return header.path.with_name(f"{prefix}-{number:05d}-of-{n_parts:05d}.gguf")
