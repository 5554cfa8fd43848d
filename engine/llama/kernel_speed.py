"""Times of llama.cpp's own kernels for decoding on the processor, without any model.

A number of threads goes in, a `KernelSpeed` comes out, after about half a second. Of several runs, which
are spread over that time, the quickest counts. Run it in a process of its own: it loads llama.cpp, and takes
all cores.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from pathlib import Path

import llama_cpp.llama_cpp as llama
from llama_cpp._ctypes_extensions import load_shared_library

from engine.memory.kernel_speed import HEAD_SIZES, TYPES, KernelSpeed, attention_key, best_of
from engine.models.gguf_constants import gguf_constants
from engine.protocol import KVType

_POINTER = ctypes.c_void_p
_F32 = 0  # enum ggml_type
_ARENA_BYTES = 96 * 2**20
_ROUNDS, _RUNS = 3, 3
_MATRICES = 6  # in one graph, so that starting the threads costs little
_ROWS, _COLUMNS = 1536, 2048
_KERNELS = 100
_CELLS, _KV_HEADS, _QUERY_HEADS, _ATTENTIONS = 1024, 2, 8, 4


class _Params(ctypes.Structure):
    """`ggml_init_params` of ggml.h."""

    _fields_ = [  # as ctypes wants it
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", _POINTER),
        ("no_alloc", ctypes.c_bool),
    ]


class _Ggml:
    """The few functions of ggml.h and ggml-cpu.h that a graph needs."""

    def __init__(self) -> None:
        folder = Path(llama.__file__).parent / "lib"
        base, cpu = load_shared_library("ggml-base", folder), load_shared_library("ggml-cpu", folder)
        number, size, real = ctypes.c_int, ctypes.c_int64, ctypes.c_float
        self.init = _function(base, "ggml_init", _POINTER, _Params)
        self.free = _function(base, "ggml_free", None, _POINTER)
        self.tensor = _function(base, "ggml_new_tensor_3d", _POINTER, _POINTER, number, size, size, size)
        self.n_bytes = _function(base, "ggml_nbytes", ctypes.c_size_t, _POINTER)
        self.mul_mat = _function(base, "ggml_mul_mat", *[_POINTER] * 4)
        self.add = _function(base, "ggml_add", *[_POINTER] * 4)
        self.permute = _function(base, "ggml_permute", _POINTER, _POINTER, _POINTER, *[number] * 4)
        self.attend = _function(base, "ggml_flash_attn_ext", *[_POINTER] * 6, *[real] * 3)
        self.graph = _function(
            base, "ggml_new_graph_custom", _POINTER, _POINTER, ctypes.c_size_t, ctypes.c_bool
        )
        self.expand = _function(base, "ggml_build_forward_expand", None, _POINTER, _POINTER)
        self.compute = _function(cpu, "ggml_graph_compute_with_ctx", number, _POINTER, _POINTER, number)
        _function(cpu, "ggml_cpu_init", None)()


def measure(n_threads: int) -> KernelSpeed:
    """Measure now. Raises AttributeError or OSError where llama.cpp has other libraries than expected."""
    bench = _Bench(n_threads)
    return functools.reduce(best_of, (_round(bench) for _ in range(_ROUNDS)))


def _round(bench: _Bench) -> KernelSpeed:
    kv_types = {KVType.F16: "F16", KVType.Q8_0: "Q8_0", KVType.Q4_0: "Q4_0"}
    return KernelSpeed(
        {name: bench.weights_rate(_number(name)) for name in TYPES},
        {
            attention_key(kv_type.value, head_size): bench.head_cell(_number(name), head_size)
            for kv_type, name in kv_types.items()
            for head_size in HEAD_SIZES
        },
        bench.kernel(),
    )


class _Bench:
    """Makes graphs in one piece of memory, written before: pages that were not are all the same one."""

    def __init__(self, n_threads: int) -> None:
        self._ggml = _Ggml()
        self._n_threads = n_threads
        self._arena = ctypes.create_string_buffer(_ARENA_BYTES)
        ctypes.memset(self._arena, 0, _ARENA_BYTES)

    def weights_rate(self, tensor_type: int) -> float:
        """Bytes a second of matrices of that type with a vector."""
        ggml, n_bytes = self._ggml, 0

        def make(context: object, graph: object) -> None:
            nonlocal n_bytes
            matrix = ggml.tensor(context, tensor_type, _COLUMNS, _ROWS, 1)
            vector = ggml.tensor(context, _F32, _COLUMNS, 1, 1)
            n_bytes = _MATRICES * ggml.n_bytes(matrix)
            for _ in range(_MATRICES):
                ggml.expand(graph, ggml.mul_mat(context, matrix, vector))

        seconds = self._quickest(make)
        return n_bytes / seconds

    def head_cell(self, tensor_type: int, head_size: int) -> float:
        """Seconds that one query head takes for one cell."""
        ggml = self._ggml

        def cache(context: object) -> object:
            rows = ggml.tensor(context, tensor_type, head_size, _KV_HEADS, _CELLS)
            return ggml.permute(context, rows, 0, 2, 1, 3)

        def make(context: object, graph: object) -> None:
            query = ggml.tensor(context, _F32, head_size, 1, _QUERY_HEADS)
            for _ in range(_ATTENTIONS):
                keys, values = cache(context), cache(context)
                ggml.expand(graph, ggml.attend(context, query, keys, values, None, 0.1, 0.0, 0.0))

        return self._quickest(make) / (_ATTENTIONS * _QUERY_HEADS * _CELLS)

    def kernel(self) -> float:
        """Seconds that one small operation takes."""
        ggml = self._ggml

        def make(context: object, graph: object) -> None:
            numbers = ggml.tensor(context, _F32, 512, 1, 1)
            for _ in range(_KERNELS):
                numbers = ggml.add(context, numbers, numbers)
            ggml.expand(graph, numbers)

        return self._quickest(make) / _KERNELS

    def _quickest(self, make: Callable[[object, object], None]) -> float:
        ggml = self._ggml
        context = ggml.init(_Params(_ARENA_BYTES, ctypes.addressof(self._arena), False))
        graph = ggml.graph(context, 2 * _KERNELS, False)
        make(context, graph)
        times = []
        for _ in range(_RUNS):
            start = time.perf_counter()
            ggml.compute(context, graph, self._n_threads)
            times.append(time.perf_counter() - start)
        ggml.free(context)
        return min(times)


def _function(library: ctypes.CDLL, name: str, result: object, *arguments: object) -> Callable[..., int]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


def _number(tensor_type: str) -> int:
    return int(gguf_constants().GGMLQuantizationType[tensor_type])
