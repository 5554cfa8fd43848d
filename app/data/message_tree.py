"""The messages of one chat as a tree, by their ids.

Ids, parents and whether a message was removed go in; branches and versions come out. Ids only grow, so
a message's parent has a lower id than it: what says otherwise, or points outside, counts as a root, and
no damaged row can lead in a circle. Knows nothing about texts and the database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


class MessageTree:
    """Which message follows which; rows are (id, parent's id, whether it was removed)."""

    def __init__(self, rows: Iterable[tuple[int, int | None, bool]]) -> None:
        self._parents: dict[int, int | None] = {}
        self._removed: set[int] = set()
        self._children: defaultdict[int | None, list[int]] = defaultdict(list)
        for message_id, parent_id, is_removed in sorted(rows, key=lambda row: row[0]):
            parent = parent_id if parent_id in self._parents else None
            self._parents[message_id] = parent
            self._children[parent].append(message_id)
            if is_removed:
                self._removed.add(message_id)

    def __contains__(self, message_id: int | None) -> bool:
        return message_id in self._parents

    def branch(self, head_id: int | None) -> list[int]:
        """The ids from a root down to `head_id`, without those that were removed; empty without a head."""
        path = []
        position = head_id if head_id in self else None
        while position is not None:
            path.append(position)
            position = self._parents[position]
        return [message_id for message_id in reversed(path) if message_id not in self._removed]

    def ids(self) -> list[int]:
        """All messages, oldest first."""
        return list(self._parents)

    def without_removed(self) -> MessageTree:
        """The tree without what was removed: what followed it follows what came before it."""
        kept: dict[int, int | None] = {}  # for each message the nearest one above it that stays, or itself
        rows = []
        for message_id, parent in self._parents.items():
            above = None if parent is None else kept[parent]
            if message_id in self._removed:
                kept[message_id] = above
            else:
                kept[message_id] = message_id
                rows.append((message_id, above, False))
        return MessageTree(rows)

    def parent(self, message_id: int) -> int | None:
        """The message that this one follows; None for a first one, or one that does not exist."""
        return self._parents.get(message_id)

    def versions(self, parent_id: int | None) -> list[int]:
        """The messages that follow `parent_id` and were not removed, oldest first."""
        children = self._children.get(parent_id, ())
        return [message_id for message_id in children if message_id not in self._removed]

    def has_children(self, message_id: int) -> bool:
        """Whether any message follows this one, removed ones included."""
        return bool(self._children.get(message_id))

    def newest_below(self, message_id: int) -> int:
        """The newest message below this one that was not removed; without any, this one."""
        below = {message_id}
        newest = message_id
        for other, parent in self._parents.items():  # in the order of ids: parents before their children
            if parent in below:
                below.add(other)
                if other not in self._removed:
                    newest = other
        return newest
