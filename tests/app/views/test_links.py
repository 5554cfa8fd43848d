"""Links: shown as they are, opened after a question, and only to the web or a mail address."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.views.link_address import link_target, link_tip, may_open
from app.views.message_body import MessageBody
from tests.app.views.message_bodies import body_with

# A box has a size of its own, which the platform without a screen cannot pass on.
pytestmark = pytest.mark.qt_log_ignore("propagateSizeHints")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were given to the desktop."""
    found: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: found.append(url.toString()))
    return found


def _box(body: MessageBody) -> QMessageBox:
    return [child for child in body.window().findChildren(QMessageBox) if child.isVisible()][-1]


def _press(body: MessageBody, name: str) -> None:
    next(button for button in _box(body).buttons() if button.text().replace("&", "") == name).click()


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org", True),
        ("HTTP://example.org", True),
        ("mailto:a@example.org", True),
        ("file:///etc/hostname", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("smb://host/share", False),
        ("/etc/hostname", False),
        ("", False),
    ],
)
def test_link_opens_after_a_question_and_only_to_the_web(
    qtbot: QtBot, opened: list[str], url: str, allowed: bool
) -> None:
    body = body_with(qtbot, f"[here]({url})")
    body.show()
    body.anchorClicked.emit(QUrl(url))
    assert opened == []
    names = {button.text().replace("&", "") for button in _box(body).buttons()}
    assert ("Open" in names) is allowed is may_open(QUrl(url))
    _press(body, "Open" if allowed else "Close")
    assert bool(opened) is allowed
    assert body.source() == QUrl()


def test_link_is_reached_by_keyboard(qtbot: QtBot, opened: list[str]) -> None:
    body = body_with(qtbot, "A [link](https://example.org/a) and [another](https://example.org/b)")
    with qtbot.waitActive(body):
        body.show()
    body.setFocus()
    QTest.keyClick(body, Qt.Key.Key_Tab)
    QTest.keyClick(body, Qt.Key.Key_Tab)
    QTest.keyClick(body, Qt.Key.Key_Return)
    assert "https://example.org/b" in _box(body).informativeText().replace("\N{ZERO WIDTH SPACE}", "")
    _press(body, "Cancel")


def test_cancel_opens_nothing_and_the_address_can_be_copied(qtbot: QtBot, opened: list[str]) -> None:
    body = body_with(qtbot, "[here](https://example.org/a)")
    body.show()
    body.anchorClicked.emit(QUrl("https://example.org/a"))
    _press(body, "Copy address")
    assert QGuiApplication.clipboard().text() == "https://example.org/a"
    body.anchorClicked.emit(QUrl("https://example.org/a"))
    _press(body, "Cancel")
    assert opened == []


@pytest.mark.parametrize(
    ("url", "host", "address"),
    [
        ("https://google.com@evil.example/x", "evil.example", "https://google.com@evil.example/x"),
        ("https://аррӏе.com/", "xn--80ak6aa92e.com", "https://xn--80ak6aa92e.com/"),
        ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "https://xn--80ak6aa92e.com/"),
        ("https://a.example/\u202egpj.exe", "a.example", "https://a.example/\\u202egpj.exe"),
        ("https://a.example/%E2%80%AEx", "a.example", "https://a.example/\\u202ex"),
        ("mailto:me@a.example?subject=x", "me@a.example", "mailto:me@a.example?subject=x"),
    ],
)
def test_address_is_shown_as_it_really_is(qtbot: QtBot, url: str, host: str, address: str) -> None:
    target = link_target(QUrl(url))
    assert (target.host, target.address) == (host, address)


def test_question_names_the_host_and_its_other_letters(qtbot: QtBot) -> None:
    body = body_with(qtbot, "x")
    body.show()
    body.anchorClicked.emit(QUrl("https://аррӏе.com/login"))
    assert _box(body).text() == "Open xn--80ak6aa92e.com?"
    assert "аррӏе.com" in _box(body).informativeText()
    _press(body, "Cancel")


def test_tool_tip_shows_the_whole_address_and_no_markup(qtbot: QtBot) -> None:
    body = body_with(qtbot, '[<b>x</b>](https://a.example/<img/src="file:///etc/x">)')
    tip = body.document().find("<b>x").charFormat().toolTip()
    assert "<img" not in tip
    assert "a.example" in tip
    assert link_tip("https://a.example/b").replace("\N{ZERO WIDTH SPACE}", "") == "<p>https://a.example/b</p>"
