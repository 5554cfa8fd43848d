"""Saved KV: chats' cells outlive their place in the context, in a folder and within a budget.

A key and a sequence go in; later the same sequence comes out, or None. Promises:
- what is damaged, cut short or of another key never comes out; it is removed, without a word;
- a disk that is full, read-only or gone only means that nothing is saved: nothing raises;
- the least recently used are removed until a new one fits into the budget, whichever model they are of,
  and 500 MB of the disk stay free;
- files have mode 0600 and names that are hashes: they hold what was said in the chats.

Several processes may use one folder, without any lock: a file is written under a name of its own and takes
its place in one step, so that readers see the old or the new one, whole. Of two writers the later one stays;
both are right, since a ledger is compared with the messages when it is used. A file that goes while it is
wanted was never there. Two that save at once may exceed the budget by one file, until the next one is saved.
There is no state in here either: threads may share it.

Knows nothing about when saving is worth it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path

from engine.decoding.kv_file import parts_of, read_file
from engine.decoding.kv_key import KVKey, fingerprint
from engine.decoding.saved_sequence import RefusedState, SavedSequence
from engine.download.space import missing_bytes
from engine.kv_folder import PARTIAL, KVFolder, remove

__all__ = ["KVKey", "KVStore", "SavedSequence", "fingerprint"]

_ABANDONED_S = 3600
"""A partial file as old as this belongs to a process that was ended; none takes so long to write."""


class KVStore(KVFolder):
    """The saved sequences in `folder`, which take at most `budget_bytes`; 0 saves none.

    A state that is larger than `budget_bytes` need not be fetched from the context at all.
    """

    def __init__(self, folder: Path, budget_bytes: int) -> None:
        super().__init__(folder)
        self.budget_bytes = budget_bytes

    def save(self, key: KVKey, sequence: SavedSequence) -> bool:
        """Keep `sequence` instead of what was kept of its chat with this model.

        False: it was not, for want of room or because the disk refused; what was kept before stays then,
        though others may have had to go.
        """
        try:
            parts = parts_of(key, sequence)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.path_of(sequence.chat_id, key.model)
            if not self._make_room(sum(map(len, parts)), path):
                return False
            _write(path, parts)
        except (OSError, MemoryError):
            return False
        return True

    def load(self, key: KVKey, chat_id: str) -> SavedSequence | None:
        """What was saved of this chat with this very key, which then counts as just used; else None.

        What stands in its place and is not that is removed.
        """
        path = self.path_of(chat_id, key.model)
        try:
            if not path.is_file():
                return None
            with path.open("rb", buffering=0) as file:
                sequence = read_file(file, key)
            if sequence.chat_id != chat_id:
                raise RefusedState("the state is that of another chat")
        except RefusedState:
            remove(path)
            return None
        except (OSError, MemoryError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return sequence

    def _make_room(self, n_bytes: int, path: Path) -> bool:
        """Remove the least recently used until `n_bytes` fit; False if that would not make them fit.

        What stands at `path` is about to be replaced: until then it takes room on the disk, none of the
        budget.
        """
        self._remove_abandoned()
        others = [file for file in self.files() if not file.is_partial and file.path != path]
        taken = sum(file.size for file in others)
        if n_bytes > self.budget_bytes or missing_bytes(n_bytes, self.folder) > taken:
            return False
        for file in others:
            if taken + n_bytes <= self.budget_bytes and missing_bytes(n_bytes, self.folder) <= 0:
                break
            remove(file.path)
            taken -= file.size
        return missing_bytes(n_bytes, self.folder) <= 0

    def _remove_abandoned(self) -> None:
        abandoned_ns = time.time_ns() - _ABANDONED_S * 10**9
        for file in self.files():
            if file.is_partial and file.used_ns < abandoned_ns:
                remove(file.path)


def _write(path: Path, parts: tuple[bytes, ...]) -> None:
    """Put the parts into a file of mode 0600, which then takes the place of `path`. Raises OSError."""
    with tempfile.NamedTemporaryFile(
        "wb", buffering=0, suffix=PARTIAL, prefix="", dir=path.parent, delete=False
    ) as file:
        partial = Path(file.name)
        try:
            for part in parts:
                rest = memoryview(part)
                while rest:  # one write of the system takes at most 2 GiB
                    rest = rest[file.write(rest) :]
        except BaseException:
            file.close()  # Windows removes no file that is open
            remove(partial)
            raise
    try:
        partial.replace(path)
    except BaseException:
        remove(partial)
        raise
