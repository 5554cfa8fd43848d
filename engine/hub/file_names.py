"""Which names of a repository's files every system can hold.

A repository may hold any name that git can. Names go in, what is wrong with one comes out. Only names that
every system can hold are taken, on every system, so that a folder can be carried from one to another. Knows
nothing about folders of models.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from engine.hub.hub_values import RemoteModel

ORIGIN_FILE = ".weir-origin.json"
DOWNLOADS_FOLDER = ".downloads"
MAX_NAME_BYTES = 255
MAX_PATH_LETTERS = 200  # below the models folder: Windows allows 260 in all
_FORBIDDEN = re.compile(r'[\\:<>"|?*]')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])", re.IGNORECASE)


def name_fault(model: RemoteModel) -> tuple[str, str] | None:
    """The first name of `model` that no file can have, and why, to be said after it; None for good names."""
    names = full_names(model)
    seen: set[str] = set()
    for name in names:
        if cause := _fault(name):
            return name, cause
        if _folded(name) in seen:
            return name, "differs from another one only in upper and lower case"
        seen.add(_folded(name))
    for name in names:
        if any(_folded(str(parent)) in seen for parent in PurePosixPath(name).parents):
            return name, "is in a folder that has the name of a file"
    return None


def full_names(model: RemoteModel) -> tuple[str, ...]:
    """Of its parts, the first one first: org/repo/path."""
    return tuple(f"{model.repo_id}/{part.path}" for part in model.parts)


def _fault(name: str) -> str | None:
    if len(name) > MAX_PATH_LETTERS:
        return f"is longer than {MAX_PATH_LETTERS} letters"
    return next((cause for component in name.split("/") if (cause := _cause(component))), None)


def _cause(component: str) -> str | None:
    """Why no file should be called `component`, by the first rule that it breaks."""
    found = _FORBIDDEN.search(component)
    device = component.split(".", maxsplit=1)[0].rstrip(" ")
    rules = (
        (component in ("", ".", ".."), "would leave its folder"),
        # Line breaks, NUL, halves of characters, and marks that turn the direction of text.
        (not component.isprintable(), "has letters that cannot be shown"),
        (found is not None, f"has the letter {found[0] if found else ''}, which some systems do not allow"),
        (component.startswith(" ") or component.endswith((".", " ")), "begins or ends with a space or a dot"),
        (_DEVICE.fullmatch(device) is not None, "is that of a device on Windows"),
        (
            len(component.encode("utf-8", "replace")) > MAX_NAME_BYTES,
            f"is longer than {MAX_NAME_BYTES} bytes",
        ),
        (_folded(component) in (ORIGIN_FILE, DOWNLOADS_FOLDER), "is one that Weir uses itself"),
    )
    return next((cause for is_broken, cause in rules if is_broken), None)


def _folded(name: str) -> str:
    """Equal for names that a file system may take for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
