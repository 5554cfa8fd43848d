"""Which model is loaded when Weir starts.

Settings and the starter model go in, a path comes out. Loads nothing.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.services.notice import Notice, NoticeAction


def first_models(last: str | None, starter: str | None) -> tuple[list[str], Notice | None]:
    """The models that are worth offering, the one to load last; a notice where `last` is gone."""
    if last and not Path(last).is_file():
        sentence = QCoreApplication.translate(
            "FirstModel", "The model {0} is not in its place any more: choose another one."
        )
        gone = Notice(sentence.format(last), action=NoticeAction.CHOOSE_MODEL)
        return [starter] if starter else [], gone
    return [path for path in (starter, last) if path], None
