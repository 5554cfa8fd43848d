"""The header of a remote model file, read from its first bytes, without downloading the rest.

The same parser and the same checks as for a file on the disk. Where the bytes end inside the header, the
answer is how many more to fetch: twice what is there or more, so that a header of 16 MB takes five
rounds from a start of `FIRST_BYTES`. How bytes are fetched is not known here.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from engine.models.byte_reader import MAX_HEADER_BYTES, ByteReader, CutShort
from engine.models.gguf_header import GGUFHeader, parse_header

FIRST_BYTES = 2**20  # a good first fetch: headers with 32,000 tokens are shorter


@dataclass(frozen=True, slots=True)
class NeedMore:
    """The header goes on: fetch `n_bytes` more, right behind those that are there."""

    n_bytes: int


def read_header_prefix(data: bytes, name: str, file_size: int | None) -> GGUFHeader | NeedMore:
    """Read the header of the file `name` of `file_size` bytes, None if unknown, that begins with `data`.

    The header's `path` is `name`. No more than the file has, and than a header may have, is ever asked
    for. Raises ModelFileError as `read_header` does; without a size, a file cut short is not noticed.
    """
    path = Path(name)
    try:
        return parse_header(path, ByteReader(io.BytesIO(data), path.name, file_size))
    except CutShort as error:
        if file_size is not None and error.required_size > file_size:
            raise
        most = MAX_HEADER_BYTES if file_size is None else min(MAX_HEADER_BYTES, file_size)
        return NeedMore(min(most, max(error.required_size, 2 * len(data), FIRST_BYTES)) - len(data))
