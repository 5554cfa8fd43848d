"""Opening the chats in steps: a sound database now, or else a rescue elsewhere and the opening after it.

Paths go in, stores and notices come out. What `chat_store.open_chat_store` does in one go, for a caller
that must not wait for a rescue. Knows nothing about threads.
"""

from __future__ import annotations

from pathlib import Path

from app.data.chat_store import OpenedStore, recovered_store
from app.data.database import open_if_sound, open_rescued, rescue


def open_sound_store(path: Path) -> OpenedStore | None:
    """The chats at `path`; None if their database is broken or of a newer Weir, for `rescue_chats`.

    Raises KnownError when it cannot be read or written.
    """
    opened = open_if_sound(path)
    return OpenedStore(recovered_store(opened.connection, path), opened.notice) if opened else None


def rescue_chats(path: Path) -> str | None:
    """Put a sound database in the place of one that is not, in any thread; what to tell the user.

    Raises KnownError when that fails, or another instance still uses the old one.
    """
    return rescue(path)


def open_rescued_store(path: Path, notice: str | None) -> OpenedStore:
    """The chats at `path` right after `rescue_chats`, which has returned `notice`; raises KnownError."""
    return OpenedStore(recovered_store(open_rescued(path), path), notice)
