"""Searching while somebody types: only the last text counts, and nobody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.chat_reader import open_chat_reader
from app.data.chat_store import open_chat_store
from app.data.stored_message import ChatSummary, Found
from app.services.search import LIMIT, Search, SearchResult
from engine.errors import KnownError

CHAT = ChatSummary("c", "Trip", 0.0, 0.0)


class ScriptedReader:
    """Notes what it was asked for, and finds it once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = False
        self.threads: set[str] = set()
        self.answer: Callable[[str], list[Found]] = lambda text: [Found(CHAT, None, text, ())]

    def search(self, text: str, limit: int = LIMIT) -> list[Found]:
        self.asked.append(text)
        self.threads.add(threading.current_thread().name)
        return self.answer(text)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def reader() -> ScriptedReader:
    return ScriptedReader()


@pytest.fixture
def search(qtbot: QtBot, reader: ScriptedReader) -> Iterator[Search]:
    search = Search(lambda: reader)
    yield search
    search.close()


def _next_result(qtbot: QtBot, search: Search, text: str) -> SearchResult:
    with qtbot.waitSignal(search.found, timeout=3000) as found:
        search.find(text)
    assert found.args
    result = found.args[0]
    assert isinstance(result, SearchResult)
    return result


def test_only_the_last_of_many_letters_is_looked_for(
    qtbot: QtBot, search: Search, reader: ScriptedReader
) -> None:
    for text in ("y", "ya", "yaz"):
        search.find(text)
    result = _next_result(qtbot, search, " yazd ")
    assert reader.asked == ["yazd"]
    assert result == SearchResult("yazd", (Found(CHAT, None, "yazd", ()),))


def test_typing_does_not_wait_for_the_search(qtbot: QtBot, search: Search, reader: ScriptedReader) -> None:
    held = threading.Event()
    reader.answer = lambda _text: [] * held.wait(5)
    search.find("slow")
    qtbot.waitUntil(lambda: reader.asked == ["slow"], timeout=3000)
    before = time.perf_counter()
    search.find("slower")
    assert time.perf_counter() - before < 0.1
    held.set()


def test_late_answer_to_a_former_text_is_dropped(
    qtbot: QtBot, search: Search, reader: ScriptedReader
) -> None:
    held = threading.Event()
    reader.answer = lambda text: [] * (text == "second" or held.wait(5))
    results: list[SearchResult] = []
    search.found.connect(results.append)
    search.find("first")
    qtbot.waitUntil(lambda: reader.asked == ["first"], timeout=3000)
    search.find("second")
    held.set()
    qtbot.waitUntil(lambda: bool(results), timeout=3000)
    assert [result.text for result in results] == ["second"]


def test_emptied_field_is_answered_with_nothing(qtbot: QtBot, search: Search, reader: ScriptedReader) -> None:
    with qtbot.assertNotEmitted(search.found, wait=300):
        search.find("yazd")
        search.find("  ")
    assert reader.asked == []


def test_full_list_may_not_be_all_there_is(qtbot: QtBot, search: Search, reader: ScriptedReader) -> None:
    reader.answer = lambda text: [Found(CHAT, n, text, ()) for n in range(LIMIT)]
    assert _next_result(qtbot, search, "many").is_cut
    reader.answer = lambda text: [Found(CHAT, 1, text, ())]
    assert not _next_result(qtbot, search, "one").is_cut


def test_failing_disk_is_told_and_the_next_search_tries_again(
    qtbot: QtBot, search: Search, reader: ScriptedReader
) -> None:
    def fail(_text: str) -> list[Found]:
        raise KnownError("The disk is gone. Plug it in again.")

    former, reader.answer = reader.answer, fail
    assert _next_result(qtbot, search, "a").problem == "The disk is gone. Plug it in again."
    reader.answer = former
    assert _next_result(qtbot, search, "b").problem is None


def test_thread_begins_with_the_first_search_and_ends_with_close(qtbot: QtBot) -> None:
    reader = ScriptedReader()
    n_threads = threading.active_count()
    search = Search(lambda: reader)
    assert threading.active_count() == n_threads
    _next_result(qtbot, search, "a")
    assert reader.threads == {"search_0"}
    search.close()
    assert reader.closed
    assert threading.active_count() == n_threads
    search.close()


def test_messages_of_the_open_store_are_found(qtbot: QtBot, tmp_path: Path) -> None:
    store = open_chat_store(tmp_path / "chats.db").store
    chat = store.create_chat("Plans")
    message = store.add_user_message(chat.id, "We go to Yazd in spring")
    search = Search(lambda: open_chat_reader(tmp_path / "chats.db"))
    try:
        [found] = _next_result(qtbot, search, "yazd").found
        assert (found.chat.id, found.message_id) == (chat.id, message.id)
        assert [found.excerpt[start:end] for start, end in found.marks] == ["Yazd"]
        store.add_user_message(chat.id, "Isfahan comes after it")
        assert len(_next_result(qtbot, search, "isfahan").found) == 1
    finally:
        search.close()
        store.close()


def test_reader_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(KnownError):
        open_chat_reader(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
