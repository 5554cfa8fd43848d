"""A context: the KV cache of a model and the decode over it.

Batches of (token, position, sequence) go in, logits stay inside for the sampler, and cells of the
cache are removed and moved. Every return value of llama.cpp is passed on; whether a removal or a
shift makes sense is decided elsewhere. Knows nothing about text or chats.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

import llama_cpp.llama_cpp as llama

from engine.errors import BadRequest, ModelLoadError
from engine.llama.model import Model, last_error

_KV_SIZE = re.compile(r"llama_kv_cache\w*: size = +([0-9.]+) MiB")
_MAX_N_CTX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ContextParams:
    """How large a context is made.

    `n_ctx` cells are shared by up to `n_seq_max` sequences. `n_batch` is the most tokens that one
    decode takes. `swa_full` keeps all cells of sliding-window layers, which eviction needs.
    """

    n_ctx: int
    n_seq_max: int = 1
    n_threads: int = 1
    n_batch: int = 512
    swa_full: bool = True


class Batch:
    """Tokens for one decode; reused, so that a step allocates nothing."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._batch = llama.llama_batch_init(capacity, 0, 1)
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
        batch.seq_id[index][0] = seq_id
        batch.logits[index] = output
        batch.n_tokens = index + 1
        return int(index)

    @property
    def raw(self) -> object:
        """llama.cpp's struct, for `Context.decode`."""
        return self._batch

    def close(self) -> None:
        """Free the arrays."""
        llama.llama_batch_free(self._batch)


class Context:
    """The KV cache of `n_ctx` cells (llama.cpp rounds up to 256) and its compute buffers.

    Raises ModelLoadError if llama.cpp cannot make it, most often for want of memory.
    """

    def __init__(self, model: Model, params: ContextParams) -> None:
        if not 0 < params.n_ctx <= _MAX_N_CTX:
            raise BadRequest(f"The context size must be between 1 and {_MAX_N_CTX:,}, not {params.n_ctx:,}.")
        model.backend.log.clear()
        model.backend.errors.clear()
        self._handle = llama.llama_init_from_model(model.handle, _raw_params(params))
        if not self._handle:
            raise ModelLoadError(
                f"{model.path.name}: no context of {params.n_ctx:,} tokens could be made "
                f"({last_error(model.backend)}). Choose a smaller context."
            )
        self._memory = llama.llama_get_memory(self._handle)
        self.n_ctx = int(llama.llama_n_ctx(self._handle))
        self.n_batch = int(llama.llama_n_batch(self._handle))
        self.n_threads = params.n_threads
        self.kv_bytes = _kv_bytes(model)

    def close(self) -> None:
        """Free the cache and the buffers."""
        if self._handle:
            llama.llama_free(self._handle)
            self._handle = None

    @property
    def handle(self) -> object:
        """llama.cpp's pointer, for the sampler."""
        return self._handle

    def decode(self, batch: Batch) -> int:
        """Evaluate the batch; waits for the result, so that its time can be measured.

        Returns 0 for success, 1 if no cells were free, other values for failures; the cells of the
        batch may then be in the cache or not.
        """
        status = int(llama.llama_decode(self._handle, batch.raw))
        llama.llama_synchronize(self._handle)
        return status

    # --- the cache; positions are half-open [start, end), end -1 is the end of the sequence ---

    @property
    def can_shift(self) -> bool:
        """llama.cpp's own word on moving positions; necessary, not sufficient."""
        return bool(llama.llama_memory_can_shift(self._memory))

    def remove(self, seq_id: int, start: int, end: int = -1) -> bool:
        """Free the cells of these positions. False: this cache cannot, and nothing was removed."""
        return bool(llama.llama_memory_seq_rm(self._memory, seq_id, start, end))

    def shift(self, seq_id: int, start: int, end: int, delta: int) -> None:
        """Move positions by `delta`; the rotation is applied at the next decode."""
        llama.llama_memory_seq_add(self._memory, seq_id, start, end, delta)

    def position_range(self, seq_id: int) -> tuple[int, int]:
        """Smallest and largest position of a sequence; (-1, -1) if it is empty."""
        return (
            int(llama.llama_memory_seq_pos_min(self._memory, seq_id)),
            int(llama.llama_memory_seq_pos_max(self._memory, seq_id)),
        )

    # --- state ---

    def save(self, seq_id: int) -> bytes:
        """The cells of a sequence with their positions, for `restore` in a context of the same shape."""
        size = int(llama.llama_state_seq_get_size(self._handle, seq_id))
        buffer = (ctypes.c_uint8 * size)()
        return bytes(buffer[: llama.llama_state_seq_get_data(self._handle, buffer, size, seq_id)])

    def restore(self, seq_id: int, state: bytes) -> bool:
        """Put saved cells into an empty sequence. False if they do not fit this context; then none are."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        done = bool(llama.llama_state_seq_set_data(self._handle, buffer, len(state), seq_id) > 0)
        if not done:
            self.remove(seq_id, -1)
        return done


def _raw_params(params: ContextParams) -> object:
    raw = llama.llama_context_default_params()
    raw.n_ctx = params.n_ctx
    raw.n_seq_max = params.n_seq_max
    raw.kv_unified = True  # else every sequence gets n_ctx / n_seq_max cells
    raw.swa_full = params.swa_full
    raw.n_batch = params.n_batch
    raw.n_ubatch = params.n_batch
    # One row of logits for each sequence: the default reserves n_batch rows, 100 MB at a 49k vocabulary.
    raw.n_outputs_max = params.n_seq_max
    raw.n_threads = raw.n_threads_batch = params.n_threads
    return raw


def _kv_bytes(model: Model) -> int | None:
    """Size of the KV cache as llama.cpp logs it; caches with two parts (SWA) are added up."""
    sizes = [float(match[1]) for match in map(_KV_SIZE.match, model.backend.log) if match]
    return round(sum(sizes) * 2**20) if sizes else None
