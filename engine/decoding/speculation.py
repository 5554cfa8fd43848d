"""Speculation: which tokens are decoded ahead of the model's word for them, and what is learned from it.

Before a batch it answers a draft for each sequence, most often none; after the decode it is told what came of
it. Drafts come from the chat itself where its end stood before, else from a draft model, if there is one;
each of the two has its own record and stops by itself where it does not pay. Drafts never make room for
themselves: they use cells that are free, and end before the reply must, so that all else happens as without
them. Knows nothing about sampling.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence as Many
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from engine.decoding.draft_length import Acceptance, Prospect, Purse, best_length
from engine.decoding.prompt_lookup import PromptLookup
from engine.decoding.reply import Reply
from engine.decoding.sequence import Sequence
from engine.decoding.step_costs import StepCosts
from engine.decoding.verification import Taken
from engine.llama.context import Context
from engine.llama.draft_model import DraftModel
from engine.llama.model import Model
from engine.protocol import MOST_DRAFTED

_MATCHED = (2, 3, 5, 9, 17, 33)
_EXPECTED = (0.3, 0.45, 0.65, 0.8, 0.9, 0.95)
"""How likely the next token is again what it was, by how many tokens before it agree; until more is known."""
_EXPECTED_OF_MODEL = 0.7
_MODEL_SHARE = 0.25
"""What one token of the draft model takes of a step of the model, until it was measured."""
_READ_BESIDE_REPLY = 64
"""Tokens that the draft model reads in one step while a reply waits for it."""
_MOST_WITHOUT_PLAIN = 24
"""Steps with drafts, before one without tells again what that takes."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens to decode ahead, and what learns from their fate. `seconds`: what finding them took."""

    ids: tuple[int, ...]
    acceptance: Acceptance
    purse: Purse
    seconds: float = 0.0


