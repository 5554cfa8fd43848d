"""Opening the chats: at once when they are sound, beside a living window when they must be rescued."""

import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data import database, inspection
from app.data.chat_rescue import rescue_chats
from app.data.chat_store import OpenedStore, open_chat_store
from app.services import chat_opening
from app.services.chat_opening import ChatOpening
from engine.errors import KnownError


class Told:
    """What an opening told, in order."""

    def __init__(self, opening: ChatOpening) -> None:
        self.what: list[object] = []
        opening.rescuing.connect(lambda: self.what.append("rescuing"))
        opening.opened.connect(self.what.append)
        opening.failed.connect(self.what.append)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.mark.parametrize("exists", [False, True])
def test_a_sound_database_is_looked_through_once_and_opened_at_once(
    path: Path, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if exists:
        open_chat_store(path).store.close()
    inspected = []

    def watched(path: Path) -> inspection.Condition:
        inspected.append(path)
        return inspection.inspect(path)

    monkeypatch.setattr(database, "inspect", watched)
    opening = ChatOpening()
    told = Told(opening)
    opening.open(path)
    [opened] = told.what
    assert isinstance(opened, OpenedStore) and opened.notice is None
    assert inspected == [path]
    opened.store.close()
    opening.close()


@pytest.mark.parametrize("content", [b"", b"broken" * 1000])
def test_a_broken_database_is_rescued_in_a_thread_and_opened_in_this_one(
    path: Path, content: bytes, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(content)
    threads = []

    def watched(path: Path) -> str | None:
        threads.append(threading.current_thread())
        return rescue_chats(path)

    monkeypatch.setattr(chat_opening, "rescue_chats", watched)
    opening = ChatOpening()
    told = Told(opening)
    opening.open(path)
    assert told.what == ["rescuing"]
    qtbot.waitUntil(lambda: len(told.what) == 2)
    opened = told.what[1]
    assert isinstance(opened, OpenedStore)
    assert opened.notice is not None and "was damaged" in opened.notice
    assert opened.store.create_chat()  # usable in this thread
    assert threads != [threading.main_thread()] and len(threads) == 1
    opened.store.close()
    opening.close()


def test_a_database_that_cannot_be_opened_is_told(path: Path) -> None:
    path.mkdir()
    opening = ChatOpening()
    told = Told(opening)
    opening.open(path)
    [problem] = told.what
    assert isinstance(problem, str) and "could not be" in problem


@pytest.mark.parametrize(
    ("error", "told_of"),
    [(KnownError("The disk is full."), "The disk is full."), (ZeroDivisionError(), "could not be rescued")],
)
def test_a_rescue_that_fails_is_told(
    path: Path, error: Exception, told_of: str, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise error

    path.write_bytes(b"broken")
    monkeypatch.setattr(chat_opening, "rescue_chats", fail)
    opening = ChatOpening()
    told = Told(opening)
    opening.open(path)
    qtbot.waitUntil(lambda: len(told.what) == 2)
    assert told_of in str(told.what[1])
    opening.close()


def test_closing_waits_for_the_rescue_and_nothing_is_told_then(path: Path, qtbot: QtBot) -> None:
    path.write_bytes(b"broken")
    opening = ChatOpening()
    told = Told(opening)
    opening.open(path)
    opening.close()
    assert len(list(path.parent.glob("chats-broken-*"))) == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "rescue"]
    qtbot.wait(10)
    assert told.what == ["rescuing"]
