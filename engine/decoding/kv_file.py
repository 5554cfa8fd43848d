"""The file of one saved sequence: a key and a sequence go in, the same sequence comes out, or nothing.

A fixed start, a head of JSON, the token ids, and the state up to the file's end. The start has the lengths of
all parts, the digest of the key and the checksum of the state; a digest over start, head and ids stands in it
too. So no byte can change, be lost or be added without being found before llama.cpp reads any.

The state is guarded by CRC-32 because it is by far the longest part (80 MB for 3,500 tokens of a small
model) and stands between the user and the first token: that takes a third of the time of SHA-256 and a
fifth of BLAKE2b's. It finds every damage of up to 32 bits in a row, and of any other one all but one in four
billion. That is a guard against disks, not against people: whoever can write into this folder of mode
0700 can write into the models' folder too, whose files the same program parses; a secret key for a MAC would
lie beside the files that it guards, and is left out.

Nothing is forced onto the disk: after a loss of power a file may be whole, cut or empty, and what is not
whole is found. Knows nothing about folders or budgets.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from typing import BinaryIO

from engine.decoding.kv_key import FORMAT, KVKey
from engine.decoding.saved_sequence import (
    RefusedState,
    SavedSequence,
    read_sequence,
    write_head,
    write_ids,
)

# Native byte order, as the state's own: a machine of the other one reads another format number.
_START = struct.Struct("=8sIIIQI32s")  # magic, format, bytes of head, ids and state, CRC-32, key
_MAGIC = b"WEIRKV\r\n"
_DIGEST_BYTES = 32


def parts_of(key: KVKey, sequence: SavedSequence) -> tuple[bytes, bytes]:
    """The bytes of the file: what stands before the state, and the state."""
    head, ids, state = write_head(sequence), write_ids(sequence), sequence.state
    start = _START.pack(_MAGIC, FORMAT, len(head), len(ids), len(state), zlib.crc32(state), key.digest)
    return start + _digest(start, head, ids) + head + ids, state


def read_file(file: BinaryIO, key: KVKey) -> SavedSequence:
    """The sequence in an unbuffered `file` at its beginning; the state is read only if all else is right.

    Raises RefusedState for a file that is cut, damaged, longer than it says, or of another key; OSError.
    """
    start, expected = _read(file, _START.size), _read(file, _DIGEST_BYTES)
    magic, version, n_head, n_ids, n_state, crc, key_digest = _START.unpack(start)
    size = _START.size + _DIGEST_BYTES + n_head + n_ids + n_state
    if magic != _MAGIC or version != FORMAT or os.fstat(file.fileno()).st_size != size:
        raise RefusedState("the file is not a whole saved sequence")
    if key_digest != key.digest:
        raise RefusedState("the state is that of another model or load")
    head, ids = _read(file, n_head), _read(file, n_ids)
    if _digest(start, head, ids) != expected:
        raise RefusedState("the head is damaged")
    state = _read(file, n_state)
    if zlib.crc32(state) != crc:
        raise RefusedState("the state is damaged")
    return read_sequence(head, ids, state)


def _read(file: BinaryIO, n_bytes: int) -> bytes:
    """Exactly so many bytes: one read of the system gives at most 2 GiB."""
    first = file.read(n_bytes)
    if len(first) == n_bytes:
        return first  # nearly always, and without a copy
    parts = [first]
    missing = n_bytes - len(first)
    while missing and parts[-1]:
        parts.append(file.read(missing))
        missing -= len(parts[-1])
    if missing:
        raise RefusedState("the file is cut short")
    return b"".join(parts)


def _digest(start: bytes, head: bytes, ids: bytes) -> bytes:
    digest = hashlib.blake2b(start, digest_size=_DIGEST_BYTES)
    digest.update(head)
    digest.update(ids)
    return digest.digest()
