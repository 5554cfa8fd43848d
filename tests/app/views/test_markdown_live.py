"""A reply that came in pieces looks like one that was there at once."""

from __future__ import annotations

import random

import pytest
from pytestqt.qtbot import QtBot

from tests.app.views.message_bodies import body_with, html_of

_LINES = [
    *("Some *text* with `code` and $x^2$.", "مرحبا **بالعالم** `f()`", "# Heading", "#", "## ", "---", "==="),
    *("- item", "- ", "-", "  - nested", "  continued", "    code or text", "1. one", "1. again", "7) seven"),
    *("- [ ] task", "> quote", "> > deeper", ">", "> - item", "```python", "```", "~~~", "print('שלום')"),
    *("| a | b |", "|---|:-:|", "| 1 | 2 |", "|", "$$", "$$ x", "\\[", "\\]", "\\begin{align}", "a &= b"),
    *(
        "\\end{align}",
        "[ref]",
        "[ref]: https://a.example",
        "https://b.example/x",
        "![i](c.png)",
        "***",
        "\t tab",
    ),
    *("- $$", "* star", "+ plus", "", "", "", "", ""),
]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece is shown as soon as it comes."""
    monkeypatch.setattr("app.views.message_body._MIN_PAUSE", 0.0)
    monkeypatch.setattr("app.views.message_body._PAUSE_FACTOR", 0.0)


@pytest.mark.parametrize("seed", range(60))
def test_reply_in_pieces_ends_as_the_whole_one(qtbot: QtBot, seed: int) -> None:
    chance = random.Random(seed)
    text = "\n".join(chance.choices(_LINES, k=chance.randint(4, 40)))
    live = body_with(qtbot, "")
    end = 0
    while end < len(text):
        end += chance.choice((1, 1, 2, 3, 7, 30, 200))
        live.show_text(text[:end], markdown=True, streaming=True)
    live.show_text(text, markdown=True, streaming=False)
    assert html_of(live) == html_of(body_with(qtbot, text))


def test_reply_that_is_replaced_leaves_nothing_behind(qtbot: QtBot) -> None:
    body = body_with(qtbot, "# One\n\n```python\nx\n```\n\n- a\n- b\n\n| a |\n|---|\n| b |\n")
    body.show_text("Other\n\ntext", markdown=True, streaming=False)
    assert html_of(body) == html_of(body_with(qtbot, "Other\n\ntext"))


def test_definition_at_the_end_makes_links_at_the_beginning(qtbot: QtBot) -> None:
    text = "See [there].\n\nMore.\n\nAnd more.\n\n[there]: https://there.example\n"
    live = body_with(qtbot, "")
    for end in range(1, len(text) + 1):
        live.show_text(text[:end], markdown=True, streaming=True)
    assert live.document().find("there").charFormat().anchorHref() == "https://there.example"


def test_long_reply_is_written_slice_by_slice(qtbot: QtBot) -> None:
    text = "".join(f"Paragraph {n} with **bold** words.\n\n1. item {n}\n\n" for n in range(800))
    body = body_with(qtbot, text)
    qtbot.waitUntil(lambda: "item 799" in body.toPlainText())
    assert body.toPlainText().count("Paragraph") == 800


def test_long_list_keeps_its_numbers_over_the_slices(qtbot: QtBot) -> None:
    body = body_with(qtbot, "".join(f"1. item {n}\n" for n in range(700)))
    qtbot.waitUntil(lambda: "item 699" in body.toPlainText())
    block = body.document().find("item 699").block()
    assert block.textList().itemText(block) == "700."


def test_what_is_complete_is_not_laid_out_again(qtbot: QtBot) -> None:
    body = body_with(qtbot, "".join(f"Paragraph {n}.\n\n" for n in range(50)))
    changes: list[int] = []
    body.document().contentsChange.connect(lambda at, _removed, _added: changes.append(at))
    end = body.document().characterCount()
    body.show_text(body.original() + "A new word", markdown=True, streaming=True)
    assert changes
    assert min(changes) > end - 20
