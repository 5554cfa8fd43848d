"""What is written is seen, in its direction, and nothing is fetched."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont, QImage, QTextCursor, QTextDocument
from pytestqt.qtbot import QtBot

from app.views.message_body import MessageBody
from app.views.message_document import plain_document
from tests.app.views.message_bodies import body_with

RTL, LTR = Qt.LayoutDirection.RightToLeft, Qt.LayoutDirection.LeftToRight


def _direction(document: QTextDocument, text: str) -> Qt.LayoutDirection:
    return document.find(text).block().textDirection()


# Angle brackets vanish elsewhere: nomic-ai/gpt4all#864.
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("<smirk> waffles!", "<smirk> waffles!"),
        ("Keep <exact lines> visible.", "Keep <exact lines> visible."),
        ("std::vector<T>&", "std::vector<T>&"),
        ("a < b && c > d", "a < b && c > d"),
        ("`&lt;`", "&lt;"),
        ("```\n&lt;b&gt;\n```", "&lt;b&gt;"),
        ("<b>bold</b> <script>x</script>", "<b>bold</b> <script>x</script>"),
    ],
)
def test_angle_brackets_of_a_reply_stay_visible(qtbot: QtBot, text: str, seen: str) -> None:
    body = body_with(qtbot, text)
    assert body.toPlainText().strip() == seen
    assert body.original() == text
    body.selectAll()
    assert body.createMimeDataFromSelection().text() == seen


@pytest.mark.parametrize(
    "text", ["<smirk> waffles!", "`&lt;`", "std::vector<T>&", "# no heading", "a\n\nb  "]
)
def test_user_message_is_shown_literally(qtbot: QtBot, text: str) -> None:
    assert plain_document(text, QFont()).toPlainText() == text


def test_each_paragraph_takes_the_direction_of_its_text(qtbot: QtBot) -> None:
    body = body_with(
        qtbot,
        "Hello there.\n\nمرحبا بالعالم.\n\nPython هي لغة برمجة.\n\n- שלום עולם\n\n```\nשלום = 1\nx = 2\n```\n"
        "\n> سلام دنیا\n\nOne line\nسطر دوم\n\n| نام | n |\n|---|---|\n| الف | 7 |\n",
    )
    document = body.document()
    assert _direction(document, "Hello") == LTR
    assert _direction(document, "مرحبا") == RTL
    assert _direction(document, "Python") == LTR
    assert _direction(document, "עולם") == RTL
    assert _direction(document, "= 1") == LTR
    assert _direction(document, "= 2") == LTR
    assert _direction(document, "دنیا") == RTL
    assert _direction(document, "One line") == LTR
    assert _direction(document, "سطر") == RTL
    assert _direction(document, "الف") == RTL
    assert _direction(document, "7") == RTL


def test_code_in_a_right_to_left_line_keeps_its_order(qtbot: QtBot) -> None:
    body = body_with(qtbot, "تابع `f()` است")
    assert "\N{LEFT-TO-RIGHT ISOLATE}f()\N{POP DIRECTIONAL ISOLATE}" in body.toPlainText()
    body.selectAll()
    assert body.createMimeDataFromSelection().text() == "تابع f() است"


def test_emoji_stay_whole(qtbot: QtBot) -> None:
    text = "👩‍👩‍👧‍👦 🇮🇷 👍🏽 **👩🏾‍🚀** ❤️"
    body = body_with(qtbot, text)
    document = body.document()
    assert document.toPlainText() == text.replace("*", "")
    cursor = QTextCursor(document)
    cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
    assert cursor.position() == len("👩‍👩‍👧‍👦".encode("utf-16-le")) // 2


def test_half_a_character_and_nul_are_shown_as_replaced(qtbot: QtBot) -> None:
    assert plain_document("ok \ud83d", QFont()).toPlainText() == "ok ?"
    assert plain_document("ALPHA\0BETA", QFont()).toPlainText() == "ALPHA\ufffdBETA"


# Rendered images leak data elsewhere: epam/ai-dial-chat#7109.
def test_images_are_written_out_and_nothing_is_fetched(qtbot: QtBot, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    image = QImage(300, 300, QImage.Format.Format_RGB32)
    assert image.save(str(picture))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        hits: list[object] = []
        listener = threading.Thread(target=_accept, args=(server, hits))
        listener.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/p.png?leak=1"
        text = f"![x]({address}) ![secret](file://{picture}) [![alt]({picture})](https://a.b)"
        body = body_with(qtbot, text)
        height = body.height()
        body.grab()
        listener.join()
    assert hits == []
    assert height < 150
    assert body.toPlainText() == f"[x: {address}] [secret: file://{picture}] [alt: {picture}]"


def _accept(server: socket.socket, hits: list[object]) -> None:
    try:
        hits.append(server.accept())
    except TimeoutError:
        return


def test_no_resource_is_ever_loaded(qtbot: QtBot, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    QImage(300, 300, QImage.Format.Format_RGB32).save(str(secret))
    body = MessageBody()
    qtbot.addWidget(body)
    for kind in (QTextDocument.ResourceType.ImageResource, QTextDocument.ResourceType.StyleSheetResource):
        for loader in (body, body.document()):
            loaded = loader.loadResource(kind.value, QUrl.fromLocalFile(str(secret)))
            assert isinstance(loaded, QImage)
            assert loaded.width() == 1


@pytest.mark.parametrize("markdown", [True, False])
def test_line_of_a_million_characters_does_not_freeze(qtbot: QtBot, markdown: bool) -> None:
    body = MessageBody()
    qtbot.addWidget(body)
    began = time.perf_counter()
    body.show_text("x" * 1_000_000, markdown=markdown, streaming=False)
    body.fit(500)
    assert time.perf_counter() - began < 0.5
    assert body.hidden_characters() == 940_000
    body.show_whole()
    assert len(body.toPlainText()) == 1_000_000


def test_streaming_spends_little_time_on_rendering(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    body = MessageBody()
    qtbot.addWidget(body)
    renderings: list[None] = []
    body.rendered.connect(lambda: renderings.append(None))
    clock = [100.0]
    monkeypatch.setattr("app.views.message_body.monotonic", lambda: clock[0])
    for n in range(1, 41):
        clock[0] += 0.005
        body.show_text("word " * n, markdown=True, streaming=True)
    assert 1 <= len(renderings) <= 6  # 0.2 s of text at 200 tokens/s, with pauses of at least 0.04 s


def test_selection_survives_while_the_reply_grows(qtbot: QtBot) -> None:
    body = MessageBody()
    qtbot.addWidget(body)
    body.show_text("Select this, please", markdown=True, streaming=False)
    cursor = body.document().find("this")
    body.setTextCursor(cursor)
    body.show_text("Select this, please, and more", markdown=True, streaming=False)
    assert body.textCursor().selectedText() == "this"
