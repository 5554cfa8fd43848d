"""A context: the KV cache of a model and the decode over it.

Batches of (token, position, sequence) go in; logits stay inside for the sampler, or come out as the
log-probabilities of single tokens. Cells of the cache are removed and moved. Every return value of
llama.cpp is passed on; whether a removal or a shift makes sense is decided elsewhere. Knows nothing
about text or chats.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import llama_cpp.llama_cpp as llama

from engine.errors import BadRequest, BugError, ModelLoadError
from engine.llama.batch import Batch
from engine.llama.buffers import BufferSizes, read_sizes
from engine.llama.model import Model, last_error
from engine.memory.memory_plan import LoadShape
from engine.protocol import MOST_DRAFTED, FlashAttention, KVType, real_n_ctx

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_KV_SIZE = re.compile(r"llama_kv_cache\w*: size = +([0-9.]+) MiB \( *(\d+) cells")
_KV_TYPES = {KVType.F16: 1, KVType.Q8_0: 8, KVType.Q4_0: 2}  # enum ggml_type
_FLASH_ATTENTION = {
    FlashAttention.AUTO: llama.LLAMA_FLASH_ATTN_TYPE_AUTO,  # is on where V is quantized
    FlashAttention.ON: llama.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    FlashAttention.OFF: llama.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
_MAX_N_CTX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ContextParams:
    """How large a context is made.

    `n_ctx` cells are shared by up to `n_seq_max` sequences. `n_batch` is the most tokens that one
    decode takes, `n_ubatch` of those the ones that are computed at once, None for all. `swa_full` keeps all
    cells of sliding-window layers, which eviction needs. `kv_type` is K's, and V's unless there is a
    `v_type`; V cannot be quantized with flash attention off.
    `n_outputs_max` is the most tokens of one decode whose logits are kept; None: one a sequence, and drafts.
    """

    n_ctx: int
    n_seq_max: int = 1
    n_threads: int = 1
    n_batch: int = 512
    swa_full: bool = True
    kv_type: KVType = KVType.F16
    n_outputs_max: int | None = None
    n_ubatch: int | None = None
    v_type: KVType | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO


def context_params(shape: LoadShape, n_threads: int = 1) -> ContextParams:
    """The context of a load of this shape."""
    options = shape.options
    return ContextParams(
        shape.n_ctx,
        shape.n_seq_max,
        n_threads,
        options.n_batch,
        kv_type=options.k_type,
        n_ubatch=options.n_ubatch,
        v_type=options.v_type,
        flash_attention=options.flash_attention,
    )


class Context:
    """The KV cache of `n_ctx` cells (rounded up, see `real_n_ctx`) and its compute buffers.

    `buffers` tells where they lie.

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
        self.swa_full = params.swa_full
        self._n_vocab = model.n_vocab
        self._rows: dict[int, npt.NDArray[np.float32]] = {}  # by address
        self.buffers = _with_all_outputs(read_sizes(model.backend.log), model, params)
        sizes = _kv_sizes(model)
        self.kv_bytes = sum(n_bytes for n_bytes, _cells in sizes) if sizes else None
        self.swa_extra_bytes = _swa_extra(sizes, model, params) if params.swa_full and model.n_swa else 0

    def close(self) -> None:
        """Free the cache and the buffers."""
        if self._handle:
            llama.llama_free(self._handle)
            self._handle = None

    @property
    def handle(self) -> object:
        """llama.cpp's pointer, for the sampler."""
        return self._handle

    def set_threads(self, n_threads: int) -> None:
        """Compute the next decodes with so many threads."""
        if n_threads != self.n_threads:
            self.n_threads = n_threads
            # llama.cpp takes the second number for batches of two tokens and more.
            llama.llama_set_n_threads(self._handle, n_threads, n_threads)

    def decode(self, batch: Batch) -> int:
        """Evaluate the batch; waits for the result, so that its time can be measured.

        Returns 0 for success, 1 if no cells were free, other values for failures; the cells of the
        batch may then be in the cache or not.
        """
        status = int(llama.llama_decode(self._handle, batch.raw))
        llama.llama_synchronize(self._handle)
        return status

    def logits(self, index: int) -> npt.NDArray[np.float32]:
        """The logits of all tokens of the vocabulary, where llama.cpp keeps them until the next decode.

        The index is what `Batch.add` returned for a token of the last decode whose logits were kept.
        """
        pointer = llama.llama_get_logits_ith(self._handle, index)
        if not pointer:
            raise BugError(f"No logits were kept for token {index} of the batch.")
        address = ctypes.addressof(pointer.contents)
        row = self._rows.get(address)
        if row is None:
            import numpy as np  # here, so that loading a model need not wait for it

            # Not `np.ctypeslib.as_array`: its casts are reference cycles.
            memory = (ctypes.c_float * self._n_vocab).from_address(address)
            row = self._rows[address] = np.frombuffer(memoryview(memory), dtype=np.float32)
        return row

    def log_probabilities(self, wanted: Sequence[tuple[int, int]]) -> list[float]:
        """For each (batch index, token): the natural logarithm of the token's probability as the next one."""
        return [self._log_probability(index, token) for index, token in wanted]

    def _log_probability(self, index: int, token: int) -> float:
        import numpy as np

        row = self.logits(index)
        peak = row.max()
        return float(row[token] - peak - np.log(np.exp(row - peak).sum(dtype=np.float64)))

    # --- the cache; positions are half-open [start, end), end -1 is the end of the sequence ---

    @property
    def can_shift(self) -> bool:
        """llama.cpp's own word on moving positions; necessary, not sufficient."""
        return bool(llama.llama_memory_can_shift(self._memory))

    def remove(self, seq_id: int, start: int, end: int = -1) -> bool:
        """Free the cells of these positions. False: this cache cannot, and nothing was removed."""
        return bool(llama.llama_memory_seq_rm(self._memory, seq_id, start, end))

    def copy(self, source: int, target: int) -> None:
        """Let an empty sequence share all cells of another. Positions of shared cells move for both."""
        llama.llama_memory_seq_cp(self._memory, source, target, -1, -1)

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

    def state_bytes(self, seq_id: int) -> int:
        """The most that `save` may give now."""
        return int(llama.llama_state_seq_get_size(self._handle, seq_id))

    def save(self, seq_id: int) -> bytes:
        """The cells of a sequence with their positions, for `restore` in a context of the same shape."""
        size = self.state_bytes(seq_id)
        buffer = (ctypes.c_uint8 * size)()
        n_bytes = llama.llama_state_seq_get_data(self._handle, buffer, size, seq_id)
        return memoryview(buffer)[:n_bytes].tobytes()  # a slice of the array would be a list of numbers

    def restore(self, seq_id: int, state: bytes) -> bool:
        """Put saved cells into an empty sequence. False if they do not fit this context; then none are."""
        buffer = ctypes.cast(ctypes.c_char_p(state), ctypes.POINTER(ctypes.c_uint8))  # only read: not copied
        done = bool(llama.llama_state_seq_set_data(self._handle, buffer, len(state), seq_id) > 0)
        if not done:
            self.remove(seq_id, -1)
        return done


