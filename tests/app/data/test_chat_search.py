"""Search: every place with all the words, whatever is typed, however the index is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.data.chat_store import ChatStore, open_chat_store
from app.data.stored_message import MessageState
from tests.app.data.searched_chats import indexed, places, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(path).store
    yield store
    store.close()


@pytest.fixture(params=["indexed", "queued"])
def is_indexed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "indexed")


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("The overflow of the weir", "VERFL"),
        ("The overflow of the weir", "weir overflow"),
        ("Плотина на реке", "ПЛОТ"),
        ("Плотина на реке", "на"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("水曜日に堰を見た", "堰を"),
        ("水曜日に堰を見た", "水曜日に堰"),
        ("سد در رودخانه", "رودخانه"),
        ("an emoji 👨‍👩‍👧‍👦 family", "👨‍👩‍👧‍👦"),
        ('say "hello" AND NOT (x) OR y*', '"hello" AND'),
        ("100% of a_b", "0% a_b"),
        ("ALPHA\0BETA", "BETA"),
        ("ALPHA\0BETA", "A\0B"),
        ("Straße", "straße"),
        ("Straße", "STRASSE ss"),
        ("ok \ud83d", "\ud83d"),
        ("a" * 30_000, "a" * 20_000),
    ],
)
def test_words_are_found_in_any_script(store: ChatStore, content: str, query: str, is_indexed: bool) -> None:
    [_, wanted, _] = write(store, "nothing here", content, "nor here")
    assert not is_indexed or indexed(store)
    assert places(store.search(query)) == [wanted.id]


@pytest.mark.parametrize("query", ["axb", "a_b c", "10000%", "weirs", "%%%", "hello weir", "NOT", "col:weir"])
def test_what_is_not_there_is_not_found(store: ChatStore, query: str, is_indexed: bool) -> None:
    write(store, "a weir", "a_b", "a word that says hello", "100 axxb", title="a chat")
    assert not is_indexed or indexed(store)
    assert store.search(query) == []


def test_titles_come_first_and_then_the_newest_messages(store: ChatStore) -> None:
    older = write(store, "a weir", "no", "the weir", title="Weirs")
    newer = write(store, "WEIR", title="Dams")
    found = store.search("weir")
    assert places(found) == ["Weirs", newer[0].id, older[2].id, older[0].id]
    assert [hit.chat.title for hit in found] == ["Weirs", "Dams", "Weirs", "Weirs"]
    assert places(store.search("weir", limit=2)) == ["Weirs", newer[0].id]
    assert store.search("weir", limit=0) == []


def test_hidden_branches_are_searched_and_what_was_removed_is_not(store: ChatStore) -> None:
    [former] = write(store, "the former weir")
    edited = store.add_version(former, "the edited weir")
    [removed] = write(store, "the removed weir")
    store.remove_message(removed.id)
    [deleted] = write(store, "the deleted weir", title="weir")
    store.delete_chat(deleted.chat_id)
    assert places(store.search("weir")) == [edited.id, former.id]
    store.restore_message(removed.id, removed.id)
    store.restore_chat(deleted.chat_id)
    assert places(store.search("weir")) == ["weir", deleted.id, removed.id, edited.id, former.id]
    store.delete_chat(deleted.chat_id)
    store.purge_deleted(0)
    assert places(store.search("weir")) == [removed.id, edited.id, former.id]


def test_a_reply_is_found_when_it_has_ended(store: ChatStore) -> None:
    [question] = write(store, "Why?")
    reply = store.begin_reply(question, None)
    assert indexed(store)
    store.save_partial(reply.id, "a weir")
    assert store._connection.execute("SELECT count(*) FROM search_queue").fetchone() == (0,)
    assert store.search("weir") == []
    store.finish_reply(reply.id, "a weir", MessageState.INTERRUPTED, None)
    for _ in range(2):
        assert places(store.search("weir")) == [reply.id]
    store.continue_reply(reply)
    store.save_partial(reply.id, "a weir and a dam")
    assert indexed(store)
    assert store.search("weir") == []
    store.finish_reply(reply.id, "a barrage", MessageState.COMPLETE, None)
    assert indexed(store)
    assert store.search("weir") == store.search("dam") == []
    assert places(store.search("barrage")) == [reply.id]


def test_what_is_gone_leaves_the_index(store: ChatStore) -> None:
    write(store, "kept")
    [message] = write(store, "pelican")
    assert indexed(store)
    match = "SELECT count(*) FROM message_search WHERE message_search MATCH '\"pel\"'"
    assert store._connection.execute(match).fetchone() == (1,)
    store.delete_chat(message.chat_id)
    store.purge_deleted(0)
    assert store._connection.execute(match).fetchone() == (0,)


def excerpt(store: ChatStore, content: str, query: str) -> tuple[str, list[str]]:
    write(store, content)
    [hit] = store.search(query)
    return hit.excerpt, [hit.excerpt[start:end] for start, end in hit.marks]


def test_an_excerpt_is_one_line_around_the_match_with_marks(store: ChatStore) -> None:
    content = "start " * 40 + "and then\n\n\tthe Weir\0 OVERFLOWS its weir " + "end " * 40
    assert excerpt(store, content, "weir flow") == (
        "…start and then the Weir OVERFLOWS its weir end end end end end end end end…",
        ["Weir", "FLOW", "weir"],
    )


def test_a_short_text_is_its_own_excerpt(store: ChatStore) -> None:
    assert excerpt(store, "A weir.", "eir") == ("A weir.", ["eir"])


def test_an_excerpt_is_found_behind_letters_that_fold_into_two(store: ChatStore) -> None:
    assert excerpt(store, "ßİ" * 500 + " Weir", "weir")[1] == ["Weir"]


def test_an_excerpt_does_not_cut_an_emoji(store: ChatStore) -> None:
    family = "👨‍👩‍👧‍👦"
    text, marks = excerpt(store, family * 100 + "weir" + family * 100, "weir")
    assert marks == ["weir"]
    assert text.replace(family, "") == "…weir…"


@pytest.mark.parametrize(
    "query", ["", " ", "\n", "\0", '"', '""""', "*", "(", "NEAR(", "-", "a OR", "%", "_", "\\", "\ud83d\0x"]
)
def test_odd_queries_find_nothing_and_break_nothing(store: ChatStore, query: str, is_indexed: bool) -> None:
    write(store, "plain text")
    assert not is_indexed or indexed(store)
    assert store.search(query) == []


@pytest.mark.parametrize(
    "query", ["x" * 100_000, "x plain " * 9_999 + "q", " ".join(map(str, range(20_000))), "é" * 9_999]
)
def test_a_very_long_query_breaks_nothing(store: ChatStore, query: str) -> None:
    write(store, "plain text")
    assert indexed(store)
    start_s = time.perf_counter()
    assert store.search(query) == []
    assert time.perf_counter() - start_s < 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(before=st.text(st.characters()), query=st.text(st.characters(), min_size=1), after=st.text())
@example(before="", query='a"b', after="")
def test_any_text_finds_itself(store: ChatStore, before: str, query: str, after: str) -> None:
    [message] = write(store, before + query + after)
    assert indexed(store)
    found = store.search(query)
    if query.split():
        assert message.id in places(found)
    for hit in found:
        assert "\n" not in hit.excerpt
        assert all(0 <= start < end <= len(hit.excerpt) for start, end in hit.marks)
