"""What the user is told about answers: why one ended early, why there are not as many as wished.

Events of the engine go in, `Notice`s come out. Knows nothing about stores.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.services.notice import Notice, NoticeAction
from engine.protocol import FinishReason


def notice_of_ending(reason: FinishReason, chat_id: str) -> Notice | None:
    """What to say when a reply ended for `reason`; None where it speaks for itself."""
    match reason:
        case FinishReason.CONTEXT_FULL:
            sentence = _tr(
                "This chat has filled its context, and its policy is to stop there. Nothing was lost: "
                "let the oldest messages leave the model's view, or choose a larger context."
            )
            return Notice(sentence, action=NoticeAction.GO_ON_ENDLESS, chat_id=chat_id)
        case FinishReason.ERROR:
            sentence = _tr("The engine could not go on with this reply. The text so far is kept: ask again.")
            return Notice(sentence, chat_id=chat_id)
        case _:
            return None


def all_the_same(chat_id: str) -> Notice:
    """Why several answers were wished for and one is written."""
    sentence = _tr(
        "At temperature 0 all answers are the same, so one is written. To choose among several, raise the "
        "temperature in the settings or in this chat's options."
    )
    return Notice(sentence, chat_id=chat_id, calm=True)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Answering", text)