class Speculation:
    """Drafts for the sequences of one context; `draft_model` None leaves it to the chat itself.

    `most_exact`: the most tokens of a batch that are computed as each of them alone, None for any number.
    """

    def __init__(
        self,
        model: Model,
        context: Context,
        draft_model: DraftModel | None = None,
        most_exact: int | None = None,
    ) -> None:
        self._model = model
        self._most_exact = context.n_batch if most_exact is None else most_exact
        self._draft_model = draft_model
        self._costs = StepCosts()
        # What these caches forget for a token that comes they do not get back when it is taken away again.
        self._is_possible = not model.has_recurrent_state and (not model.n_swa or context.swa_full)
        self._last_position = max(model.n_ctx_train, context.n_ctx)
        self._lookups: WeakKeyDictionary[Reply, PromptLookup] = WeakKeyDictionary()
        self._of_matches = [Acceptance(expected) for expected in _EXPECTED]
        self._of_model = Acceptance(_EXPECTED_OF_MODEL)
        self._lookup_purse, self._model_purse = Purse(), Purse()
        self._n_without_plain = 0
        self._n_replies = self._n_left = 0
        self._drafts: dict[int, Draft] = {}
        self.seconds = 0.0
        """What finding drafts for the present batch took."""

    # --- before a decode ---

    def begin(self, active: Many[Sequence], n_free_cells: int, n_places: int) -> None:
        """A batch of `n_places` is filled for the `active` sequences; `n_free_cells` are free."""
        self._drafts, self.seconds = {}, 0.0
        are_all_writing = all(s.reply and s.reply.decoding and s.n_pending == 1 for s in active)
        self._n_replies = len(active) if are_all_writing else 0
        n_coming = sum(sequence.n_pending for sequence in active)
        is_due = self._n_without_plain >= _MOST_WITHOUT_PLAIN
        can_draft = self._is_possible and self._costs.knows(self._n_replies) and not is_due
        # A larger batch would be rounded otherwise, and the text might be another than without drafts.
        n_room = min(n_free_cells, n_places, self._most_exact) - n_coming
        self._n_left = min(MOST_DRAFTED, n_room) if can_draft else 0

    def draft(self, sequence: Sequence) -> tuple[int, ...]:
        """What to decode ahead of `sequence`, whose next token is pending; empty where it would not pay."""
        started = time.perf_counter()
        draft = self._find(sequence)
        self.seconds += time.perf_counter() - started
        if draft is None:
            return ()
        self._n_left -= len(draft.ids)
        self._drafts[sequence.seq_id] = draft
        return draft.ids

    def _find(self, sequence: Sequence) -> Draft | None:
        reply, ledger = sequence.reply, sequence.ledger
        if self._n_left <= 0 or reply is None or not reply.request.speculate or sequence.n_pending != 1:
            return None
        limit = min(self._n_left, self._last_position - ledger.next_position - 1)
        if reply.request.max_tokens is not None:
            limit = min(limit, reply.request.max_tokens - reply.generated - 1)
        if limit <= 0:
            return None
        return self._look_up(reply, ledger.ids, limit) or self._ask_model(sequence, limit)

    def _look_up(self, reply: Reply, ids: Many[int], limit: int) -> Draft | None:
        lookup = self._read(reply, ids)
        if lookup is None or not lookup.n_matched:
            return None
        acceptance = self._of_matches[bisect_right(_MATCHED, lookup.n_matched) - 1]
        prospect = Prospect(acceptance.likelihood, limit, self._n_replies - 1)
        length = best_length(prospect, self._costs, self._lookup_purse)
        if not length:
            acceptance.fade(1)
            return None
        return self._usable(lookup.draft(ids, length), acceptance, self._lookup_purse)

    def _read(self, reply: Reply, ids: Many[int]) -> PromptLookup | None:
        """The reply's index with all of `ids`; None while it has not taken them in."""
        lookup = self._lookups.get(reply)
        if lookup is None:
            lookup = self._lookups[reply] = PromptLookup(len(ids))
        return lookup if lookup.read(ids) else None

    def _ask_model(self, sequence: Sequence, limit: int) -> Draft | None:
        drafter, plain = self._draft_model, self._costs.seconds(self._n_replies)
        if drafter is None or self._model_purse.is_empty:
            return None
        started, ids = time.perf_counter(), sequence.ledger.ids
        if not drafter.read(sequence.seq_id, ids, _READ_BESIDE_REPLY):
            self._model_purse.settle(started - time.perf_counter(), plain)
            return None
        seconds_each = drafter.seconds_each or _MODEL_SHARE * plain
        prospect = Prospect(self._of_model.likelihood, limit, self._n_replies - 1, seconds_each)
        length = best_length(prospect, self._costs, self._model_purse)
        if not length:
            self._of_model.fade(1)
            self._model_purse.settle(started - time.perf_counter(), plain)
            return None
        found = drafter.draft(sequence.seq_id, ids, length)
        seconds = time.perf_counter() - started
        return self._usable(found, self._of_model, self._model_purse, seconds)

    def _usable(
        self, ids: Many[int], acceptance: Acceptance, purse: Purse, seconds: float = 0.0
    ) -> Draft | None:
        """A draft of what comes before the end of the turn: behind that nothing is said."""
        usable: list[int] = []
        for token in ids:
            if token >= self._model.n_vocab or self._model.is_end_of_generation(token):
                break
            usable.append(token)
        return Draft(tuple(usable), acceptance, purse, seconds) if usable else None

    # --- after it ---

    def learn(self, taken: Many[Taken], seconds: float) -> float:
        """What came of the batch, which took `seconds`, drafts included.

        Returns the seconds in which each reply would have had one token without drafts.
        """
        n_tokens = sum(one.share.n_tokens for one in taken)
        n_drafted = sum(len(one.share.draft) for one in taken)
        for one in taken:
            if one.is_prompt and one.share.sequence.reply:
                self._read_prompt(one.share.sequence, one.share.sequence.reply)
        if all(one.is_prompt for one in taken):
            self._costs.measured_prompt(n_tokens, seconds)
        elif n_tokens - n_drafted <= self._n_replies:
            self._costs.measured(n_tokens, seconds - self.seconds, is_plain=not n_drafted)
        if not n_drafted:
            self._n_without_plain = 0
            plain_seconds = seconds - self.seconds
            self._lookup_purse.went_plain(plain_seconds)
            self._model_purse.went_plain(plain_seconds)
            return plain_seconds
        self._n_without_plain += 1
        return self._judge(taken, n_tokens, n_drafted)

    def _judge(self, taken: Many[Taken], n_tokens: int, n_drafted: int) -> float:
        n_replies = n_tokens - n_drafted
        plain = self._costs.seconds(n_replies)
        each = (self._costs.seconds(n_tokens) - plain) / n_drafted
        for one in taken:
            draft = self._drafts.get(one.share.sequence.seq_id)
            if draft is None:
                continue
            draft.acceptance.learn(one.n_judged, one.n_accepted)
            lost = each * len(draft.ids) + draft.seconds
            draft.purse.settle(one.n_accepted * plain / n_replies - lost, plain)
            if not one.has_kept_cells:
                self._is_possible = False
        return plain

    def _read_prompt(self, sequence: Sequence, reply: Reply) -> None:
        """Take in a prompt beside the model, so that the first draft does not wait for it."""
        if not (self._is_possible and reply.request.speculate):
            return
        self._read(reply, sequence.ledger.ids)
        if self._draft_model and not self._model_purse.is_empty:
            self._draft_model.read(sequence.seq_id, sequence.ledger.ids[: sequence.ledger.end_decoded])
