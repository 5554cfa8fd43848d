"""Chats and messages: what goes in comes out."""

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.data.chat_store import ChatStore, open_chat_store
from app.data.owner import Owner, is_running, this_process
from app.data.stored_message import Attachment, MessageState, TurnNumbers
from engine.errors import KnownError
from engine.protocol import FinishReason, Role


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    store = open_chat_store(path).store
    yield store
    store.close()


def test_attachments_reload_equal(store: ChatStore) -> None:
    chat = store.create_chat()
    files = (Attachment("a \ud83d.py", "print('\0')\n"), Attachment("ünicode.pdf", "x" * 1_000_000))
    message = store.add_user_message(chat.id, "look", files)
    assert message.attachments == (Attachment("a \ufffd.py", "print('\0')\n"), files[1])
    assert store.messages(chat.id) == [message]


@pytest.mark.parametrize(
    ("content", "title"), [("", "notes.pdf"), (" \n", "notes.pdf"), ("\nWhat is\tthis?", "What is this?")]
)
def test_a_chat_that_begins_with_files_only_is_called_like_the_first_one(
    store: ChatStore, content: str, title: str
) -> None:
    files = (Attachment("notes.pdf", "text"), Attachment("b.py", ""))
    store.add_user_message(store.create_chat().id, content, files)
    assert [chat.title for chat in store.list_chats()] == [title]


def test_a_reply_grows_and_ends_with_its_numbers(store: ChatStore) -> None:
    chat = store.create_chat()
    question = store.add_user_message(chat.id, "Why?")
    reply = store.begin_reply(question, "model.gguf")
    assert (reply.role, reply.content, reply.state) == (Role.ASSISTANT, "", MessageState.STREAMING)
    assert reply.model == "model.gguf"
    assert store.messages(chat.id) == [question, reply]

    store.save_partial(reply.id, "Beca")
    assert [message.content for message in store.messages(chat.id)] == ["Why?", "Beca"]

    numbers = TurnNumbers(tokens_generated=3, decode_tps=12.5, ttft_ms=None, prefill_tps=100.0)
    store.finish_reply(reply.id, "Because.", MessageState.COMPLETE, numbers)
    finished = store.messages(chat.id)[1]
    assert (finished.content, finished.state, finished.numbers) == (
        "Because.",
        MessageState.COMPLETE,
        numbers,
    )


def test_a_stopped_reply_has_its_text_and_no_numbers(store: ChatStore) -> None:
    reply = store.begin_reply(store.add_user_message(store.create_chat().id, "Why?"), None)
    store.finish_reply(reply.id, "Hal", MessageState.INTERRUPTED, None)
    stored = store.messages(reply.chat_id)[1]
    assert (stored.content, stored.state, stored.numbers) == ("Hal", MessageState.INTERRUPTED, None)


def test_numbers_that_cannot_be_divided_never_become_nan(store: ChatStore) -> None:
    reply = store.begin_reply(store.add_user_message(store.create_chat().id, "Why?"), None)
    numbers = TurnNumbers(0, float("nan"), None, None)
    store.finish_reply(reply.id, "", MessageState.INTERRUPTED, numbers)
    assert store.messages(reply.chat_id)[1].numbers == TurnNumbers(0, None, None, None)


def test_the_id_of_a_deleted_message_is_never_given_again(store: ChatStore) -> None:
    chat = store.create_chat()
    deleted = store.add_user_message(chat.id, "refused")
    store.discard_message(deleted.id)
    other = store.add_user_message(chat.id, "other")
    store.save_partial(deleted.id, "late")
    store.finish_reply(deleted.id, "late", MessageState.COMPLETE, None)
    store.remove_message(deleted.id)
    store.restore_message(deleted.id, deleted.id)
    store.show_message(deleted.id)
    store.show_branch(chat.id, deleted.id)
    assert store.messages(chat.id) == [other]


def test_writing_into_a_deleted_chat_is_explained(store: ChatStore) -> None:
    question = store.add_user_message(store.create_chat().id, "text")
    reply = store.begin_reply(question, None)
    for _ in range(2):
        with pytest.raises(KnownError, match="reply cannot be continued"):
            store.continue_reply(reply)
        store.delete_chat(question.chat_id)
        with pytest.raises(KnownError, match="Your text is safe"):
            store.add_user_message(question.chat_id, "text")
        with pytest.raises(KnownError, match="Your text is safe"):
            store.add_version(question, "text")
        with pytest.raises(KnownError, match="does not exist any more"):
            store.begin_reply(question, None)
        store.purge_deleted(0)
    assert store.list_chats() == []


def test_answering_a_question_that_was_deleted_is_explained(store: ChatStore) -> None:
    question = store.add_user_message(store.create_chat().id, "text")
    store.discard_message(question.id)
    with pytest.raises(KnownError, match="message before this one does not exist any more"):
        store.begin_reply(question, None)
    assert store.messages(question.chat_id) == []


def test_a_continued_reply_streams_until_it_ends_again(store: ChatStore) -> None:
    question = store.add_user_message(store.create_chat().id, "Why?")
    reply = store.begin_reply(question, "m")
    store.finish_reply(reply.id, "Beca", MessageState.INTERRUPTED, TurnNumbers(2, 1.0, 1.0, 1.0))
    ended = store.messages(question.chat_id)[1]
    continued = store.continue_reply(ended)
    assert (continued.state, continued.content) == (MessageState.STREAMING, "Beca")
    assert store.messages(question.chat_id) == [question, continued]
    assert store.recover() == 0
    numbers = TurnNumbers(1, 2.0, 3.0, 4.0, FinishReason.STOP, thinking_ms=250.0)
    store.finish_reply(reply.id, "Because.", MessageState.COMPLETE, numbers)
    assert store.messages(question.chat_id)[1] == dataclasses.replace(
        continued, content="Because.", state=MessageState.COMPLETE, numbers=numbers
    )


