"""Messages as they are before they are stored: without an id, with clean texts and the present time.

Texts go in, values come out. Knows nothing about the database.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from app.data.message_text import clean_text
from app.data.stored_message import Attachment, MessageState, StoredMessage
from engine.protocol import Role

NO_ID = 0
"""Of a message that is not inserted yet."""


def new_question(
    chat_id: str, parent_id: int | None, content: str, attachments: Sequence[Attachment]
) -> StoredMessage:
    """What the user wrote below `parent_id`."""
    return StoredMessage(
        *(NO_ID, chat_id, Role.USER, clean_text(content), MessageState.COMPLETE, time.time()),
        attachments=tuple(Attachment(clean_text(file.name), clean_text(file.text)) for file in attachments),
        parent_id=parent_id,
    )


def new_reply(question: StoredMessage, model: str | None) -> StoredMessage:
    """An empty reply to `question` that is about to be written."""
    return StoredMessage(
        *(NO_ID, question.chat_id, Role.ASSISTANT, "", MessageState.STREAMING, time.time()),
        model=clean_text(model) if model else None,
        parent_id=question.id,
    )
