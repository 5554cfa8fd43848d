"""Chats as wholes: their order, titles, pins, options and drafts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.data.chat_options import ChatOptions
from app.data.chat_store import ChatStore, open_chat_store
from app.data.stored_message import Attachment
from engine.protocol import Policy, Sampling


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(path).store
    yield store
    store.close()


def test_chats_are_listed_by_their_newest_message(store: ChatStore) -> None:
    first, second, third = (store.create_chat(title) for title in ("first", "second", "third"))
    store.add_user_message(first.id, "newest")
    assert [chat.id for chat in store.list_chats()] == [first.id, third.id, second.id]


def test_the_first_user_message_names_a_chat_that_has_no_title(store: ChatStore) -> None:
    named, unnamed = store.create_chat("Named"), store.create_chat()
    for chat in (named, unnamed):
        store.add_user_message(chat.id, " \n")
        store.add_user_message(chat.id, "What is a weir?\nTell me.")
        store.add_user_message(chat.id, "And a dam?")
    assert {chat.id: chat.title for chat in store.list_chats()} == {
        named.id: "Named",
        unnamed.id: "What is a weir?",
    }


def test_renaming_changes_the_title_and_not_the_order(store: ChatStore) -> None:
    older, newer = store.create_chat("older"), store.create_chat("newer")
    store.rename_chat(older.id, "renamed \ud83d")
    assert [chat.title for chat in store.list_chats()] == ["newer", "renamed \ufffd"]
    assert newer in store.list_chats()


def test_a_deleted_chat_can_be_restored_until_it_is_purged(store: ChatStore) -> None:
    gone, kept = store.create_chat("gone"), store.create_chat("kept")
    messages = [store.add_user_message(chat.id, chat.title, [Attachment("a", "b")]) for chat in (gone, kept)]
    for chat in (gone, kept):
        store.save_draft(chat.id, "unsent")
    store.delete_chat(gone.id)
    assert [chat.title for chat in store.list_chats()] == ["kept"]
    assert store.purge_deleted(older_than_s=3600) == 0
    store.restore_chat(gone.id)
    assert store.messages(gone.id) == messages[:1]
    store.delete_chat(gone.id)
    assert store.purge_deleted(older_than_s=0) == 1
    store.restore_chat(gone.id)
    assert [chat.title for chat in store.list_chats()] == ["kept"]
    assert (store.messages(gone.id), store.messages(kept.id)) == ([], messages[1:])
    assert (store.draft(gone.id), store.draft(kept.id)) == ("", "unsent")
    for table in ("messages", "attachments", "drafts"):
        assert store._connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


def test_a_pinned_chat_and_its_options_reload_equal(path: Path, store: ChatStore) -> None:
    options = ChatOptions(system_prompt="Be brief.\0", sampling=Sampling(seed=7), policy=Policy.EXACT)
    chat = store.create_chat("a", options)
    plain = store.create_chat("b")
    store.set_chat_pinned(chat.id, True)
    other = open_chat_store(path).store
    assert {shown.title: shown.pinned for shown in other.list_chats()} == {"a": True, "b": False}
    assert (other.options(chat.id), other.options(plain.id)) == (options, ChatOptions())
    other.set_options(chat.id, ChatOptions(n_ctx=512))
    other.set_chat_pinned(chat.id, False)
    other.close()
    assert store.options(chat.id) == ChatOptions(n_ctx=512)
    assert store.options("no such chat") == ChatOptions()
    assert not any(shown.pinned for shown in store.list_chats())


@pytest.mark.parametrize("of_new_chat", [True, False])
def test_a_draft_is_kept_until_it_is_empty(path: Path, store: ChatStore, of_new_chat: bool) -> None:
    chat_id = None if of_new_chat else store.create_chat().id
    assert store.draft(chat_id) == ""
    store.save_draft(chat_id, "half a thou")
    store.save_draft(chat_id, "half a thought \ud83d\0")
    other = open_chat_store(path).store
    assert other.draft(chat_id) == "half a thought \ufffd\0"
    assert other.draft("another") == ""
    store.purge_deleted(older_than_s=0)
    assert other.draft(chat_id) == "half a thought \ufffd\0"
    other.save_draft(chat_id, "")
    other.close()
    assert store.draft(chat_id) == ""
