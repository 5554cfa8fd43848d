"""What is written is seen, in its direction, and nothing is fetched."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QFont, QImage, QTextDocument
from pytestqt.qtbot import QtBot

from app.views.message_body import MessageBody, may_open
from app.views.message_document import markdown_document, plain_document
from app.views.tokens import LIGHT

RTL, LTR = Qt.LayoutDirection.RightToLeft, Qt.LayoutDirection.LeftToRight


def _markdown(text: str) -> QTextDocument:
    return markdown_document(text, QFont(), LIGHT)


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
    assert _markdown(text).toPlainText().strip() == seen


@pytest.mark.parametrize(
    "text", ["<smirk> waffles!", "`&lt;`", "std::vector<T>&", "# no heading", "a\n\nb  "]
)
def test_user_message_is_shown_literally(qtbot: QtBot, text: str) -> None:
    assert plain_document(text, QFont()).toPlainText() == text


def test_each_paragraph_takes_the_direction_of_its_text(qtbot: QtBot) -> None:
    document = _markdown(
        "Hello there.\n\nمرحبا بالعالم.\n\nPython هي لغة برمجة.\n\n- שלום עולם\n\n```\nשלום = 1\nx = 2\n```\n"
    )
    assert _direction(document, "Hello") == LTR
    assert _direction(document, "مرحبا") == RTL
    assert _direction(document, "Python") == LTR
    assert _direction(document, "עולם") == RTL
    assert _direction(document, "= 1") == LTR
    assert _direction(document, "= 2") == LTR


def test_code_stands_on_a_panel_and_wraps(qtbot: QtBot) -> None:
    document = _markdown("Text\n\n```python\n" + "x = 1 " * 100 + "\n```\n")
    found = document.find("x = 1")
    panel = document.frameAt(found.position())
    assert panel.frameFormat().background().color() == QColor(LIGHT.code)
    document.setTextWidth(400)
    assert document.size().width() <= 400


def test_table_after_code_keeps_its_first_heading(qtbot: QtBot) -> None:
    document = _markdown("```\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert document.find("a").charFormat().fontWeight() == document.find("b").charFormat().fontWeight()
    assert document.toPlainText().split("\n")[-5:] == ["a", "b", "1", "2", ""]


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
        body = MessageBody()
        qtbot.addWidget(body)
        text = f"![x]({address}) ![secret](file://{picture}) [![alt]({picture})](https://a.b)"
        body.show_text(text, markdown=True, streaming=False)
        height = body.fit(500)
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


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org", True),
        ("HTTP://example.org", True),
        ("mailto:a@example.org", True),
        ("file:///etc/hostname", False),
        ("javascript:alert(1)", False),
        ("smb://host/share", False),
        ("/etc/hostname", False),
    ],
)
def test_links_open_on_a_click_and_only_to_the_web(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, url: str, allowed: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda target: opened.append(target.toString()))
    body = MessageBody()
    qtbot.addWidget(body)
    body.show_text(f"[here]({url})", markdown=True, streaming=False)
    assert opened == []
    body.anchorClicked.emit(QUrl(url))
    assert bool(opened) is allowed is may_open(QUrl(url))
    assert body.source() == QUrl()


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


def test_live_text_ends_as_the_reloaded_one(qtbot: QtBot) -> None:
    text = "# Title\n\nSome **bold** text\n\n```python\nprint('שלום')\n```\n\n- a\n- b\n\nمرحبا\n"
    live, reloaded = MessageBody(), MessageBody()
    for body in (live, reloaded):
        qtbot.addWidget(body)
        body.fit(400)
    for end in range(1, len(text)):
        live.show_text(text[:end], markdown=True, streaming=True)
    live.show_text(text, markdown=True, streaming=False)
    reloaded.show_text(text, markdown=True, streaming=False)
    assert live.toHtml() == reloaded.toHtml()
    assert live.fit(400) == reloaded.fit(400)


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
