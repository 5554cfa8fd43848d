"""Message bodies for tests."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.views.message_body import MessageBody

WIDTH = 500


def body_with(qtbot: QtBot, text: str, *, markdown: bool = True) -> MessageBody:
    """A body that shows `text`."""
    body = MessageBody()
    qtbot.addWidget(body)
    body.fit(WIDTH)
    body.show_text(text, markdown=markdown, streaming=False)
    body.fit(WIDTH)
    return body


def html_of(body: MessageBody) -> tuple[str, int, list[str]]:
    """All that can be told of how a body looks: its text and formats, its height, its panels of code."""
    height = body.fit(WIDTH)
    buttons = [f"{button.accessibleName()} {button.geometry()}" for button in body.code_buttons()]
    return body.toHtml(), height, buttons
