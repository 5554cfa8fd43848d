"""A batch: the tokens of one decode, each with its position and its sequence."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import llama_cpp.llama_cpp as llama


class Batch:
    """Tokens for one decode; reused, so that a step allocates nothing."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._batch = llama.llama_batch_init(capacity, 0, 1)
        # The same arrays, but ones that take many values at once.
        self._tokens, self._positions, self._n_seq_ids = (
            (ctypes.c_int32 * capacity).from_address(ctypes.addressof(pointer.contents))
            for pointer in (self._batch.token, self._batch.pos, self._batch.n_seq_id)
        )
        self._outputs = (ctypes.c_int8 * capacity).from_address(ctypes.addressof(self._batch.logits.contents))
        self._seq_ids = [-1] * capacity  # what each place holds; each lies somewhere else
        self.clear()

    def clear(self) -> None:
        """Take all tokens out."""
        self._batch.n_tokens = 0

    def __len__(self) -> int:
        return int(self._batch.n_tokens)

    def add(self, token: int, position: int, seq_id: int, output: bool) -> int:
        """Append a token; with `output` its logits are kept. Returns its index for the sampler."""
        batch, index = self._batch, self._batch.n_tokens
        batch.token[index] = token
        batch.pos[index] = position
        batch.n_seq_id[index] = 1
        self._put_seq_id(index, seq_id)
        batch.logits[index] = output
        batch.n_tokens = index + 1
        return int(index)

    def extend(self, tokens: Sequence[int], position: int, seq_id: int, output: bool) -> int:
        """Append tokens at `position` and those that follow; with `output` the last one's logits are kept.

        Returns the last one's index. Takes a tenth of the time of one `add` for each.
        """
        start, n_tokens = self._batch.n_tokens, len(tokens)
        end = start + n_tokens
        self._tokens[start:end] = list(tokens)
        self._positions[start:end] = list(range(position, position + n_tokens))
        self._n_seq_ids[start:end] = [1] * n_tokens
        self._outputs[start:end] = [0] * n_tokens
        if self._seq_ids[start:end] != [seq_id] * n_tokens:
            for index in range(start, end):
                self._put_seq_id(index, seq_id)
        self._batch.logits[end - 1] = output
        self._batch.n_tokens = end
        return int(end - 1)

    def _put_seq_id(self, index: int, seq_id: int) -> None:
        if self._seq_ids[index] != seq_id:
            self._seq_ids[index] = seq_id
            self._batch.seq_id[index][0] = seq_id

    @property
    def raw(self) -> object:
        """llama.cpp's struct, for `Context.decode`."""
        return self._batch

    def close(self) -> None:
        """Free the arrays."""
        llama.llama_batch_free(self._batch)
