"""What a killed process leaves behind (nomic-ai/gpt4all#2810)."""

import subprocess
import sys
import time
from pathlib import Path

from app.data.chat_store import open_chat_store
from app.data.set_aside import log_of
from app.data.stored_message import MessageState

KILLED_AFTER_SEND = """
import os, signal, sys
from pathlib import Path
from app.data.chat_store import open_chat_store
store = open_chat_store(Path(sys.argv[1])).store
store.add_user_message(store.create_chat().id, "sent")
os.kill(os.getpid(), signal.SIGKILL)
"""

STREAMING = """
import sys, time
from pathlib import Path
from app.data.chat_store import open_chat_store
store = open_chat_store(Path(sys.argv[1])).store
chat = store.create_chat()
reply = store.begin_reply(store.add_user_message(chat.id, "sent"), "model")
text = ""
for n in range(200):
    text += f"token{n} "
    if n % 10 == 9:  # a store every 2 s at 5 tokens a second, in fast motion
        store.save_partial(reply.id, text)
    print(n, flush=True)
    time.sleep(0.005)
"""


def start(script: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)


def read_until(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    for output in process.stdout:
        if output.strip() == line:
            return
    raise AssertionError(f"{line} never came")


def test_a_message_survives_a_kill_right_after_sending(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    process = start(KILLED_AFTER_SEND, path)
    process.communicate(timeout=60)
    assert process.returncode == -9
    opened = open_chat_store(path)
    [chat] = opened.store.list_chats()
    assert chat.title == "sent"
    assert [message.content for message in opened.store.messages(chat.id)] == ["sent"]
    assert opened.notice is None
    opened.store.close()


def test_a_reply_survives_a_kill_at_token_50_and_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    process = start(STREAMING, path)
    read_until(process, "50")
    process.kill()
    output, _ = process.communicate(timeout=60)
    last_token = int(output.split()[-1]) if output.split() else 50
    store = open_chat_store(path).store
    [chat] = store.list_chats()
    question, reply = store.messages(chat.id)
    store.close()
    assert (question.content, question.state) == ("sent", MessageState.COMPLETE)
    assert (reply.state, reply.model) == (MessageState.INTERRUPTED, "model")
    tokens = reply.content.split()
    assert tokens == [f"token{n}" for n in range(len(tokens))]
    assert len(tokens) > last_token - 10  # what was said since the last store


def test_a_second_instance_leaves_a_running_reply_alone(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    process = start(STREAMING, path)
    read_until(process, "20")
    store = open_chat_store(path).store
    [chat] = store.list_chats()
    states = [message.state for message in store.messages(chat.id)]
    other = store.add_user_message(store.create_chat().id, "from the second instance")
    read_until(process, "60")
    process.kill()
    process.communicate(timeout=60)
    assert states == [MessageState.COMPLETE, MessageState.STREAMING]
    assert store.recover() == 1
    reply = store.messages(chat.id)[1]
    assert reply.state is MessageState.INTERRUPTED
    assert "token49" in reply.content
    assert store.messages(other.chat_id) == [other]
    store.close()


def test_a_long_reply_is_not_rewritten_for_every_token(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    store = open_chat_store(path).store
    chat = store.create_chat()
    for _ in range(500):
        question = store.add_user_message(chat.id, "a transcript of a megabyte " * 80)
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    transcript = path.stat().st_size
    store._connection.execute("PRAGMA wal_autocheckpoint = 0")  # so that the log shows every byte

    reply = store.begin_reply(question, "model")
    tokens = [f"w{n} " for n in range(1000)]
    for n in range(40, 1000, 40):  # every 2 s at 20 tokens a second
        store.save_partial(reply.id, "".join(tokens[:n]))
    store.finish_reply(reply.id, "".join(tokens), MessageState.COMPLETE, None)

    written = log_of(path).stat().st_size
    store.close()
    assert transcript > 1_000_000
    assert written < 300_000, f"{written:,} bytes"


def test_storing_a_partial_reply_takes_milliseconds(tmp_path: Path) -> None:
    store = open_chat_store(tmp_path / "chats.db").store
    reply = store.begin_reply(store.add_user_message(store.create_chat().id, "Why?"), "model")
    text = "token " * 4000
    times = []
    for _ in range(20):
        start_s = time.perf_counter()
        store.save_partial(reply.id, text)
        times.append(time.perf_counter() - start_s)
    store.close()
    assert sorted(times)[10] < 0.02
