"""A turn costs its own tokens, and what is in the cache is always what the ledger says."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.chat.chat_template import ChatFormat
from engine.chat.prompt import PromptBuilder
from engine.decoding.admission import Room, admit
from engine.decoding.kv_window import plan_eviction
from engine.decoding.sequence import Sequence
from engine.errors import BadRequest, PromptTooLong
from engine.llama.context import Context
from engine.protocol import Message, Role
from tests.engine.decoding.simulated import CharacterTokenizer, PlainFormat, SimulatedContext


class Chat:
    """Plays a whole chat against a simulated cache."""

    def __init__(
        self, capacity: int, system: str = "", preamble: str = "", keeps_middle: bool = False
    ) -> None:
        self.context = SimulatedContext(keeps_middle)
        self.sequence = Sequence(cast(Context, self.context), 0, "chat")
        self.prompts = PromptBuilder(cast(ChatFormat, PlainFormat(preamble)), CharacterTokenizer())
        self.room = Room(capacity, can_evict=not keeps_middle)
        self.messages = [Message(Role.SYSTEM, system)] if system else []

    def ask(self, text: str) -> int:
        """Add a user message and read it; returns how many tokens had to be decoded."""
        self.messages.append(Message(Role.USER, text))
        return self.read()

    def read(self) -> int:
        admit(self.sequence, self.messages, self.prompts, self.room)
        assert (
            self.sequence.ledger.n_resident + self.sequence.n_pending + self.room.reserve
            <= self.room.capacity
        )
        return self.context.decode(self.sequence)

    def reply(self, text: str) -> None:
        """Let the model say `text`; its last token is sampled but not decoded, as in life."""
        sequence = self.sequence
        for character in text:
            if sequence.pending:
                self._make_room()
                self.context.decode(sequence)
            sequence.ledger.append([ord(character)])
            sequence.pending = [(len(sequence.ledger) - 1, len(sequence.ledger))]
        sequence.pending = []
        sequence.seen[len(self.messages)] = Message(Role.ASSISTANT, text)
        self.messages.append(Message(Role.ASSISTANT, text))

    def _make_room(self) -> None:
        if self.sequence.ledger.n_resident + 1 > self.room.capacity:
            plan = plan_eviction(self.sequence.occupancy(self.room.capacity), 1)
            if self.room.can_evict:
                assert self.sequence.evict(plan)
            else:
                self.sequence.evict_and_evaluate_again(plan)

    def check(self) -> None:
        ledger = self.sequence.ledger
        known = {run.position + i: ledger.ids[run.start + i] for run in ledger.runs for i in range(run.size)}
        assert known == self.context.cells


def test_a_turn_decodes_only_its_own_tokens() -> None:
    chat = Chat(1000, system="be kind")
    assert chat.ask("hello") == len("S:be kind|U:hello|A:")
    chat.reply("hi there")
    # The reply's last token, what closes the reply, the message, and the opening of the next reply.
    assert chat.ask("and now?") == len("e" + "|" + "U:and now?|A:")
    assert chat.context.text() == "S:be kind|U:hello|A:hi there|U:and now?|A:"


def test_the_oldest_whole_turns_leave_and_the_system_prompt_stays() -> None:
    chat = Chat(160, system="be kind")
    for i in range(20):
        n_decoded = chat.ask(f"question {i}")
        assert i == 0 or n_decoded == len(f"U:question {i}|A:") + 2
        chat.reply(f"answer {i}")
        chat.check()
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question")
    assert "question 0|" not in seen and "U:question 19|A:answer 1" in seen


def test_the_first_four_tokens_stay_without_a_system_prompt() -> None:
    chat = Chat(100)
    for i in range(12):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    assert chat.context.text().startswith("U:qu")
    assert (chat.sequence.ledger.runs[0].start, chat.sequence.ledger.runs[0].end) == (0, 4)


def test_a_templates_own_system_prompt_is_a_sink() -> None:
    chat = Chat(120, preamble="S:built in|")
    for i in range(12):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    assert chat.context.text().startswith("S:built in|U:question")


def test_regenerating_decodes_one_token_again() -> None:
    chat = Chat(1000)
    chat.ask("hello")
    chat.reply("one answer")
    chat.messages.pop()
    assert chat.read() == 1
    assert chat.context.text() == "U:hello|A:"


def test_editing_decodes_only_what_comes_after_the_change() -> None:
    chat = Chat(1000)
    chat.ask("first")
    chat.reply("one")
    chat.ask("second question")
    chat.reply("two")
    chat.messages[2:] = [Message(Role.USER, "second thought")]
    assert chat.read() == len("thought|A:")
    assert chat.context.text() == "U:first|A:one|U:second thought|A:"


def test_a_cancelled_prompt_is_continued_where_it_stopped() -> None:
    chat = Chat(1000)
    chat.messages.append(Message(Role.USER, "a long prompt"))
    admit(chat.sequence, chat.messages, chat.prompts, chat.room)
    start, _end = chat.sequence.pending[0]
    chat.sequence.pending = [(start, start + 5)]
    chat.context.decode(chat.sequence)
    assert chat.read() == len("U:a long prompt|A:") - 5
    assert chat.context.text() == "U:a long prompt|A:"


def test_a_long_chat_that_is_opened_again_shows_the_newest_turns() -> None:
    chat = Chat(200, system="be kind")
    for i in range(100):
        chat.messages += [Message(Role.USER, f"question {i}"), Message(Role.ASSISTANT, f"answer {i}")]
    chat.ask("last")
    seen = chat.context.text()
    assert seen.startswith("S:be kind|U:question") and seen.endswith("A:answer 99|U:last|A:")
    assert len(seen) > 200 / 2
    chat.reply("yes")
    assert chat.ask("more") == len("s|U:more|A:")


def test_editing_an_evicted_message_brings_the_newest_turns_before_it_back() -> None:
    chat = Chat(160, system="be kind")
    for i in range(20):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
    chat.messages[7:] = [Message(Role.USER, "changed")]  # questions 0 to 2 stand before it
    chat.read()
    assert chat.context.text() == (
        "S:be kind|" + "".join(f"U:question {i}|A:answer {i}|" for i in range(3)) + "U:changed|A:"
    )


def test_a_message_that_cannot_fit_is_refused_with_both_counts() -> None:
    chat = Chat(100, system="be kind")
    chat.ask("hello")
    chat.reply("hi")
    before = chat.context.text()
    with pytest.raises(PromptTooLong) as caught:
        chat.ask("x" * 90)
    assert (caught.value.n_tokens, caught.value.n_free) == (len("U:|A:") + 90, 100 - 12 - len("S:be kind|"))
    assert chat.context.text() == before
    chat.messages.pop()
    assert chat.ask("still here?") == len("i|U:still here?|A:")


def test_a_system_prompt_that_cannot_fit_is_named() -> None:
    with pytest.raises(PromptTooLong, match="The system prompt has 203 tokens"):
        Chat(100, system="x" * 200).ask("hello")


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        Chat(100).ask(text)


def test_a_cache_that_keeps_its_middle_is_evaluated_again() -> None:
    chat = Chat(100, system="be kind", keeps_middle=True)
    for i in range(20):
        chat.ask(f"question {i}")
        chat.reply(f"answer {i}")
        chat.check()
        assert chat.context.text().startswith("S:be kind|U:question")
    assert chat.context.text().endswith("U:question 19|A:answer 1")


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "regenerate", "edit"]),
        st.integers(1, 60),
        st.integers(1, 90),
        st.integers(0, 50),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), st.integers(0, 25), st.integers(64, 200))
def test_ledger_and_cache_agree_whatever_is_said(
    steps: list[tuple[str, int, int, int]], keeps_middle: bool, n_system: int, capacity: int
) -> None:
    chat = Chat(capacity, system="s" * n_system, keeps_middle=keeps_middle)
    first_user = len(chat.messages)
    for number, (action, n_ask, n_reply, where) in enumerate(steps):
        answered = len(chat.messages) > first_user + 1
        if action == "regenerate" and answered:
            chat.messages.pop()
        elif action == "edit" and answered:
            turns = (len(chat.messages) - first_user) // 2
            chat.messages[first_user + 2 * (where % turns) :] = [Message(Role.USER, f"{number}" * n_ask)]
        else:
            chat.messages.append(Message(Role.USER, f"{number}" * n_ask))
        try:
            chat.read()
        except PromptTooLong:
            chat.messages.pop()
            if len(chat.messages) > first_user and chat.messages[-1].role is Role.USER:
                chat.messages.pop()
            chat.check()
            continue
        chat.check()
        seen = chat.context.text()
        assert seen.startswith("S:" + "s" * n_system + "|" if n_system else "U:")
        assert seen.endswith("U:" + chat.messages[-1].content + "|A:")
        chat.reply(f"<{number}>" * n_reply)
        chat.check()
        assert len(chat.context.cells) <= capacity
