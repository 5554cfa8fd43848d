"""Sentences that remember what they were made of, so that they can be said in another language.

A template and its values go in, a string with the English sentence comes out; `said` makes it anew from
translated templates. Knows no language but English.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a sentence, with so many digits behind the point."""

    value: float
    digits: int = 0

    def __str__(self) -> str:
        return f"{self.value:,.{self.digits}f}"


class Words(str):
    """`template` with its `values` in place of their names; they may be words themselves."""

    template: str
    values: dict[str, Number | str]

    def __new__(cls, template: str, **values: Number | str) -> Words:
        """The English sentence."""
        words = super().__new__(cls, template.format(**values))
        words.template, words.values = template, values
        return words


def said(sentence: str, translate: Callable[[str], str]) -> str:
    """The sentence with each template translated; what was no template stays as it is."""
    if not isinstance(sentence, Words):
        return sentence
    values = {
        name: str(value) if isinstance(value, Number) else said(value, translate)
        for name, value in sentence.values.items()
    }
    return translate(sentence.template).format(**values)


def size(n_bytes: int) -> Words:
    """Memory in GiB, below 1 GiB in MiB, below 1 MiB in KiB."""
    if n_bytes >= _GIB:
        return Words("{size} GiB", size=Number(n_bytes / _GIB, 1))
    if n_bytes >= _MIB or not n_bytes:
        return Words("{size} MiB", size=Number(n_bytes / _MIB))
    return Words("{size} KiB", size=Number(max(1, round(n_bytes / _KIB))))
