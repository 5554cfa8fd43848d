"""Files of drafts are read in the background and stay with their chat."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.attachment_reader import MAX_CHARACTERS
from app.data.stored_message import Attachment
from app.services.attachments import MAX_FILES, Attachments, AttachmentState
from app.services.notice import Notice
from tests.app.conftest import settle
from tests.app.data.pdf_files import pdf

A, B = Attachment("a.txt", "alpha"), Attachment("b.txt", "beta")


@pytest.fixture
def attachments() -> Iterator[Attachments]:
    attachments = Attachments()
    yield attachments
    attachments.close()
    settle()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("attachment")]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for one in (A, B):
        (tmp_path / one.name).write_text(one.text)
    return [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]


@pytest.fixture
def notices(attachments: Attachments) -> list[Notice]:
    notices: list[Notice] = []
    attachments.notice.connect(notices.append)
    return notices


def _wait(qtbot: QtBot, attachments: Attachments, chat_id: str | None = None) -> None:
    qtbot.waitUntil(lambda: not attachments.is_reading(chat_id), timeout=5000)


def _names(attachments: Attachments, chat_id: str | None = None) -> list[str]:
    return [item.name for item in attachments.of_chat(chat_id)]


def test_files_are_read_in_order_and_taken_once(
    qtbot: QtBot, attachments: Attachments, files: list[str]
) -> None:
    told: list[str | None] = []
    attachments.changed.connect(told.append)
    attachments.add("chat", files)
    assert [item.state for item in attachments.of_chat("chat")] == [AttachmentState.READING] * 2
    assert attachments.is_reading("chat")
    _wait(qtbot, attachments, "chat")
    assert attachments.take("chat") == (A, B)
    assert attachments.take("chat") == ()
    assert set(told) == {"chat"}
    assert attachments.of_chat(None) == ()


def test_the_same_file_twice_is_one(
    qtbot: QtBot, attachments: Attachments, files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "a.txt").symlink_to(files[0])
    attachments.add(None, [files[0], files[0]])
    attachments.add(None, [files[0], f"{tmp_path}/./a.txt", str(tmp_path / "link" / "a.txt")])
    _wait(qtbot, attachments)
    assert attachments.take(None) == (A,)


def test_what_cannot_be_read_says_why_and_is_tried_again(
    qtbot: QtBot, attachments: Attachments, notices: list[Notice], tmp_path: Path
) -> None:
    path = tmp_path / "late.txt"
    attachments.add("chat", [str(path)])
    _wait(qtbot, attachments, "chat")
    (item,) = attachments.of_chat("chat")
    assert (item.state, item.problem) == (AttachmentState.REFUSED, notices[0].message)
    assert notices[0].chat_id == "chat"
    path.write_text("here now")
    attachments.add("chat", [str(path)])
    _wait(qtbot, attachments, "chat")
    assert attachments.take("chat") == (Attachment("late.txt", "here now"),)


def test_what_was_removed_or_deleted_never_comes_back(
    qtbot: QtBot, attachments: Attachments, files: list[str]
) -> None:
    attachments.add("chat", files)
    attachments.remove("chat", attachments.of_chat("chat")[0].id)
    attachments.add("other", files)
    attachments.forget("other")
    _wait(qtbot, attachments, "chat")
    settle()
    assert _names(attachments, "chat") == ["b.txt"]
    assert attachments.of_chat("other") == ()


def test_a_new_chat_keeps_its_files_when_it_is_stored(
    qtbot: QtBot, attachments: Attachments, files: list[str]
) -> None:
    attachments.add(None, files)
    attachments.move("chat")
    _wait(qtbot, attachments, "chat")
    assert attachments.of_chat(None) == ()
    assert attachments.take("chat") == (A, B)


def test_files_of_a_message_come_back_before_newer_ones(
    qtbot: QtBot, attachments: Attachments, files: list[str]
) -> None:
    attachments.add("chat", [files[1]])
    _wait(qtbot, attachments, "chat")
    attachments.give_back("chat", [A, B])
    assert attachments.take("chat") == (A, B)
    attachments.set("chat", [B])
    attachments.set("chat", [A])
    assert attachments.take("chat") == (A,)


def test_a_long_pasted_text_becomes_a_file(attachments: Attachments, notices: list[Notice]) -> None:
    attachments.add_text(None, "line\n" * 60_000)
    assert attachments.take(None) == (Attachment("Pasted text", "line\n" * 60_000),)
    attachments.add_text(None, "x" * (MAX_CHARACTERS + 1))
    assert attachments.of_chat(None) == ()
    assert "5,000,000" in notices[0].message


def test_a_message_has_a_bounded_number_of_files(
    attachments: Attachments, notices: list[Notice], tmp_path: Path
) -> None:
    attachments.add(None, [str(tmp_path / f"{n}.txt") for n in range(MAX_FILES + 5)])
    assert len(attachments.of_chat(None)) == MAX_FILES
    assert str(MAX_FILES) in notices[0].message


def test_closing_does_not_wait_for_a_slow_file(attachments: Attachments, tmp_path: Path) -> None:
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf(zlib.compress(b"(abcd) Tj 1 2 Td " * 1_600_000), "/Filter /FlateDecode"))
    attachments.add(None, [str(path)])
    closing = threading.Thread(target=attachments.close)
    closing.start()
    closing.join(5)
    assert not closing.is_alive()
