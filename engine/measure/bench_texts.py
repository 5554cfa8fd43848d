"""Questions of a given length, for a chat that is measured: other text each time, so that nothing is reused.

A number of tokens goes in, text of about as many comes out, from the reference documentation that comes with
Python. Knows nothing about chats.
"""

from __future__ import annotations

from engine.llama.model import Model
from engine.measure.source_text import source_text


class Questions:
    """Goes through one long text; from the start again where it ends. Usable after the model is closed."""

    def __init__(self, model: Model, n_tokens: int) -> None:
        """`n_tokens`: all that will be asked for together; more begins again."""
        ids = model.tokenize(source_text(None, n_tokens), parse_special=False)[: max(1, n_tokens)]
        self._pieces = [model.piece(token) for token in ids]
        self._position = 0

    def __call__(self, n_tokens: int) -> str:
        """The next text of about `n_tokens` tokens."""
        size = len(self._pieces)
        picked = [self._pieces[(self._position + index) % size] for index in range(n_tokens)]
        self._position = (self._position + n_tokens) % size
        return b"".join(picked).decode("utf-8", "replace")
