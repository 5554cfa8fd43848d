"""Sentences that can be said in another language, and are strings all the same."""

from __future__ import annotations

import json

from engine.memory.words import Number, Words, said, size

GERMAN = {
    "{part} of {whole} free": "frei: {whole}, davon {part}",
    "{size} GiB": "{size} Gibibyte",
    "Fits.": "Passt.",
}


def test_words_are_the_english_sentence() -> None:
    words = Words("{part} of {whole} free", part=size(2**20), whole=size(3 * 2**29))
    assert words == "1 MiB of 1.5 GiB free"
    assert json.dumps([words]) == '["1 MiB of 1.5 GiB free"]'
    assert f"{words}." == "1 MiB of 1.5 GiB free."


def test_each_part_is_said_in_the_other_language() -> None:
    words = Words("{part} of {whole} free", part=size(2**20), whole=size(3 * 2**29))
    assert said(words, lambda text: GERMAN.get(text, text)) == "frei: 1.5 Gibibyte, davon 1 MiB"


def test_text_of_a_file_is_no_template() -> None:
    assert said("{0} {name", str.upper) == "{0} {name"
    assert said(Words("on {device}", device="{0}"), str) == "on {0}"


def test_numbers_are_grouped() -> None:
    assert str(Words("{n} tokens", n=Number(1_234_567))) == "1,234,567 tokens"
    assert str(Words("{n}", n=Number(0.26, 1))) == "0.3"
