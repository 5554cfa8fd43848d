"""Endurance reports as text, and files that are written whole or not at all.

Knows nothing about how one report is written (`app.data.endurance_export`) or what a picture shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QIODevice, QSaveFile

from app.data.endurance_export import FORMATS
from engine.errors import KnownError
from engine.protocol import EnduranceReport


def text_of(reports: Sequence[EnduranceReport], form: str) -> str:
    """All `reports` in one text; `form` is a key of `FORMATS`.

    JSON is one object for one run, else an array of them; CSV is one table; Markdown one after the other.
    """
    texts = [FORMATS[form](report) for report in reports]
    return _JOINED[form](texts) if len(texts) > 1 else "".join(texts)


def write_file(path: str, content: bytes) -> None:
    """Put `content` into the file at `path`, in place of what was there.

    Raises KnownError if that cannot be done; what was there is unchanged then.
    """
    file = QSaveFile(path)
    is_written = file.open(QIODevice.OpenModeFlag.WriteOnly) and file.write(content) == len(content)
    if not is_written or not file.commit():
        sentence = QCoreApplication.translate(
            "endurance_files", "{0} could not be written ({1}): choose another folder or free some space."
        )
        raise KnownError(sentence.format(path, file.errorString()))


def _one_table(texts: list[str]) -> str:
    header = texts[0].splitlines(keepends=True)[0]
    return header + "".join(text.removeprefix(header) for text in texts)


_JOINED: dict[str, Callable[[list[str]], str]] = {
    "json": lambda texts: "[\n" + ",\n".join(text.rstrip() for text in texts) + "\n]\n",
    "csv": _one_table,
    "md": "\n".join,
}
