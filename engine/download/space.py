"""What is missing on a disk for bytes that are still to come: the one rule, wherever space is looked at.

500 MB stay free for the system, since a disk that is filled to its end makes everything else fail.
"""

from __future__ import annotations

import shutil
from pathlib import Path

RESERVE_BYTES = 500_000_000
RESERVE_IN_WORDS = "500 MB stay free for the system"


def missing_bytes(needed_bytes: int, folder: Path) -> int:
    """What the disk that holds, or will hold, `folder` lacks for them; 0 or less if they fit.

    Nothing is missing where nothing is needed. Raises OSError.
    """
    if needed_bytes <= 0:
        return 0
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return needed_bytes + RESERVE_BYTES - shutil.disk_usage(existing).free
