"""Bounded little-endian reads from a file that nobody vouches for, or from its first bytes.

Bytes come from the file in pieces of a megabyte, so that memory stays small whatever the file claims.
Every length is held against a bound of its own and against the file's size before a byte is read:
what passes a bound but not the file's end is a file cut short, what fails the bound is damage. The
file is read, not mapped: a mapped file that another program shortens would kill the process.

This module knows lengths and counts, but nothing of what a GGUF file means.
"""

from __future__ import annotations

import re
import struct
from typing import Any, BinaryIO

from engine.errors import ModelFileError

PIECE_BYTES = 2**20

# A whole header: a vocabulary of 262,144 tokens with its merges takes 16 MB.
MAX_HEADER_BYTES = 2**27
# A header's text together: chat templates of 10 MB have been seen, real headers hold 10 KB.
MAX_TEXT_BYTES = 12 * 2**20
# All arrays of a header together: a vocabulary of 262,144 tokens comes with 1.6 million items.
MAX_ARRAY_ITEMS = 2**23

_UINT64 = struct.Struct("<Q")

# Texts of up to 127 bytes, passed over many at a time within one call: a vocabulary with its merges has
# 777,000 of them, and a loop that looks at each takes twice as long. The alternatives differ in their
# first byte and the repetition is possessive, so nothing is ever tried twice.
_MANY = 256
_SHORT_TEXTS = (re.escape(bytes([n])) + rb"\0" * 7 + b".{%d}+" % n for n in range(128))
_MANY_SHORT_TEXTS = re.compile(b"(?s:(?:%b){%d}+)" % (b"|".join(_SHORT_TEXTS), _MANY))


class CutShort(ModelFileError):
    """The bytes end too early; `required_size` of them, from the file's start, are needed at least."""

    def __init__(self, sentence: str, required_size: int) -> None:
        super().__init__(sentence)
        self.required_size = required_size


def refusal(
    name: str, cause: str, advice: str = "Nothing was changed: choose another file."
) -> ModelFileError:
    """The error for a file that cannot be used: "`name` `cause`. `advice`"."""
    return ModelFileError(f"{shown(name)} {cause}. {advice}")


def shown(text: str | bytes) -> str:
    """Foreign text made fit for a sentence: no control characters, at most 80 characters."""
    if isinstance(text, bytes):
        text = text[:320].decode("utf-8", "replace")
    clean = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:80])
    return clean + "…" if len(text) > 80 else clean


