"""A whole chat played against a simulated cache, for tests of what is kept and what is read again."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from engine.chat.chat_template import ChatFormat
from engine.chat.prompt import PromptBuilder
from engine.decoding.admission import Admitted, admit
from engine.decoding.kv_window import plan_eviction
from engine.decoding.room import Room
from engine.decoding.sequence import Sequence
from engine.llama.context import Context
from engine.protocol import CachePolicy, Message, Role
from tests.engine.decoding.simulated import CharacterTokenizer, PlainFormat, SimulatedContext


class Chat:
    """Plays a whole chat against a simulated cache."""

    def __init__(
        self,
        capacity: int,
        system: str = "",
        preamble: str = "",
        keeps_middle: bool = False,
        policy: CachePolicy | None = None,
    ) -> None:
        self.context = SimulatedContext(keeps_middle)
        self.sequence = Sequence(cast(Context, self.context), 0, "chat")
        self.prompts = PromptBuilder(cast(ChatFormat, PlainFormat(preamble)), CharacterTokenizer())
        self.room = Room(capacity, policy or CachePolicy(), can_evict=not keeps_middle)
        self.messages = [Message(Role.SYSTEM, system)] if system else []
        self.admitted = Admitted(0, None)

    def ask(self, text: str) -> int:
        """Add a user message and read it; returns how many tokens had to be decoded."""
        self.messages.append(Message(Role.USER, text))
        return self.read()

    def read(self) -> int:
        self.admitted = admit(self.sequence, self.messages, self.prompts, self.room)
        used = self.sequence.ledger.n_resident + self.sequence.n_pending
        assert used + self.room.reserve <= self.room.capacity
        return self.context.decode(self.sequence)

    def turns(self, count: int) -> None:
        for i in range(count):
            self.ask(f"question {i}")
            self.reply(f"answer {i}")

    def pin(self, index: int, pinned: bool = True) -> None:
        self.messages[index] = replace(self.messages[index], pinned=pinned)

    def reply(self, text: str) -> None:
        """Let the model say `text`; its last token is sampled but not decoded, as in life."""
        self._say(text)
        self.messages.append(Message(Role.ASSISTANT, text))
        self._settle()

    def go_on(self, text: str) -> None:
        """Let the model go on with the last reply, by `text`."""
        self.admitted = admit(self.sequence, self.messages, self.prompts, self.room)
        self._say(text)
        self.messages[-1] = replace(self.messages[-1], content=self.messages[-1].content + text)
        self._settle()

    def _say(self, text: str) -> None:
        sequence = self.sequence
        for character in text:
            if sequence.pending:
                self._make_room()
                self.context.decode(sequence)
            sequence.ledger.append([ord(character)])
            sequence.pending = [(len(sequence.ledger) - 1, len(sequence.ledger))]
        sequence.pending = []

    def _settle(self) -> None:
        sequence = self.sequence
        sequence.seen[len(self.messages) - 1] = self.messages[-1]
        sequence.ledger.spans[-1] = replace(sequence.ledger.spans[-1], text_end=len(sequence.ledger))

    def _make_room(self) -> None:
        n_coming = self.sequence.n_pending
        if self.sequence.ledger.n_resident + n_coming > self.room.capacity:
            occupancy = self.sequence.occupancy(self.room.capacity, self.room.policy.n_sinks)
            plan = plan_eviction(occupancy, n_coming)
            if self.room.keeps_cells:
                assert self.sequence.evict(plan)
            else:
                self.sequence.evict_and_evaluate_again(plan)

    def check(self) -> None:
        ledger = self.sequence.ledger
        known = {run.position + i: ledger.ids[run.start + i] for run in ledger.runs for i in range(run.size)}
        assert known == self.context.cells
