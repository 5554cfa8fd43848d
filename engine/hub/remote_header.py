"""What a remote model is, told from the first bytes of its files, without downloading the rest.

A model and a way to fetch bytes go in, `ModelFacts` come out, by the same parser and the same checks as for
a file on the disk. Bounded whatever the files claim: no more than `MOST_BYTES` are fetched for one model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from engine.errors import ModelFileError
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.models.byte_reader import refusal, shown
from engine.models.gguf_header import GGUFHeader
from engine.models.header_prefix import FIRST_BYTES, NeedMore, read_header_prefix
from engine.models.model_facts import ModelFacts, facts_of

MOST_BYTES = 64 * 2**20  # the largest headers known have 16 MB
# Parts behind the first one list tensors only: 1,000 of them take 80 kB.
_FIRST_BYTES_OF_OTHERS = 2**17

Fetch = Callable[[RemotePart, int, int], bytes]
"""Fetches `n_bytes` of a part from an offset on: (part, offset, n_bytes). Fewer only at the file's end."""


def remote_facts(model: RemoteModel, fetch: Fetch) -> ModelFacts:
    """The facts of `model`. Raises ModelFileError for a part that is missing, damaged, or another model's."""
    if model.missing:
        name = shown(model.missing[0])
        cause = (
            f"lacks {len(model.missing):,} of its parts, as {name}"
            if len(model.missing) > 1
            else f"lacks {name}"
        )
        advice = "Nothing was fetched: choose another model."
        raise refusal(PurePosixPath(model.parts[0].path).name, cause, advice)
    budget = _Budget(fetch)
    headers = [_header(part, budget, is_first=number == 0) for number, part in enumerate(model.parts)]
    _check_parts(model, headers)
    try:
        return facts_of(headers)
    except ModelFileError as error:
        raise _of_remote(error) from error


class _Budget:
    """Fetches, until `MOST_BYTES` have been."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._left = MOST_BYTES

    def fetch(self, part: RemotePart, start: int, n_bytes: int) -> bytes:
        self._left -= n_bytes
        if self._left < 0:
            cause = "has a longer header than any real model"
            raise refusal(PurePosixPath(part.path).name, cause, "Nothing was kept: choose another model.")
        return self._fetch(part, start, n_bytes)


def _header(part: RemotePart, budget: _Budget, *, is_first: bool) -> GGUFHeader:
    name = PurePosixPath(part.path).name
    n_bytes = min(FIRST_BYTES if is_first else _FIRST_BYTES_OF_OTHERS, part.size)
    data = b""
    while True:
        more = budget.fetch(part, len(data), n_bytes)
        data += more
        try:
            answer = read_header_prefix(data, name, part.size)
        except ModelFileError as error:
            raise _of_remote(error) from error
        if not isinstance(answer, NeedMore):
            return answer
        n_bytes = answer.n_bytes
        if not more or n_bytes <= 0:
            raise refusal(name, "ends inside its header", "Nothing was kept: choose another model.")


def _check_parts(model: RemoteModel, headers: list[GGUFHeader]) -> None:
    """Raise ModelFileError if the files are not what their names say, as llama.cpp would."""
    names = [PurePosixPath(part.path).name for part in model.parts]
    count = headers[0].integer("split.count") or 1
    if count != len(names):
        raise _foreign(names[0], f"says that it is one of {count:,} parts, but its name says {len(names):,}")
    for number, header in enumerate(headers if count > 1 else ()):
        if (header.integer("split.no") or 0) != number:
            raise _foreign(names[number], f"is not part {number + 1:,}, though its name says so")


def _of_remote(error: ModelFileError) -> ModelFileError:
    """The same cause. What it ends with is advice for a file on the disk."""
    cause = str(error).rpartition(". ")[0]
    return ModelFileError(f"{cause}. Nothing was fetched: choose another file.")


def _foreign(name: str, cause: str) -> ModelFileError:
    return refusal(name, cause, "Nothing was kept: choose another model.")
