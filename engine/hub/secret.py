"""A text that must not be shown: it is read where it is sent, and nowhere by accident."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """Holds a text; `str`, `repr`, formatting, logging and pickling never give it away."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")
