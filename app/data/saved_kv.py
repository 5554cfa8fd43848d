"""Whether the engine keeps the cells of chats on disk, and where.

`Settings` go in, what `LoadModel` says of it comes out. Knows nothing about what is in the folder.
"""

from __future__ import annotations

from app.data.paths import saved_kv_dir
from app.data.settings import Settings
from engine.protocol import SavedKV


def saved_kv(settings: Settings) -> SavedKV | None:
    """Where a model keeps the cells of its chats; None if the user wants none kept."""
    if not settings.saved_kv:
        return None
    return SavedKV(str(saved_kv_dir()), settings.saved_kv_budget)
