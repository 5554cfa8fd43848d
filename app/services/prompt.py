"""Stored messages -> the messages that the engine is asked to answer.

Pure; knows nothing about Qt, stores or templates.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from app.data.chat_store import StoredMessage
from engine.protocol import Message


def prompt_messages(stored: Iterable[StoredMessage]) -> tuple[Message, ...]:
    """The chat as the model shall see it: no empty replies, and speakers take turns.

    A reply that never began leaves two messages of the user side by side; many chat templates refuse
    that, so they become one, with an empty line between.
    """
    spoken = (message for message in stored if message.content)
    return tuple(
        Message(role, "\n\n".join(message.content for message in group))
        for role, group in itertools.groupby(spoken, key=lambda message: message.role)
    )
