"""Markdown as it is seen: blocks, letters, panels, tables."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QTextBlock, QTextBlockFormat, QTextCharFormat, QTextTable
from pytestqt.qtbot import QtBot

from app.views.markdown_parsing import TooComplex, parse
from app.views.markdown_selection import selected_text
from app.views.markdown_style import QUOTE_BARS
from app.views.message_body import MessageBody
from app.views.tokens import current_tokens
from tests.app.views.message_bodies import WIDTH, body_with


def _block(body: MessageBody, text: str) -> QTextBlock:
    return body.document().find(text).block()


def _letters(body: MessageBody, text: str) -> QTextCharFormat:
    return body.document().find(text).charFormat()


def test_emphasis_is_seen_and_its_marks_are_not(qtbot: QtBot) -> None:
    body = body_with(qtbot, "plain **bold *both*** ~~struck~~ `a*b` \\*star\\*")
    assert body.toPlainText() == "plain bold both struck a*b *star*"
    assert _letters(body, "bold").fontWeight() == QFont.Weight.Bold
    assert _letters(body, "both").fontItalic()
    assert _letters(body, "both").fontWeight() == QFont.Weight.Bold
    assert _letters(body, "struck").fontStrikeOut()
    assert _letters(body, "a*b").fontFixedPitch() or _letters(body, "a*b").fontFamilies()
    assert _letters(body, "plain").fontWeight() in (0, QFont.Weight.Normal)


def test_headings_have_their_levels(qtbot: QtBot) -> None:
    body = body_with(qtbot, "# One\n\nTwo\n---\n\n###### Six\n\n#no heading")
    levels = [_block(body, text).blockFormat().headingLevel() for text in ("One", "Two", "Six", "#no")]
    assert levels == [1, 2, 6, 0]


def test_lists_nest_and_count_from_their_first_number(qtbot: QtBot) -> None:
    body = body_with(
        qtbot, "7. seven\n8. eight\n   - inner\n   - second\n\n     more\n9. nine\n\n- [x] done\n- [ ] open\n"
    )
    markers = {
        text: _block(body, text).textList().itemText(_block(body, text))
        for text in ("seven", "eight", "nine")
    }
    assert markers == {"seven": "7.", "eight": "8.", "nine": "9."}
    assert _block(body, "inner").textList().format().indent() == 2
    assert _block(body, "more").textList() is None
    assert _block(body, "more").blockFormat().indent() == 2
    assert _block(body, "done").blockFormat().marker() == QTextBlockFormat.MarkerType.Checked
    assert _block(body, "open").blockFormat().marker() == QTextBlockFormat.MarkerType.Unchecked


def test_item_without_text_keeps_its_marker(qtbot: QtBot) -> None:
    body = body_with(qtbot, "1. ```\n   code\n   ```\n2.\n3. text")
    blocks = [body.document().findBlockByNumber(n) for n in range(body.document().blockCount())]
    assert [block.textList().itemText(block) for block in blocks if block.textList()] == ["1.", "2.", "3."]


def test_quotes_stand_in_and_have_bars_for_each_level(qtbot: QtBot) -> None:
    body = body_with(qtbot, "> outer\n>\n> > inner\n\nafter")
    assert _block(body, "outer").blockFormat().intProperty(QUOTE_BARS) == 0b1
    assert _block(body, "inner").blockFormat().intProperty(QUOTE_BARS) == 0b11
    assert _block(body, "inner").blockFormat().indent() == 2
    assert not _block(body, "after").blockFormat().hasProperty(QUOTE_BARS)
    picture = body.grab().toImage()
    top = int(body.document().documentLayout().blockBoundingRect(_block(body, "outer")).center().y())
    assert picture.pixelColor(5, top).name() == current_tokens().border


def test_single_line_breaks_are_kept(qtbot: QtBot) -> None:
    assert body_with(qtbot, "Roses are red\nViolets are blue  \nend").toPlainText().split("\n") == [
        "Roses are red",
        "Violets are blue",
        "end",
    ]


def test_table_has_the_alignment_of_its_columns(qtbot: QtBot) -> None:
    body = body_with(qtbot, "| name | right | mid |\n|:--|--:|:-:|\n| a `b` | 1 | **c** |\n\nafter")
    tables = [frame for frame in body.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert [(table.rows(), table.columns()) for table in tables] == [(2, 3)]
    alignment = _block(body, "right").blockFormat().alignment()
    assert alignment & Qt.AlignmentFlag.AlignRight
    assert _block(body, "mid").blockFormat().alignment() & Qt.AlignmentFlag.AlignHCenter
    assert _letters(body, "name").fontWeight() == QFont.Weight.Bold
    assert _letters(body, "after").fontWeight() in (0, QFont.Weight.Normal)


def test_table_of_a_language_from_right_to_left_begins_on_the_right(qtbot: QtBot) -> None:
    body = body_with(qtbot, "| 1 | \u0646\u0627\u0645 | \u05d2\u05d9\u05dc |\n|---|---|---|\n| a | b | c |\n")
    layout = body.document().documentLayout()
    places = [layout.blockBoundingRect(_block(body, text)).left() for text in ("a", "b", "c")]
    assert places == sorted(places, reverse=True)
    body.selectAll()
    assert selected_text(body.textCursor()).split("\n")[1] == "a\tb\tc"


def test_numbers_in_cells_do_not_break_beside_long_texts(qtbot: QtBot) -> None:
    long = "word " * 60
    body = body_with(
        qtbot,
        f"| name | number | text | more |\n|---|---|---|---|\n| {long} | 1000/000 | {long} | {long} |\n",
    )
    assert _block(body, "1000/000").layout().lineCount() == 1
    assert body.document().size().width() <= WIDTH + 2


def test_dot_of_a_number_stands_where_the_text_goes_on(qtbot: QtBot) -> None:
    body = body_with(qtbot, "1. \u0646\u0627\u0645\n2. two\n")
    texts = [block.textList().itemText(block) for block in (_block(body, "\u0646"), _block(body, "two"))]
    assert texts == ["1.", "2."]  # the layout turns the first around, as it does all such text


def test_bullets_keep_clear_of_their_text(qtbot: QtBot) -> None:
    body = body_with(qtbot, "- nested\n  - a\n\n- \u0646\u0627\u0645")
    picture = body.grab().toImage()
    ground = picture.pixelColor(0, 0)
    for text in ("nested", "a", "\u0646"):
        layout = _block(body, text).layout()
        place = layout.lineAt(0).naturalTextRect().translated(layout.position())
        is_right = _block(body, text).textDirection() == Qt.LayoutDirection.RightToLeft
        edge = round(place.right()) + 2 if is_right else round(place.left()) - 3
        step = 1 if is_right else -1
        rows = range(round(place.top()) + 2, round(place.bottom()) - 1)
        inked = [
            count
            for count in range(18)
            if any(picture.pixelColor(edge + step * count, y) != ground for y in rows)
        ]
        assert inked, text
        assert inked[0] >= 3, text


def test_wide_table_and_long_words_stay_within_the_width(qtbot: QtBot) -> None:
    row = "|" + "|".join("internationalization" for _ in range(14)) + "|\n"
    body = body_with(
        qtbot, row + "|-" * 14 + "|\n" + row + "\n" + "word" * 200 + "\n\n```\n" + "x = 1 " * 200
    )
    assert body.document().size().width() <= 502


def test_rule_goes_from_side_to_side_even_after_a_table(qtbot: QtBot) -> None:
    body = body_with(qtbot, "| a |\n|---|\n| b |\n\n---\n")
    picture = body.grab().toImage()
    rows = [y for y in range(body.height()) if picture.pixelColor(2, y) == picture.pixelColor(480, y)]
    marked = [y for y in rows if picture.pixelColor(2, y).name() == current_tokens().border]
    assert len(marked) == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[a](https://x.example/y)", "https://x.example/y"),
        ("see https://x.example/y_(z).", "https://x.example/y_(z)"),
        ("<https://x.example>", "https://x.example"),
        ("[a](file:///etc/hostname)", "file:///etc/hostname"),
    ],
)
def test_links_know_where_they_lead(qtbot: QtBot, text: str, address: str) -> None:
    body = body_with(qtbot, text)
    found = {
        fragment.charFormat().anchorHref()
        for fragment in _fragments(body.document().begin())
        if fragment.charFormat().isAnchor()
    }
    assert found == {address}


def _fragments(block: QTextBlock) -> list:  # type: ignore[type-arg]
    found, iterator = [], block.begin()
    while not iterator.atEnd():
        found.append(iterator.fragment())
        iterator += 1
    return found


@pytest.mark.parametrize(
    "text",
    [
        "> " * 1000 + "x",
        "".join("  " * n + "- a\n" for n in range(1000)),
        "|a|b|c|d|e|\n|-|-|-|-|-|\n" + "|1|2|3|4|5|\n" * 1000,
        "[" * 10_000,
        "[*a_ " * 1000,
    ],
)
def test_what_nests_or_grows_beyond_measure_is_refused(text: str) -> None:
    with pytest.raises(TooComplex):
        parse(text, {})


@pytest.mark.parametrize(
    "text", ["> " * 300 + "x", "```\n" * 900, "- a\n" * 90 + "  - b\n" * 9 + "> " * 30 + "c"]
)
def test_refused_text_is_shown_as_it_is_written(qtbot: QtBot, text: str) -> None:
    assert body_with(qtbot, text).toPlainText() == text