@pytest.mark.parametrize(
    "text",
    [
        "ok \ud83d",
        "ALPHA\0BETA",
        "\0",
        "a\u202eb",
        "<b> 'q' \"q\"; --",
        "👨‍👩‍👧‍👦",
        "äöü\r\n\t",
        pytest.param("x\0é" * 1_250_000, id="5 MB"),
    ],
)
def test_odd_texts_reload_equal(path: Path, text: str) -> None:
    store = open_chat_store(path).store
    chat = store.create_chat()
    message = store.add_user_message(chat.id, text)
    reply = store.begin_reply(message, "model \udcff.gguf")
    store.finish_reply(reply.id, text, MessageState.COMPLETE, None)
    store.close()
    store = open_chat_store(path).store
    question, answer = store.messages(chat.id)
    store.close()
    assert question == message
    assert question.content == answer.content == text.replace("\ud83d", "\ufffd")
    assert answer.model == reply.model == "model \ufffd.gguf"
    question.content.encode("utf-8")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(text=st.text(st.characters()))
def test_any_text_reloads_equal(store: ChatStore, text: str) -> None:
    message = store.add_user_message(store.create_chat().id, text)
    assert store.messages(message.chat_id) == [message]


def test_only_partial_replies_and_drafts_do_not_wait_for_the_disk(store: ChatStore) -> None:
    chat = store.create_chat()
    reply = store.begin_reply(store.add_user_message(chat.id, "Why?"), None)
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)

    def syncs() -> list[str]:
        seen = [statement for statement in statements if "synchronous" in statement]
        statements.clear()
        return seen

    store.add_user_message(chat.id, "text")
    assert syncs() == ["PRAGMA synchronous = FULL"]
    store.save_partial(reply.id, "te")
    assert syncs() == ["PRAGMA synchronous = NORMAL"]
    store.save_draft(chat.id, "te")
    assert syncs() == ["PRAGMA synchronous = NORMAL"]
    store.finish_reply(reply.id, "text", MessageState.COMPLETE, None)
    assert syncs() == ["PRAGMA synchronous = FULL"]


def test_a_reply_of_a_running_instance_is_left_alone(store: ChatStore) -> None:
    reply = store.begin_reply(store.add_user_message(store.create_chat().id, "Why?"), None)
    store.save_partial(reply.id, "still going")
    assert store.recover() == 0
    assert store.messages(reply.chat_id)[1].state is MessageState.STREAMING


def test_a_process_is_told_from_a_later_one_with_its_id() -> None:
    me = this_process()
    assert is_running(me)
    assert not is_running(Owner(me.pid, me.started - 3600))
    assert not is_running(Owner(-1, 0.0))


PRINT_START = """
import time
from app.data.owner import this_process
print(this_process().started, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows clears killed processes away by itself")
def test_a_killed_process_that_was_not_cleared_away_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", PRINT_START], stdout=subprocess.PIPE)
    assert child.stdout is not None
    owner = Owner(child.pid, float(child.stdout.readline()))
    assert is_running(owner)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(owner)
    child.communicate()


def test_a_byte_gone_bad_does_not_hide_the_chat(path: Path) -> None:
    store = open_chat_store(path).store
    message = store.add_user_message(store.create_chat().id, "before BAD after")
    store.close()
    path.write_bytes(path.read_bytes().replace(b"e BAD a", b"e \xffAD a"))
    store = open_chat_store(path).store
    assert [stored.content for stored in store.messages(message.chat_id)] == ["before \ufffdAD after"]
    store.close()


def test_how_a_reply_ended_reloads_equal(store: ChatStore) -> None:
    reply = store.begin_reply(store.add_user_message(store.create_chat().id, "Why?"), None)
    numbers = TurnNumbers(3, 12.5, 1.0, 2.0, FinishReason.CONTEXT_FULL, "edited message 4")
    store.finish_reply(reply.id, "Hal", MessageState.COMPLETE, numbers)
    assert store.messages(reply.chat_id)[1].numbers == numbers


def test_a_pin_is_kept_and_can_be_taken_away(store: ChatStore) -> None:
    message = store.add_user_message(store.create_chat().id, "The code word is PELICAN-7.")
    assert not message.pinned
    store.set_pinned(message.id, True)
    assert [stored.pinned for stored in store.messages(message.chat_id)] == [True]
    store.set_pinned(message.id, False)
    assert store.messages(message.chat_id) == [message]


def test_a_chat_of_two_thousand_messages_is_read_in_no_time(store: ChatStore) -> None:
    chat = store.create_chat()
    parent_id = None
    with store._writing():
        for n in range(2_000):
            parent_id = store._connection.execute(
                "INSERT INTO messages (chat_id, role, state, created_at, content, parent_id)"
                " VALUES (?, 'user', 'complete', 1.0, ?, ?)",
                (chat.id, f"{n:>5} " + "some words " * 50, parent_id),
            ).lastrowid
    store.show_branch(chat.id, parent_id)
    seconds = []
    for _ in range(5):
        start_s = time.perf_counter()
        assert len(store.messages(chat.id)) == 2_000
        seconds.append(time.perf_counter() - start_s)
    assert min(seconds) < 0.3  # 0.03 on a quiet machine
