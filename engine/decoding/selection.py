"""Selection: which messages of a chat a fresh cache is filled with.

The sinks (system prompt, pins) and the newest turns that fit beside them, by the same arithmetic
that evicts. Knows messages, their tokens and the capacity; not what is in any cache.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from engine.chat.prompt import PREAMBLE, Part, PromptBuilder
from engine.decoding.kv_window import Occupancy, plan_eviction
from engine.decoding.room import Room
from engine.decoding.sequence import Pins
from engine.errors import PromptTooLong
from engine.protocol import CachePolicy, Message, Role


@dataclass(frozen=True, slots=True)
class Selection:
    """`parts` in the order of the chat, the reply's last; `left_out`: read, but did not fit."""

    parts: list[Part]
    left_out: list[Part]
    pins: Pins
    n_sinks: int


def select(messages: Many[Message], prompts: PromptBuilder, room: Room) -> Selection:
    """Choose what fits into `room`.

    A reply that is to be gone on with goes without its question if both do not fit.

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
    n_sinks = _count(system) + sum(len(p.ids) for p in parts if p.message in pins.accepted)
    what = "Your message" if messages[-1].role is Role.USER else "The reply so far"
    _require_fit(n_sinks, what, _count(turns[-1]), room)
    bounds = list(accumulate(map(_count, older), initial=0))
    occupancy = Occupancy(room.capacity, n_sinks, [*pairwise(bounds), (bounds[-1], bounds[-1])])
    plan = plan_eviction(occupancy, _count(turns[-1]) + room.reserve)
    left_out = list(chain.from_iterable(older[: len(plan)]))
    kept = [part for part in parts if part not in left_out]
    return Selection(kept, left_out, pins, n_sinks)


def _candidates(messages: Many[Message], prompts: PromptBuilder, capacity: int) -> list[Part]:
    """Parts of the system prompt, the pins, and at least as many of the newest turns as fit."""
    question = max(index for index, message in enumerate(messages) if message.role is Role.USER)
    first, n_tokens = question, 0
    while first > 0 and n_tokens <= capacity:
        first -= 1
        n_tokens += prompts.count(messages[first])
    while first < question and messages[first].role is not Role.USER:
        first += 1
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
