"""A part on its way: a partial file, the record of what it is, and the hash of what it holds.

They lie apart from the models, in `.downloads/<job>/`, and no name there ends in .gguf. The file is only ever
appended to, so its length is what is there, also after a process was killed. A record that is not there,
or names another content, makes the part start anew. What a crash of the machine may have left in it is
found by the hash. Nothing here knows about servers.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from engine.download.download_errors import CannotWrite, DiskFull
from engine.download.early_sync import EarlySync
from engine.download.plain_file import is_plain, open_to_append
from engine.download.running_hash import RunningHash
from engine.download.space import missing_bytes
from engine.errors import DownloadError
from engine.hub.hub_values import RemoteModel, RemotePart

READ_BYTES = 1 << 18
_LEAST_MISSING = 10_000_000  # of a disk that was full a moment ago, whatever it says now
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Record:
    """What a partial file is a part of; `etag` is the one of the server that the bytes came from."""

    repo_id: str
    revision: str
    path: str
    size: int
    sha256: str | None
    etag: str | None = None

    def is_same_content(self, other: Record) -> bool:
        """By the hash, whatever the commit; a file without one is bound to its commit."""
        if (self.path, self.size, self.sha256) != (other.path, other.size, other.sha256):
            return False
        return self.sha256 is not None or self.revision == other.revision


class Partial:
    """Open from its making until `close`; one process at a time, see `engine.download.job`."""

    def __init__(self, folder: Path, number: int, model: RemoteModel) -> None:
        self.part = model.parts[number]
        self.size = 0
        self.path = folder / f"{number}.part"
        self._record_path = folder / f"{number}.json"
        self._record = _record(model, self.part)
        kept = _read_record(self._record_path)
        try:
            if kept is not None and kept.is_same_content(self._record):
                self._record = replace(self._record, etag=kept.etag)
            else:  # the bytes go first: what is there must never be taken for the new content
                self.path.unlink(missing_ok=True)
                write_json(self._record_path, asdict(self._record))
            self._file = open_to_append(self.path)
        except OSError as error:
            raise self._write_error(error) from None
        self.size = self._file.seek(0, os.SEEK_END)
        self._hash = RunningHash()
        self._early_sync = EarlySync(self._file.fileno())
        if self.size > self.part.size:
            self.start_anew()

    @property
    def etag(self) -> str | None:
        """The ETag that came with the bytes."""
        return self._record.etag

    @property
    def is_full(self) -> bool:
        """Whether all bytes are there, right or wrong."""
        return self.size == self.part.size

    def hash_kept(self, checked: Callable[[int], None]) -> None:
        """Hash what an earlier run has kept; `checked` is told how many bytes were read, and may raise."""
        n_bytes = 0
        with self.path.open("rb", buffering=0) as file:
            while n_read := file.readinto(self._hash.buffer()):
                self._hash.update(0, n_read)
                n_bytes += n_read
                checked(n_bytes)

    def set_etag(self, etag: str | None) -> None:
        """Remember the ETag that comes with the bytes; to be called before any of them is appended."""
        if etag != self._record.etag:
            self._record = replace(self._record, etag=etag)
            self._guard(lambda: write_json(self._record_path, asdict(self._record)))

    def buffer(self) -> memoryview:
        """Where the next bytes go before `append`; the same one until then."""
        return self._hash.buffer()

    def append(self, start: int, end: int) -> None:
        """Write the bytes `start` to `end` of the buffer behind what is there.

        Raises DiskFull or CannotWrite; what was written stays good.
        """
        rest = self._hash.buffer()[start:end]
        while rest:
            n_written = self._guard(partial(self._file.write, rest))
            self.size += n_written
            rest = rest[n_written:]
        self._hash.update(start, end)
        self._early_sync.wrote(end - start)

    def start_anew(self) -> None:
        """Forget all bytes."""
        self._guard(lambda: self._file.truncate(0))
        self.size = 0
        self._hash.close()
        self._hash = RunningHash()

    def is_right(self) -> bool:
        """Whether size and hash are those of the part; no byte may be appended after this."""
        digest = self._hash.digest()
        return self.is_full and self.part.sha256 in (None, digest)

    def sync(self) -> None:
        """Wait until the bytes are on the disk, whatever happens to the machine afterwards."""
        self._guard(lambda: os.fsync(self._file.fileno()))

    def close(self) -> None:
        """Close the file and end the hash."""
        self._early_sync.close()
        self._file.close()
        self._hash.close()

    def _guard(self, work: Callable[[], int | None]) -> int:
        try:
            return work() or 0
        except OSError as error:
            raise self._write_error(error) from None

    def _write_error(self, error: OSError) -> DownloadError:
        n_needed = self.part.size - self.size
        return write_error(error, self.path.parent, self.part.path, n_needed, has_kept=self.size > 0)


def write_error(error: OSError, folder: Path, name: str, n_needed: int, *, has_kept: bool) -> DownloadError:
    """The sentence for `error` of the disk that holds `folder`, where `n_needed` bytes were still to come."""
    name = name.rsplit("/", maxsplit=1)[-1]
    if error.errno not in _NO_SPACE:
        cause = error.strerror or str(error)
        # The whole path, however long: its end says what is in the way.
        where = f": {_printable(str(error.filename))}" if error.filename else ""
        return CannotWrite(name, cause + where, has_kept=has_kept)
    try:
        missing = missing_bytes(n_needed, folder)
    except OSError:
        missing = n_needed
    return DiskFull(name, max(missing, _LEAST_MISSING), has_kept=has_kept)


def kept_size(folder: Path, number: int, model: RemoteModel) -> int:
    """How many bytes of a part are in its partial file; nothing is opened for writing."""
    kept = _read_record(folder / f"{number}.json")
    if kept is None or not kept.is_same_content(_record(model, model.parts[number])):
        return 0
    try:
        path = folder / f"{number}.part"
        return min(path.stat().st_size, kept.size) if is_plain(path) else 0
    except OSError:
        return 0


def hash_of(path: Path, read: Callable[[int], None]) -> str:
    """The SHA-256 of the file at `path`; `read` is told how many bytes were read, and may raise."""
    n_bytes, running = 0, hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while data := file.read(READ_BYTES):
            running.update(data)
            n_bytes += len(data)
            read(n_bytes)
    return running.hexdigest()


def write_json(path: Path, value: object) -> None:
    """Replace the file at `path` as a whole: a reader sees the old or the new one."""
    new = path.with_name(path.name + ".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _record(model: RemoteModel, part: RemotePart) -> Record:
    return Record(model.repo_id, model.revision, part.path, part.size, part.sha256)


def _read_record(path: Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