class ByteReader:
    """Reads `file` from its start; `file_name` is what its errors call it.

    `size`: bytes of the whole file, of which `file` may hold the first ones alone; None if it is unknown.
    Every method raises CutShort where bytes are missing, and ModelFileError where a claim is out of bounds.
    """

    def __init__(self, file: BinaryIO, file_name: str, size: int | None) -> None:
        self.file_name = file_name
        self.size = size
        self._file = file
        self._piece = b""
        self._piece_start = 0
        self._at = 0
        self._text_left = MAX_TEXT_BYTES
        self._items_left = MAX_ARRAY_ITEMS

    @property
    def position(self) -> int:
        """Bytes from the file's start to the next one to be read."""
        return self._piece_start + self._at

    def peek(self, n_bytes: int) -> bytes:
        """The next `n_bytes`, or fewer where the bytes end; the position stays."""
        if self._at + n_bytes > len(self._piece):
            self._read_piece(n_bytes)
        return self._piece[self._at : self._at + n_bytes]

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """The next values in `layout`."""
        if len(self._piece) - self._at < layout.size:
            self._load(layout.size)
        values = layout.unpack_from(self._piece, self._at)
        self._at += layout.size
        return values

    def text(self, what: str, longest: int = MAX_TEXT_BYTES) -> bytes:
        """The next text, a uint64 length and its bytes; `what` is named if it is over `longest`."""
        (length,) = self.unpack(_UINT64)
        return self.content(what, length, longest)

    def content(self, what: str, length: int, longest: int = MAX_TEXT_BYTES) -> bytes:
        """The next `length` bytes; `what` is named if they are over `longest`."""
        if length > min(longest, self._text_left):
            raise self.damaged(f"{what} claims {length:,} bytes, more than any real one has")
        self._text_left -= length
        if len(self._piece) - self._at < length:
            self._load(length)
        content = self._piece[self._at : self._at + length]
        self._at += length
        return content

    def name(self, what: str, longest: int) -> str:
        """The next text, which must be UTF-8 and at most `longest` bytes."""
        raw = self.text(what, longest)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise self.damaged(f"{what} is not UTF-8: {shown(raw)}") from None

    def count_items(self, what: str, count: int, item_size: int) -> None:
        """Check that `count` items of at least `item_size` bytes each may and can follow."""
        if count > self._items_left:
            raise self.damaged(f"{what} claims {count:,} items, more than any real model has")
        self._items_left -= count
        self._need(count * item_size)

    def skip(self, n_bytes: int) -> None:
        """Pass over `n_bytes` without reading them."""
        self._need(n_bytes)
        self._at += n_bytes

    def skip_texts(self, count: int) -> None:
        """Pass over `count` texts, looking at their lengths alone."""
        while count > 0:
            if count >= _MANY and (many := _MANY_SHORT_TEXTS.match(self._piece, self._at)):
                self._at = many.end()
                count -= _MANY
            else:
                # What is left is no guess: each text takes 8 bytes at least.
                self._load(_UINT64.size, further=(count - 1) * _UINT64.size)
                count -= self._skip_texts_of_piece(min(count, _MANY))

    def _skip_texts_of_piece(self, count: int) -> int:
        """Pass over `count` texts, or those that begin in this piece; returns how many these were."""
        # The end of the piece is noticed by the exception, which costs nothing until then.
        length_at, piece, at, length, passed = _UINT64.unpack_from, self._piece, self._at, 0, 0
        try:
            for passed in range(count):  # noqa: B007 - used where the piece ends
                length = length_at(piece, at)[0]
                at += 8 + length
            passed = count
        except (struct.error, OverflowError):
            pass
        if length > MAX_TEXT_BYTES:
            raise self.damaged(f"a text in an array claims {length:,} bytes, more than any real one has")
        self._at = at
        self._need(0)
        return passed

    def damaged(self, cause: str) -> ModelFileError:
        """The error for a file whose bytes contradict themselves or any real model."""
        return refusal(self.file_name, f"is damaged: {cause}", "It was not opened: download it again.")

    def cut_short(self, required_size: int, where: str = "ends inside its header") -> CutShort:
        """The error for a file that ends too early, where `required_size` bytes are needed at least."""
        has = "" if self.size is None else f"it has {self.size:,} bytes and "
        advice = "Nothing was loaded: finish its download, or download it again."
        return CutShort(str(refusal(self.file_name, f"is cut short: {has}{where}", advice)), required_size)

    def _need(self, n_bytes: int) -> None:
        end = self.position + n_bytes
        if end > MAX_HEADER_BYTES:
            raise self.damaged(f"its header claims {end:,} bytes, more than any real one has")
        if self.size is not None and end > self.size:
            raise self.cut_short(end)

    def _load(self, n_bytes: int, further: int = 0) -> None:
        """Make the next `n_bytes` lie in the piece; `further` ones must follow, but need not be read yet."""
        self._need(n_bytes + further)
        if self._at + n_bytes > len(self._piece):
            self._read_piece(n_bytes)
            # Only the first bytes may be here, or the file was shortened since it was opened.
            if len(self._piece) < n_bytes:
                raise self.cut_short(self.position + n_bytes + further)

    def _read_piece(self, n_bytes: int) -> None:
        """Read a piece that begins here and holds the next `n_bytes`, or fewer where the bytes end."""
        start = self.position
        self._file.seek(start)
        self._piece, self._piece_start, self._at = self._file.read(max(n_bytes, PIECE_BYTES)), start, 0
