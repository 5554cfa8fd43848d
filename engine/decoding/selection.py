"""Selection: which messages of a chat a fresh cache is filled with.

The sinks (system prompt, pins) and the newest turns that fit beside them, the oldest of these cut if
it is too long, by the same arithmetic that evicts. Knows messages, their tokens and the capacity;
not what is in any cache.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from engine.chat.prompt import PREAMBLE, Part, PromptBuilder
from engine.decoding.kv_window import Interval, Occupancy, plan_eviction
from engine.decoding.room import Room
from engine.decoding.sequence import Pins
from engine.errors import PromptTooLong
from engine.protocol import CachePolicy, Message, Role


@dataclass(frozen=True, slots=True)
class Selection:
    """`parts` in the order of the chat, the reply's last; `left_out`: turns that do not fit.

    `sinks`: messages of which all tokens stay. `unread`: the oldest tokens of a turn that is too long, as
    offsets in the tokens of all `parts`.
    """

    parts: list[Part]
    left_out: list[Part]
    pins: Pins
    sinks: frozenset[int]
    unread: tuple[Interval, ...] = ()

    @property
    def n_sinks(self) -> int:
        """Tokens of the sinks."""
        return sum(len(part.ids) for part in self.parts if part.message in self.sinks)

    @property
    def n_read(self) -> dict[int, int]:
        """For each message of `parts`, how many of its tokens come into the cache."""
        ends = list(accumulate((len(part.ids) for part in self.parts), initial=0))
        return {
            part.message: end - start - sum(_overlap((start, end), cut) for cut in self.unread)
            for part, (start, end) in zip(self.parts, pairwise(ends), strict=True)
        }


def select(messages: Many[Message], prompts: PromptBuilder, room: Room) -> Selection:
    """Choose what fits into `room`.

    A reply that is to be gone on with goes without its question, or with the end of a long one, if both
    do not fit.

    Raises PromptTooLong if the system prompt or the last turn cannot fit, TemplateError if the
    template refuses the chat.
    """
    parts = _candidates(messages, prompts, room.capacity)
    system = [part for part in parts if _is_system(part, messages, room.policy)]
    *older, last = _turns([part for part in parts if part not in system], messages)
    try:
        return _choose(parts, system, [*older, last], messages, room)
    except PromptTooLong:
        if messages[-1].role is not Role.ASSISTANT or len(last) == 1:
            raise
    return _choose(parts, system, [*older, last[:-1], last[-1:]], messages, room)


def _choose(
    parts: Many[Part], system: Many[Part], turns: Many[list[Part]], messages: Many[Message], room: Room
) -> Selection:
    """The last of `turns` and as many of the newest others as fit beside what stays."""
    pins = _accept_pins(turns[:-1], messages, room.max_sinks - _count(system))
    older = [[part for part in turn if part.message not in pins.accepted] for turn in turns[:-1]]
    sinks = pins.accepted.union(part.message for part in system)
    n_sinks = _count([part for part in parts if part.message in sinks])
    what = "Your message" if messages[-1].role is Role.USER else "The reply so far"
    _require_fit(n_sinks, what, _count(turns[-1]), room)
    bounds = list(accumulate(map(_count, older), initial=0))
    occupancy = Occupancy(room.capacity, n_sinks, [*pairwise(bounds), (bounds[-1], bounds[-1])])
    plan = plan_eviction(occupancy, _count(turns[-1]) + room.reserve)
    if not plan:
        return Selection(list(parts), [], pins, sinks)
    n_lost = plan[-1][1]  # of the older turns' tokens, the oldest; the last turn that loses some may be cut
    n_left_out = bisect_right(bounds, n_lost) - 1
    left_out = list(chain.from_iterable(older[:n_left_out]))
    kept = [part for part in parts if part not in left_out]
    n_cut = n_lost - bounds[n_left_out]
    unread = _oldest(kept, older[n_left_out], n_cut, room.policy.n_sinks) if n_cut else []
    if sum(end - start for start, end in unread) < n_cut:  # nothing of it but first tokens would stay
        left_out += older[n_left_out]
        kept, unread = [part for part in parts if part not in left_out], []
    return Selection(kept, left_out, pins, sinks, tuple(unread))


def _oldest(parts: Many[Part], turn: Many[Part], count: int, n_sinks: int) -> list[Interval]:
    """The oldest `count` tokens of `turn` behind the first `n_sinks`, as offsets in those of all `parts`."""
    found: list[Interval] = []
    end = 0
    for part in parts:
        start, end = end, end + len(part.ids)
        first = max(start, n_sinks)
        last = min(end, first + count)
        if part in turn and first < last:
            found.append((first, last))
            count -= last - first
    return found


def _overlap(one: Interval, other: Interval) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _candidates(messages: Many[Message], prompts: PromptBuilder, capacity: int) -> list[Part]:
    """Parts of the system prompt, the pins, and at least as many of the newest turns as fit in part."""
    question = max(index for index, message in enumerate(messages) if message.role is Role.USER)
    first, n_tokens = question, 0
    while first > 0 and (n_tokens <= capacity or messages[first].role is not Role.USER):
        first -= 1
        n_tokens += prompts.count(messages[first])
    older = [i for i in range(first) if messages[i].pinned or messages[i].role is Role.SYSTEM]
    shown = [*older, *range(first, len(messages))]
    parts = prompts.whole([messages[index] for index in shown])
    indexes = [*shown, len(messages)]
    return [Part(indexes[part.message] if part.message != PREAMBLE else PREAMBLE, part.ids) for part in parts]


def _is_system(part: Part, messages: Many[Message], policy: CachePolicy) -> bool:
    is_system = part.message == PREAMBLE or (part.message == 0 and messages[0].role is Role.SYSTEM)
    return is_system and policy.pin_system


def _turns(parts: Many[Part], messages: Many[Message]) -> list[list[Part]]:
    """Parts grouped by turn; the last group is the message to answer and what there is of the reply."""
    turns: list[list[Part]] = [[]]
    for part in parts:
        is_user = 0 <= part.message < len(messages) and messages[part.message].role is Role.USER
        if turns[-1] and is_user:
            turns.append([])
        turns[-1].append(part)
    return turns


def _accept_pins(turns: Many[list[Part]], messages: Many[Message], n_free: int) -> Pins:
    """Pins in order, as long as they leave half of the window."""
    accepted, refused = set[int](), set[int]()
    for part in chain.from_iterable(turns):
        if part.message < 0 or not messages[part.message].pinned:
            continue
        if len(part.ids) <= n_free:
            accepted.add(part.message)
            n_free -= len(part.ids)
        else:
            refused.add(part.message)
    return Pins(frozenset(accepted), frozenset(refused))


def _require_fit(n_sinks: int, what: str, n_current: int, room: Room) -> None:
    if room.free_beside(n_sinks) <= 0:
        raise PromptTooLong("The system prompt", n_sinks, room.free_beside(0) - 1)
    if n_current > room.free_beside(n_sinks):
        raise PromptTooLong(what, n_current, room.free_beside(n_sinks))


def _count(parts: Many[Part]) -> int:
    return sum(len(part.ids) for part in parts)
