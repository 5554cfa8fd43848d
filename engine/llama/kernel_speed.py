"""Times of llama.cpp's own kernels for decoding on the processor, without any model.

A number of threads goes in, a `KernelSpeed` comes out, after about a second where nothing else runs. Of
several runs, which are spread over that time, the quickest counts. Run it in a process of its own: it loads
llama.cpp, and takes all cores and 300 MB.
"""

from __future__ import annotations

import functools

from engine.llama.ggml_graphs import F16, F32, Graphs
from engine.memory.kernel_speed import (
    FEW,
    HEAD_SIZES,
    MANY,
    TYPES,
    KernelSpeed,
    attention_key,
    best_of,
)
from engine.models.gguf_constants import gguf_constants
from engine.protocol import KVType

_ROUNDS = 16
_ROWS, _COLUMNS = 2048, 4096  # so large that starting the threads costs little
_KERNELS = 100
_KV_HEADS = 4
_HEAD_CELLS, _FLASH_HEAD_CELLS = 32_768, 8_192  # about a millisecond
_SMALL_ROWS, _SMALL_COLUMNS = 32, 512
_TYPES_OF_KV = {KVType.F16: "F16", KVType.Q8_0: "Q8_0", KVType.Q4_0: "Q4_0"}


def measure(n_threads: int) -> KernelSpeed:
    """Measure now. Raises AttributeError or OSError where llama.cpp has other libraries than expected."""
    bench = _Bench(Graphs(n_threads))
    return functools.reduce(best_of, (_round(bench) for _ in range(_ROUNDS)))


def _round(bench: _Bench) -> KernelSpeed:
    attention = {
        attention_key(kv_type.value, head_size, sharing, flash_attention=is_flash): bench.head_cell(
            _number(name), head_size, sharing, is_flash=is_flash
        )
        for kv_type, name in _TYPES_OF_KV.items()
        for is_flash in (True, False)
        if is_flash or kv_type is KVType.F16  # without it V is never quantized
        for head_size in HEAD_SIZES
        for sharing in (FEW, MANY)
    }
    weights = {name: bench.weights_rate(_number(name)) for name in TYPES}
    return KernelSpeed(weights, attention, bench.kernel(), bench.product())


class _Bench:
    """What is timed, one graph each."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs, self._ggml = graphs, graphs.ggml

    def weights_rate(self, tensor_type: int) -> float:
        """Bytes a second of matrices of that type with a vector, read from memory."""
        graphs, ggml, n_bytes = self._graphs, self._ggml, 0

        def make(context: object, graph: object) -> None:
            nonlocal n_bytes
            matrix = graphs.matrix(context, tensor_type, _COLUMNS, _ROWS)
            n_bytes = ggml.n_bytes(matrix)
            vector = ggml.tensor(context, F32, _COLUMNS, 1, 1)
            ggml.expand(graph, ggml.mul_mat(context, matrix, vector))

        seconds = graphs.seconds(make)
        return n_bytes / seconds

    def head_cell(self, tensor_type: int, head_size: int, sharing: int, *, is_flash: bool) -> float:
        """Seconds that one query head takes for one cell, `sharing` of which share a head of the cache."""
        graphs, ggml, n_heads = self._graphs, self._ggml, _KV_HEADS * sharing
        n_cells = (_FLASH_HEAD_CELLS if is_flash else _HEAD_CELLS) // n_heads

        def rows(context: object) -> object:
            stored = graphs.stored(tensor_type, head_size, _KV_HEADS, n_cells)
            return ggml.permute(context, stored, 0, 2, 1, 3)

        def make(context: object, graph: object) -> None:
            query, keys = ggml.tensor(context, F32, head_size, 1, n_heads), rows(context)
            mask = ggml.tensor(context, F16, n_cells, 1, 1)
            if is_flash:
                ggml.expand(graph, ggml.attend(context, query, keys, rows(context), mask, 0.1, 0.0, 0.0))
                return
            # As `build_attn_mha` in llama.cpp's src/llama-graph.cpp does it: V lies transposed.
            shares = ggml.soft_max(context, ggml.mul_mat(context, keys, query), mask, 0.1, 0.0)
            values = graphs.stored(F16, n_cells, head_size, _KV_HEADS)
            ggml.expand(graph, ggml.mul_mat(context, values, shares))

        return graphs.seconds(make) / (n_heads * n_cells)

    def kernel(self) -> float:
        """Seconds that one small operation takes."""
        ggml = self._ggml

        def make(context: object, graph: object) -> None:
            numbers = ggml.tensor(context, F32, _SMALL_COLUMNS, 1, 1)
            for _ in range(_KERNELS):
                numbers = ggml.add(context, numbers, numbers)
            ggml.expand(graph, numbers)

        return self._graphs.seconds(make) / _KERNELS

    def product(self) -> float:
        """Seconds that the product of a small quantized matrix with a vector takes."""
        graphs, ggml = self._graphs, self._ggml

        def make(context: object, graph: object) -> None:
            vector = ggml.tensor(context, F32, _SMALL_COLUMNS, 1, 1)
            for _ in range(_KERNELS):
                matrix = graphs.matrix(context, _number("Q8_0"), _SMALL_COLUMNS, _SMALL_ROWS)
                ggml.expand(graph, ggml.mul_mat(context, matrix, vector))

        return graphs.seconds(make) / _KERNELS


def _number(tensor_type: str) -> int:
    return int(gguf_constants().GGMLQuantizationType[tensor_type])
