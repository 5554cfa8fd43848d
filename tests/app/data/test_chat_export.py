"""Chats as Markdown and JSON, and back without loss."""

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.data.chat_export import export_json, export_markdown
from app.data.chat_import import import_chats
from app.data.chat_options import ChatOptions
from app.data.chat_store import ChatStore, open_chat_store
from app.data.stored_message import Attachment, MessageState
from engine.errors import KnownError
from tests.app.data.whole_chats import finite, normal, write_chat


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(tmp_path / "chats.db").store
    yield store
    store.close()


def test_an_export_that_is_imported_gives_equal_chats(store: ChatStore, tmp_path: Path) -> None:
    ids = [write_chat(store), write_chat(store, "plain"), store.create_chat("Empty").id]
    text = export_json(store, ids)
    other = open_chat_store(tmp_path / "other.db").store
    for target in (store, other):
        imported = import_chats(target, text)
        assert not {chat.id for chat in imported} & set(ids)
        assert all(chat in target.list_chats() for chat in imported)
        for chat, former in zip(imported, ids, strict=True):
            assert normal(target.whole_chat(chat.id)) == finite(normal(store.whole_chat(former)))
    assert len(store.list_chats()) == 6
    [again, *_] = imported
    assert [message.content for message in other.messages(again.id)] == [
        message.content for message in store.messages(ids[0])
    ]
    assert json.loads(export_json(other, [again.id]))["chats"] == json.loads(text)["chats"][:1]
    other.close()


def test_a_json_export_is_strict_valid_and_without_what_was_removed(store: ChatStore) -> None:
    text = export_json(store, [write_chat(store)])

    def no_constant(name: str) -> None:
        raise AssertionError(name)

    exported = json.loads(text.encode(), parse_constant=no_constant)
    assert (exported["format"], exported["version"]) == ("weir-chats", 1)
    assert abs(exported["exported_at"] - time.time()) < 60
    [chat] = exported["chats"]
    assert [message["id"] for message in chat["messages"]] == [1, 2, 3, 4, 5]
    assert [message["parent_id"] for message in chat["messages"]] == [None, 1, 1, 3, None]
    assert (chat["head_id"], chat["pinned"]) == (4, True)
    assert chat["messages"][1]["numbers"]["ttft_ms"] is None
    assert "secret" not in text
    assert "ALPHA\\u0000BETA" in text


OPERATIONS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30), st.text(st.characters())), max_size=14)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(title=st.text(st.characters()), operations=OPERATIONS)
def test_any_chat_comes_back_equal(
    store: ChatStore, title: str, operations: list[tuple[int, int, str]]
) -> None:
    chat = store.create_chat(title, ChatOptions(system_prompt=title or None))
    messages = [store.add_user_message(chat.id, title)]
    for what, which, text in operations:
        message = messages[which % len(messages)]
        if what == 0:
            messages.append(store.add_user_message(chat.id, text, [Attachment(text, title)]))
        elif what == 1:
            messages.append(store.begin_reply(message, text))
            store.finish_reply(messages[-1].id, text, MessageState.INTERRUPTED, None)
        elif what == 2:
            messages.append(store.add_version(message, text))
        elif what == 3:
            store.remove_message(message.id)
        elif what == 4:
            store.show_message(message.id)
        elif what == 5:
            store.set_pinned(message.id, True)
        else:
            store.restore_message(message.id, message.id)
    [imported] = import_chats(store, export_json(store, [chat.id]))
    assert normal(store.whole_chat(imported.id)) == normal(store.whole_chat(chat.id))
    assert [message.content for message in store.messages(imported.id)] == [
        message.content for message in store.messages(chat.id)
    ]
    export_markdown(store, imported.id).encode("utf-8")


def test_a_reply_that_is_being_written_is_imported_as_interrupted(store: ChatStore) -> None:
    question = store.add_user_message(store.create_chat().id, "Why?")
    reply = store.begin_reply(question, None)
    store.save_partial(reply.id, "Beca")
    [imported] = import_chats(store, export_json(store, [question.chat_id]))
    assert [(message.content, message.state) for message in store.messages(imported.id)] == [
        ("Why?", MessageState.COMPLETE),
        ("Beca", MessageState.INTERRUPTED),
    ]


def test_exporting_a_deleted_chat_is_explained(store: ChatStore) -> None:
    chat = store.create_chat()
    store.delete_chat(chat.id)
    with pytest.raises(KnownError, match="it was deleted"):
        export_json(store, [chat.id])
    with pytest.raises(KnownError, match="it was deleted"):
        export_markdown(store, chat.id)


# --- Markdown ---------------------------------------------------------------------------------------


def test_markdown_is_what_the_chat_shows(store: ChatStore) -> None:
    chat = store.create_chat("A\nweir")
    question = store.add_user_message(chat.id, "Why **so**?\n", [Attachment("a`.py", "print('```')\n````")])
    reply = store.begin_reply(question, "model.gguf")
    thought = "<think>\nHm.\n\nWell.\n</think>\n\nBecause."
    store.finish_reply(reply.id, thought, MessageState.COMPLETE, None)
    hidden = store.begin_reply(question, "model.gguf")
    store.finish_reply(hidden.id, "hidden", MessageState.COMPLETE, None)
    store.show_message(reply.id)
    assert export_markdown(store, chat.id) == (
        "# A weir\n\n## You\n\nWhy **so**?\n\nAttached: `a'.py`\n\n"
        "`````\nprint('```')\n````\n`````\n\n"
        "## model.gguf\n\n> Hm.\n>\n> Well.\n\nBecause.\n"
    )


def test_an_empty_chat_without_a_title_is_a_heading(store: ChatStore) -> None:
    assert export_markdown(store, store.create_chat().id) == "# Chat\n"


@pytest.mark.parametrize(
    "content",
    [
        "```python\nprint(1)",
        "~~~~\n~~~\n```",
        "```\ncode\n```\ntext\n````\nmore\n```",
        "``` not a `fence`\ntext",
        "```\ncode\n``` no end",
        "<think>cut off ```",
        "text\n```",
    ],
)
def test_a_reply_cut_off_inside_code_does_not_swallow_what_follows(store: ChatStore, content: str) -> None:
    chat = store.create_chat("Title")
    reply = store.begin_reply(store.add_user_message(chat.id, "Why?"), "m")
    store.finish_reply(reply.id, content, MessageState.INTERRUPTED, None)
    store.add_user_message(chat.id, "Go on.", [Attachment("a", content)])
    store.add_user_message(chat.id, "Thanks.")
    tokens = MarkdownIt().parse(export_markdown(store, chat.id))
    headings = [
        token.content for before, token in itertools.pairwise(tokens) if before.type == "heading_open"
    ]
    assert headings == ["Title", "You", "m", "You", "You"]
