"""The folder of saved KV, as anybody may look after it: names, sizes, ages, removal.

Chat ids go in; files go away, sizes come out. Promises: no other file than Weir's own is touched, names say
nothing about the chats, and nothing raises: what cannot be read is not there, what cannot be removed stays.
Several processes may do all this at once, since a file that goes meanwhile is just gone. Knows nothing about
what is in the files: the engine's worker reads and writes them (`engine.decoding.kv_store`), the window
counts and clears them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from engine.protocol import chat_of_variant

SAVED, PARTIAL = ".kv", ".kv-part"
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{16}\.kv|[a-z0-9_]+\.kv-part", re.ASCII)


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One file in the folder: its size in bytes, and when it was last saved or loaded, in ns since 1970."""

    path: Path
    size: int
    used_ns: int

    @property
    def is_partial(self) -> bool:
        """Whether it is being written, or was when its process ended."""
        return self.path.suffix == PARTIAL


class KVFolder:
    """The saved KV in `folder`, which may be missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path_of(self, chat_id: str, model: str) -> Path:
        """Where a chat is saved, or a variant of its reply; `model` is the model's fingerprint."""
        return self.folder / f"{_chat_part(chat_id)}-{_hash(chat_id, 8)}-{_hash(model, 8)}{SAVED}"

    def files(self) -> list[SavedFile]:
        """Weir's own files, the least recently used first."""
        found: list[SavedFile] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        found.append(SavedFile(Path(entry.path), status.st_size, status.st_mtime_ns))
        return sorted(found, key=lambda file: file.used_ns)

    def size_bytes(self) -> int:
        """What is saved takes so many bytes."""
        return sum(file.size for file in self.files())

    def forget(self, chat_id: str) -> None:
        """Remove all that is saved of a chat and of its variants, for all models."""
        prefix = _chat_part(chat_id)
        for file in self.files():
            if file.path.name.startswith(prefix):
                remove(file.path)

    def keep_only(self, chat_ids: Collection[str]) -> None:
        """Remove what is saved of all other chats: they were deleted, and something saved them after that."""
        kept = {_chat_part(chat_id) for chat_id in chat_ids}
        for file in self.files():
            if not file.is_partial and file.path.name.partition("-")[0] not in kept:
                remove(file.path)

    def shrink_to(self, budget_bytes: int) -> None:
        """Remove the least recently used until the others take at most `budget_bytes`."""
        files = self.files()
        taken = sum(file.size for file in files)
        for file in files:
            if taken <= budget_bytes:
                return
            remove(file.path)
            taken -= file.size

    def clear(self) -> None:
        """Remove all that is saved."""
        for file in self.files():
            remove(file.path)


def remove(path: Path) -> None:
    """Remove the file at `path`, if that can be."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _chat_part(chat_id: str) -> str:
    return _hash(chat_of_variant(chat_id), 16)


def _hash(text: str, n_bytes: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=n_bytes).hexdigest()