def _n_outputs_max(params: ContextParams) -> int:
    return params.n_outputs_max or params.n_seq_max + MOST_DRAFTED


def _with_all_outputs(sizes: BufferSizes, model: Model, params: ContextParams) -> BufferSizes:
    """`sizes` with the rows of logits that llama.cpp adds once a decode has so many.

    It begins with one for each sequence (llama_context::output_reserve in src/llama-context.cpp).
    """
    n_later = max(0, _n_outputs_max(params) - params.n_seq_max)
    later = n_later * model.n_vocab * ctypes.sizeof(ctypes.c_float)
    return replace(sizes, compute={**sizes.compute, "CPU": sizes.compute.get("CPU", 0) + later})


def _raw_params(params: ContextParams) -> object:
    raw = llama.llama_context_default_params()
    # llama.cpp rounds up too, but only after it has cut the batch down to what was asked for.
    raw.n_ctx = real_n_ctx(params.n_ctx)
    raw.n_seq_max = params.n_seq_max
    raw.kv_unified = True  # else every sequence gets n_ctx / n_seq_max cells
    raw.swa_full = params.swa_full
    raw.n_batch = params.n_batch
    raw.n_ubatch = params.n_ubatch or params.n_batch
    # One row of logits for each sequence and draft: the default is n_batch rows, 100 MB at a 49k vocabulary.
    raw.n_outputs_max = _n_outputs_max(params)
    raw.type_k = _KV_TYPES[params.kv_type]
    raw.type_v = _KV_TYPES[params.v_type or params.kv_type]
    raw.flash_attn_type = _FLASH_ATTENTION[params.flash_attention]
    raw.n_threads = raw.n_threads_batch = params.n_threads
    return raw


def _kv_sizes(model: Model) -> list[tuple[int, int]]:
    """Bytes and cells of each KV cache as llama.cpp logs them: one, or two where layers slide."""
    matches = filter(None, map(_KV_SIZE.match, model.backend.log))
    return [(round(float(match[1]) * 2**20), int(match[2])) for match in matches]


def _swa_extra(sizes: list[tuple[int, int]], model: Model, params: ContextParams) -> int:
    """What the full cache of the sliding-window layers costs beyond their window, in bytes.

    The window's cache has n_swa cells for each sequence and one micro-batch, rounded up to 256
    (llama-kv-cache-iswa.cpp).
    """
    if len(sizes) < 2:
        return 0
    n_bytes, n_cells = sizes[-1]
    windowed = -(-(model.n_swa * params.n_seq_max + (params.n_ubatch or params.n_batch)) // 256) * 256
    return round(n_bytes * max(0, n_cells - windowed) / n_cells)
