"""How long the message is that is being written, against what is free: one quiet line.

Counts of tokens go in, words come out. Promises: what is not known is "n/a". It knows nothing about how
tokens are counted.
"""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget

from app.views.number_format import NOT_AVAILABLE
from app.views.theme import set_style


class DraftCounts(QLabel):
    """The line; `problem` is a sentence while the message is too long to be sent."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problem = ""
        self.setObjectName("counts")
        self.show_counts(None, None, None)

    def show_counts(self, n_draft: int | None, n_free: int | None, n_room: int | None) -> None:
        """`n_draft` tokens are written, `n_free` are free, a message can have at most `n_room`."""
        too_long = n_draft is not None and n_room is not None and n_draft > n_room
        sentence = self.tr("This message has {0} tokens, but at most {1} can be sent: shorten it.")
        self.problem = sentence.format(f"{n_draft:,}", f"{n_room:,}") if too_long else ""
        self.setText(self._words(n_draft, n_free))
        hint = self.tr("Tokens of this message with its files, and tokens of the context that are free")
        if n_free == 0 and not too_long:
            hint = self.tr("The context is full: the oldest messages make room for this one")
        elif n_draft is None:
            hint = self.tr("Tokens are counted once a model is loaded")
        self.setToolTip(self.problem or hint)
        self.setAccessibleName(f"{self.text()}. {self.toolTip()}")
        set_style(self, "problem", too_long)

    def _words(self, n_draft: int | None, n_free: int | None) -> str:
        if n_draft is None and n_free is None:
            return NOT_AVAILABLE
        draft = NOT_AVAILABLE if n_draft is None else f"{n_draft:,}"
        free = NOT_AVAILABLE if n_free is None else f"{n_free:,}"
        words = self.tr("{0} token, {1} free") if n_draft == 1 else self.tr("{0} tokens, {1} free")
        return words.format(draft, free)
