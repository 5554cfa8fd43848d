"""Chats with everything in them, for the tests of exporting and importing."""

import dataclasses

from app.data.chat_options import ChatOptions
from app.data.chat_store import ChatStore
from app.data.stored_message import Attachment, MessageState, StoredMessage, TurnNumbers, WholeChat
from engine.protocol import FinishReason, KVType, Policy, Sampling

ODD = 'ok \ud83d ALPHA\0BETA a\u202eb 👨‍👩‍👧‍👦 \u2028 </script> \\ " \r\n\t'


def write_chat(store: ChatStore, text: str = ODD) -> str:
    """A chat with branches, a removed message, attachments, options and numbers."""
    options = ChatOptions(text, Sampling(seed=7), 100, Policy.EXACT, 512, KVType.Q8_0, 0)
    chat = store.create_chat(text, options)
    store.set_chat_pinned(chat.id, True)
    question = store.add_user_message(chat.id, text, [Attachment(text, text), Attachment("b", "")])
    numbers = TurnNumbers(3, 1.5, float("inf"), None, FinishReason.CONTEXT_FULL, "edited", 250.25)
    first = store.begin_reply(question, text)
    store.finish_reply(first.id, f"<think>{text}</think>{text}", MessageState.COMPLETE, numbers)
    second = store.begin_reply(question, None)
    store.finish_reply(second.id, text, MessageState.INTERRUPTED, None)
    removed = store.add_user_message(chat.id, "secret")
    after = store.begin_reply(removed, "m")
    store.finish_reply(after.id, "after", MessageState.COMPLETE, TurnNumbers(0, None, None, None))
    store.set_pinned(removed.id, True)
    store.set_pinned(after.id, True)
    store.remove_message(removed.id)
    store.show_message(first.id)
    store.add_version(question, "edited")
    store.show_message(after.id)
    return chat.id


def normal(chat: WholeChat | None) -> WholeChat:
    """The chat with ids that do not depend on where it is stored."""
    assert chat is not None
    numbers: dict[int | None, int | None] = {None: None}
    messages: list[StoredMessage] = []
    for number, message in enumerate(chat.messages, start=1):
        numbers[message.id] = number
        parent_id = numbers[message.parent_id]
        messages.append(dataclasses.replace(message, id=number, chat_id="", parent_id=parent_id))
    summary = dataclasses.replace(chat.summary, id="")
    return WholeChat(summary, chat.options, numbers[chat.head_id], tuple(messages))


def finite(chat: WholeChat) -> WholeChat:
    """The chat as JSON can say it."""
    return dataclasses.replace(
        chat,
        messages=tuple(
            dataclasses.replace(message, numbers=dataclasses.replace(message.numbers, ttft_ms=None))
            if message.numbers
            else message
            for message in chat.messages
        ),
    )
