"""One thing that the user must be told, with the next sensible step.

Services make notices, views show them. This module knows nothing about either.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class NoticeAction(enum.Enum):
    """What the button beside a notice does."""

    LOAD_AGAIN = enum.auto()  # start the model that stopped, once more
    CHOOSE_MODEL = enum.auto()  # open the list of models
    GO_ON_ENDLESS = enum.auto()  # let the oldest messages leave the model's view
    UNDO = enum.auto()  # bring the message back that was taken out of the open chat
    RESTORE_CHAT = enum.auto()  # bring the chat back that was deleted last
    LOAD_FOR_CHAT = enum.auto()  # load the model again with the open chat's options
    STOP_BENCHMARK = enum.auto()  # end what is measured, so that messages are sent again
    SHOW_PLAN = enum.auto()  # show what the model that was asked for needs of memory


@dataclass(frozen=True, slots=True)
class Notice:
    """`message` is one clear sentence; `detail` is for the curious. `chat_id` None concerns all chats.

    A `calm` one tells what is as it should be.
    """

    message: str
    detail: str = ""
    action: NoticeAction | None = None
    chat_id: str | None = None
    calm: bool = False
