"""Stored messages -> the messages that the engine is asked to answer, and back.

Pure; knows nothing about Qt, stores or templates.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from app.data.attachment_text import with_attachments
from app.data.stored_message import StoredMessage
from app.item_models.sight import Sight
from engine.protocol import CacheView, Message, Role

StoredIds = tuple[tuple[int, ...], ...]
"""For each message that was sent, the ids of the stored ones in it; none for the system prompt."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent, and where each part of it came from."""

    messages: tuple[Message, ...]
    ids: StoredIds


def prompt_of(stored: Iterable[StoredMessage], system: str = "") -> Prompt:
    """The chat as the model shall see it: no empty replies, and speakers take turns.

    A reply that never began leaves two messages of the user side by side; many chat templates refuse
    that, so they become one, with an empty line between, pinned if either is.
    """
    messages, ids = [], []
    if system.strip():
        messages.append(Message(Role.SYSTEM, system))
        ids.append(tuple[int, ...]())
    spoken = (message for message in stored if message.content or message.attachments)
    for role, group in itertools.groupby(spoken, key=lambda message: message.role):
        parts = list(group)
        content = "\n\n".join(with_attachments(part.content, part.attachments) for part in parts)
        messages.append(Message(role, content, pinned=any(part.pinned for part in parts)))
        ids.append(tuple(part.id for part in parts))
    return Prompt(tuple(messages), tuple(ids))


def sight_of(view: CacheView, ids: StoredIds) -> Sight:
    """What `view` says, in terms of the stored messages that were sent as `ids`."""
    end = len(ids) if view.first_seen is None else view.first_seen
    above = [stored for part in ids[:end] for stored in part]
    still_seen = frozenset(stored for index in view.still_seen if index < end for stored in ids[index])
    n_unseen = len(above) - len(still_seen)
    below = next((stored for part in ids[end:] for stored in part), None)
    return Sight(
        line_at=(below or above[-1] + 1) if n_unseen else None,
        n_unseen=n_unseen,
        n_above=len(above),
        still_seen=still_seen,
        partly=below if view.partly else None,
        refused_pins=frozenset(stored for index in view.refused_pins for stored in ids[index]),
        is_forecast=view.is_forecast,
    )
