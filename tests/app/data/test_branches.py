"""Versions of messages, and the branch of a chat that is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.data.chat_store import ChatStore, open_chat_store
from app.data.stored_message import Attachment, MessageState, StoredMessage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(tmp_path / "chats.db").store
    yield store
    store.close()


@pytest.fixture
def chat_id(store: ChatStore) -> str:
    return store.create_chat().id


def answered(store: ChatStore, question: StoredMessage, answer: str) -> StoredMessage:
    reply = store.begin_reply(question, "m")
    store.finish_reply(reply.id, answer, MessageState.COMPLETE, None)
    return next(message for message in store.messages(question.chat_id) if message.id == reply.id)


def turns(store: ChatStore, chat_id: str, *questions: str) -> list[StoredMessage]:
    for text in questions:
        answered(store, store.add_user_message(chat_id, text), text.upper())
    return store.messages(chat_id)


def shown(store: ChatStore, chat_id: str) -> str:
    return " ".join(message.content for message in store.messages(chat_id))


def test_messages_follow_each_other(store: ChatStore, chat_id: str) -> None:
    assert store.head(chat_id) is None
    messages = turns(store, chat_id, "one", "two")
    assert [message.parent_id for message in messages] == [None, *(message.id for message in messages[:3])]
    assert [(message.version, message.n_versions) for message in messages] == [(1, 1)] * 4
    assert store.head(chat_id) == messages[-1].id


def test_an_edited_message_stands_beside_the_former_one(store: ChatStore, chat_id: str) -> None:
    messages = turns(store, chat_id, "one", "two", "three")
    former_head = store.head(chat_id)
    store.set_pinned(messages[2].id, True)
    former = store.messages(chat_id)[2]
    edited = store.add_version(former, "TWO?", [Attachment("a", "b")])
    assert (edited.pinned, edited.version, edited.n_versions) == (True, 2, 2)
    assert edited.attachments == (Attachment("a", "b"),)
    assert store.messages(chat_id) == [*messages[:2], edited]
    answered(store, edited, "yes")
    assert shown(store, chat_id) == "one ONE TWO? yes"
    store.show_branch(chat_id, former_head)
    assert shown(store, chat_id) == "one ONE two TWO three THREE"
    store.show_version(former, 2)
    assert shown(store, chat_id) == "one ONE TWO? yes"
    store.show_version(edited, 1)
    assert shown(store, chat_id) == "one ONE two TWO three THREE"
    assert [message.version for message in store.messages(chat_id)] == [1] * 6
    assert [message.n_versions for message in store.messages(chat_id)] == [1, 1, 2, 1, 1, 1]


@pytest.mark.parametrize("version", [-1, 0, 3])
def test_a_version_that_is_not_there_changes_nothing(store: ChatStore, chat_id: str, version: int) -> None:
    [question, _] = turns(store, chat_id, "one")
    answered(store, question, "again")
    store.show_version(store.messages(chat_id)[1], version)
    assert shown(store, chat_id) == "one again"


def test_the_first_message_has_versions_too(store: ChatStore, chat_id: str) -> None:
    first = turns(store, chat_id, "one")[0]
    store.add_version(first, "uno")
    assert shown(store, chat_id) == "uno"
    store.show_version(first, 1)
    assert shown(store, chat_id) == "one ONE"
    store.show_branch(chat_id, None)
    assert store.messages(chat_id) == []


def test_a_question_answered_again_has_both_replies(store: ChatStore, chat_id: str) -> None:
    question, old = turns(store, chat_id, "one")
    new = answered(store, question, "again")
    assert (new.version, new.n_versions, new.parent_id) == (2, 2, question.id)
    assert store.messages(chat_id) == [question, new]
    going_on = store.add_user_message(chat_id, "more")
    store.show_version(new, 1)
    assert shown(store, chat_id) == "one ONE"
    store.show_version(old, 2)
    assert store.messages(chat_id) == [question, new, going_on]


def test_a_message_that_never_was_leaves_the_one_before_it(store: ChatStore, chat_id: str) -> None:
    messages = turns(store, chat_id, "one")
    refused = store.add_user_message(chat_id, "too long", [Attachment("a", "b")])
    reply = store.begin_reply(refused, None)
    store.discard_message(refused.id)  # the reply follows it
    assert store.messages(chat_id) == [*messages, refused, reply]
    store.discard_message(reply.id)
    assert store.messages(chat_id) == [*messages, refused]
    store.discard_message(refused.id)
    assert store.messages(chat_id) == messages
    assert store.head(chat_id) == messages[-1].id
    assert store._connection.execute("SELECT count(*) FROM attachments").fetchone() == (0,)


def test_discarding_the_only_message_leaves_an_empty_chat(store: ChatStore, chat_id: str) -> None:
    refused = store.add_user_message(chat_id, "too long")
    store.discard_message(refused.id)
    assert (store.messages(chat_id), store.head(chat_id)) == ([], None)


def test_a_removed_message_leaves_what_follows_it_and_comes_back(store: ChatStore, chat_id: str) -> None:
    messages = turns(store, chat_id, "one", "two")
    head = store.head(chat_id)
    store.remove_message(messages[1].id)
    assert shown(store, chat_id) == "one two TWO"
    store.remove_message(messages[3].id)
    assert shown(store, chat_id) == "one two"
    more = store.add_user_message(chat_id, "more")
    assert shown(store, chat_id) == "one two more"
    store.discard_message(more.id)
    store.restore_message(messages[3].id, head)
    store.restore_message(messages[1].id, head)
    assert store.messages(chat_id) == messages


def test_removing_the_last_version_shown_shows_the_newest_other(store: ChatStore, chat_id: str) -> None:
    question, first = turns(store, chat_id, "one")
    second = answered(store, question, "second")
    store.add_user_message(chat_id, "more")
    third = answered(store, question, "third")
    assert (third.version, third.n_versions) == (3, 3)
    head = store.head(chat_id)
    store.remove_message(third.id)
    assert shown(store, chat_id) == "one second more"
    assert [(m.version, m.n_versions) for m in store.messages(chat_id)] == [(1, 1), (2, 2), (1, 1)]
    store.restore_message(third.id, head)
    assert store.messages(chat_id) == [question, third]
    store.show_version(first, 1)
    store.remove_message(first.id)
    assert shown(store, chat_id) == "one third"
    store.remove_message(third.id)
    store.show_message(second.id)
    assert shown(store, chat_id) == "one second more"


def test_showing_a_message_changes_the_branch_only_if_it_must(store: ChatStore, chat_id: str) -> None:
    question, first = turns(store, chat_id, "one")
    store.add_user_message(chat_id, "more")
    answered(store, question, "second")
    store.show_message(first.id)
    assert shown(store, chat_id) == "one ONE more"
    store.show_message(question.id)
    assert shown(store, chat_id) == "one ONE more"


def test_a_head_in_another_chat_is_not_taken(store: ChatStore, chat_id: str) -> None:
    messages = turns(store, chat_id, "one")
    other = store.add_user_message(store.create_chat().id, "other")
    store.show_branch(chat_id, other.id)
    assert store.messages(chat_id) == messages


def test_what_was_removed_long_ago_loses_its_text(store: ChatStore, chat_id: str) -> None:
    messages = turns(store, chat_id, "one")
    secret = store.add_user_message(chat_id, "secret", [Attachment("a", "secret too")])
    after = answered(store, secret, "after")
    store.remove_message(secret.id)
    store.purge_deleted(older_than_s=3600)
    store.restore_message(secret.id, store.head(chat_id))
    assert store.messages(chat_id) == [*messages, secret, after]
    store.remove_message(secret.id)
    store.purge_deleted(older_than_s=0)
    assert store.messages(chat_id) == [*messages, after]
    store.search("secret")
    for text, table in (("content", "messages"), ("text", "attachments"), ("former", "search_queue")):
        left = store._connection.execute(f"SELECT coalesce({text}, '') FROM {table}").fetchall()
        assert not any("secret" in row[0] for row in left), table
