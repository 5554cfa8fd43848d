"""One reply in the making: its sampler, its text, and the figures of its turn.

Sampled tokens go in, text that may be shown comes out, and the reply knows when it has to end.
Times are the worker's own, from `time.perf_counter`. Knows nothing about the cache.
"""

from __future__ import annotations

import time
from collections.abc import Sequence as Many

from engine.chat.text_stream import TextStream
from engine.llama.model import Model
from engine.llama.sampler import Sampler
from engine.protocol import FinishReason, Generate, TurnStats


class Reply:
    """The state of one `Generate` from its receipt to its end. `close` frees the sampler.

    `reused`, `prefilled` and `evicted` count tokens of this turn; `to_prefill` is what admission
    queued. `shifted` and `reevaluated_because` tell what became of the cells. `reason` is set once the
    reply has to end.
    """

    def __init__(self, request: Generate, model: Model) -> None:
        self.request = request
        self._model = model
        self._banned = model.end_of_generation_tokens() if request.ignore_eos else ()
        self.sampler = Sampler(request.sampling, model.n_vocab, self._banned)
        self.stream = TextStream(request.stop)
        self.reason: FinishReason | None = None
        self.shifted = False
        self.reevaluated_because: str | None = None
        self.reused = self.prefilled = self.to_prefill = self.evicted = self.generated = 0
        self._bytes = bytearray()
        self._received = time.perf_counter()
        self._first_token: float | None = None
        self._prefill_seconds = 0.0
        self._decode_seconds = 0.0
        self._decode_steps = 0

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

    def count_decode(self, tokens: int, seconds: float) -> None:
        """`tokens` (0 or 1) were sampled after the first one, in `seconds`."""
        self._decode_steps += tokens
        self._decode_seconds += seconds

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
        return _rate(self._decode_steps, self._decode_seconds)

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
        )

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
        text = self.stream.push(piece)
        if self.stream.stopped:
            return text + self.end(FinishReason.STOP)
        if self.request.max_tokens is not None and self.generated >= self.request.max_tokens:
            return text + self.end(FinishReason.LENGTH)
        return text

    @property
    def is_verbatim(self) -> bool:
        """True if the text is just what the tokens say: nothing was cut off at a stop string."""
        return self.stream.text.encode("utf-8", "replace") == self._bytes

    def end(self, reason: FinishReason) -> str:
        """End the reply; returns the text that was held back until now."""
        self.reason = reason
        return self.stream.finish()


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if count and seconds > 0 else None
