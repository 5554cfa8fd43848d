"""One reply in the making: its sampler, its text, and the figures of its turn.

Sampled tokens go in, text that may be shown comes out, and the reply knows when it has to end.
Times are the worker's own, from `time.perf_counter`. Knows nothing about the cache.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence as Many

from engine.chat.text_stream import TextStream
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.protocol import (
    ErrorReport,
    Finished,
    FinishReason,
    Generate,
    PrefillProgress,
    Role,
    TurnStats,
)
from engine.thinking import ThoughtWatch


class Reply:
    """The state of one `Generate` from its receipt to its end. `close` frees the sampler.

    `index` is that of the reply's message in the chat, `before` its text that it goes on from.
    `reused`, `prefilled`, `evicted` and `generated` count tokens of this turn; of the reused ones, `restored`
    came from saved KV and `shared` from another sequence. `shifted` and
    `reevaluated_because` tell what became of the cells. `reason` is set once the reply has to end.
    """

    def __init__(self, request: Generate, model: Model) -> None:
        self.request = request
        goes_on = bool(request.messages) and request.messages[-1].role is Role.ASSISTANT
        self.index = len(request.messages) - goes_on
        self.before = request.messages[-1].content if goes_on else ""
        self._model = model
        self._banned = model.end_of_generation_tokens() if request.ignore_eos else ()
        self.sampler = Sampler(request.sampling, model.n_vocab, self._banned)
        self.stream = TextStream(request.stop)
        self.reason: FinishReason | None = None
        self.shifted = False
        self.reevaluated_because: str | None = None
        self.reused = self.prefilled = self.evicted = self.generated = 0
        self.restored = self.shared = 0
        self._bytes = bytearray()
        self._ends = [0]  # where the tokens' bytes begin in `_bytes`, and where each token's end
        self._thought = ThoughtWatch()
        self._thought.push(self.before)
        self._thought_seconds: float | None = None
        self._received = time.perf_counter()
        self._first_token: float | None = None
        self._prefill_seconds = 0.0
        self._decode_seconds = 0.0
        self._plain_seconds = 0.0
        self._n_decoded = 0
        self._n_drafted = self._n_accepted = 0

    def close(self) -> None:
        """Free the sampler."""
        self.sampler.close()

    @property
    def decoding(self) -> bool:
        """True from the first token on."""
        return self._first_token is not None

    # --- figures ---

    def count_prefill(self, tokens: int, seconds: float) -> None:
        """`tokens` of the prompt were read in `seconds`."""
        self.prefilled += tokens
        self._prefill_seconds += seconds

    def count_decode(self, tokens: int, seconds: float, plain_seconds: float) -> None:
        """`tokens` were sampled after the first one, in `seconds`; without drafts each takes `plain_seconds`.

        No tokens: what had left the cache was read again.
        """
        self._n_decoded += tokens
        self._decode_seconds += seconds
        self._plain_seconds += max(1, tokens) * plain_seconds

    def count_draft(self, n_drafted: int, n_accepted: int) -> None:
        """So many tokens were drafted for one step, and so many of them were right."""
        self._n_drafted += n_drafted
        self._n_accepted += n_accepted

    @property
    def ttft_ms(self) -> float | None:
        """Milliseconds from receipt to the first token."""
        return (self._first_token - self._received) * 1000 if self._first_token else None

    @property
    def prefill_tps(self) -> float | None:
        """Prompt tokens a second, without waiting or eviction."""
        return _rate(self.prefilled, self._prefill_seconds)

    @property
    def decode_tps(self) -> float | None:
        """Generated tokens a second, sampling and eviction included, the prompt excluded."""
        return _rate(self._n_decoded, self._decode_seconds)

    def stats(self, cells_used: int, cells: int, first_seen: int | None) -> TurnStats:
        """The turn's numbers, together with those of the cache as it is now."""
        return TurnStats(
            tokens_prompt=self.reused + self.prefilled,
            tokens_reused=self.reused,
            tokens_prefilled=self.prefilled,
            tokens_generated=self.generated,
            tokens_evicted=self.evicted,
            ttft_ms=self.ttft_ms,
            prefill_tps=self.prefill_tps,
            decode_tps=self.decode_tps,
            kv_cells_used=cells_used,
            kv_cells=cells,
            shifted=self.shifted,
            reevaluated_because=self.reevaluated_because,
            resident_from_message=first_seen,
            thinking_ms=None if self._thought_seconds is None else self._thought_seconds * 1000,
            tokens_restored=self.restored,
            tokens_shared=self.shared,
            tokens_drafted=self._n_drafted,
            tokens_accepted=self._n_accepted,
            draft_gain=self._plain_seconds / self._decode_seconds if self._n_drafted else None,
        )

    def progress(self, n_left: int) -> PrefillProgress:
        """How far the prompt is read, of which `n_left` tokens are not."""
        seconds = n_left * self._prefill_seconds / self.prefilled if self.prefilled else None
        return PrefillProgress(self.request.request_id, self.prefilled, self.prefilled + n_left, seconds)

    def finished(self, stats: TurnStats, error: ErrorReport | None = None) -> Finished:
        """The event that ends it."""
        reason = self.reason or FinishReason.ERROR
        return Finished(self.request.request_id, reason, self.stream.text, stats, error)

    # --- tokens ---

    def show_prompt(self, ids: Many[int]) -> None:
        """Let the repetition penalty see the end of the prompt, as it sees the reply."""
        self.sampler.accept(ids[max(0, len(ids) - self.request.sampling.repeat_last_n) :])

    def take(self, token: int) -> str:
        """Account for a sampled token; returns the text that may be shown now.

        Sets `reason` if the reply ends with it. A token that ends the generation is not counted.
        """
        if self._first_token is None:
            self._first_token = time.perf_counter()
        if self._model.is_end_of_generation(token):
            return self.end(FinishReason.STOP)
        self.generated += 1
        piece = self._model.piece(token)
        self._bytes += piece
        self._ends.append(len(self._bytes))
        text = self.stream.push(piece)
        self._follow_thought(text)
        if self.stream.stopped:
            return text + self.end(FinishReason.STOP)
        if self.request.max_tokens is not None and self.generated >= self.request.max_tokens:
            return text + self.end(FinishReason.LENGTH)
        return text

    def resume(self, half_character: bytes) -> None:
        """The tokens that this reply goes on from ended with these bytes, which were not shown."""
        self._bytes += half_character
        self._ends = [len(half_character)]
        self.stream.push(half_character)

    @property
    def half_character(self) -> bytes:
        """The bytes at the end of the tokens that are not shown, for want of the rest of a character."""
        return b"" if self.stream.stopped else bytes(self._bytes[len(self._shown) :])

    @property
    def n_surplus(self) -> int | None:
        """How many of the last tokens have to go so that the others say just the text.

        Half a character may stand behind the text. None: the text ends inside of a token.
        """
        if not self._bytes.startswith(self._shown):
            return None  # bytes that are no UTF-8 are shown as U+FFFD
        if not self.stream.stopped:
            return 0
        count = bisect_right(self._ends, len(self._shown))
        is_border = count > 0 and self._ends[count - 1] == len(self._shown)
        return len(self._ends) - count if is_border else None

    @property
    def _shown(self) -> bytes:
        return self.stream.text.encode("utf-8", "replace")

    def end(self, reason: FinishReason) -> str:
        """End the reply; returns the text that was held back until now."""
        self.reason = reason
        text = self.stream.finish()
        self._follow_thought(text)
        return text

    def _follow_thought(self, text: str) -> None:
        """Measure up to the token that ends the thought, or up to the last one while it is open."""
        if self._thought.is_over:
            return
        self._thought.push(text)
        if self._first_token and (self._thought.is_over or (self._thought.is_open and self.reason)):
            self._thought_seconds = time.perf_counter() - self._first_token


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if count and seconds > 0 else None
