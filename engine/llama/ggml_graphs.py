"""Small graphs of ggml, made by hand and timed: what llama.cpp computes, without any model.

A function that puts operations into a graph goes in, the seconds that computing it takes come out. Tensors
lie in arenas larger than most caches, one behind the other and around again, so that each graph reads memory
that was not read for a while, as a decode does. Knows nothing about what is measured, or why.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path

import llama_cpp.llama_cpp as llama
from llama_cpp._ctypes_extensions import load_shared_library

_POINTER = ctypes.c_void_p
F32, F16 = 0, 1  # enum ggml_type
_ARENA_BYTES = 128 * 2**20
_SCRATCH_BYTES = 16 * 2**20
_HEADERS_BYTES = 2**20
_ALIGNMENT = 128
_MOST_NODES = 512

Make = Callable[[object, object], None]
"""Puts operations into a graph: (context, graph)."""


class _Params(ctypes.Structure):
    """`ggml_init_params` of ggml.h."""

    _fields_ = [  # as ctypes wants it
        ("mem_size", ctypes.c_size_t),
        ("mem_buffer", _POINTER),
        ("no_alloc", ctypes.c_bool),
    ]


class Ggml:
    """The few functions of ggml.h, ggml-backend.h and ggml-cpu.h that a graph needs."""

    def __init__(self) -> None:
        folder = Path(llama.__file__).parent / "lib"
        base, cpu = load_shared_library("ggml-base", folder), load_shared_library("ggml-cpu", folder)
        number, size, real, n_bytes = ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_size_t
        self.init = _function(base, "ggml_init", _POINTER, _Params)
        self.free = _function(base, "ggml_free", None, _POINTER)
        self.tensor = _function(base, "ggml_new_tensor_3d", _POINTER, _POINTER, number, size, size, size)
        self.n_bytes = _function(base, "ggml_nbytes", n_bytes, _POINTER)
        self.mul_mat = _function(base, "ggml_mul_mat", *[_POINTER] * 4)
        self.add = _function(base, "ggml_add", *[_POINTER] * 4)
        self.permute = _function(base, "ggml_permute", _POINTER, _POINTER, _POINTER, *[number] * 4)
        self.attend = _function(base, "ggml_flash_attn_ext", *[_POINTER] * 6, *[real] * 3)
        self.soft_max = _function(base, "ggml_soft_max_ext", *[_POINTER] * 4, real, real)
        self.graph = _function(
            base, "ggml_new_graph_custom", _POINTER, _POINTER, ctypes.c_size_t, ctypes.c_bool
        )
        self.expand = _function(base, "ggml_build_forward_expand", None, _POINTER, _POINTER)
        self.compute = _function(cpu, "ggml_graph_compute_with_ctx", number, _POINTER, _POINTER, number)
        self.cpu_memory = _function(base, "ggml_backend_cpu_buffer_type", _POINTER)
        self.allocate = _function(base, "ggml_backend_buft_alloc_buffer", _POINTER, _POINTER, n_bytes)
        self.wanted = _function(base, "ggml_backend_buft_get_alloc_size", n_bytes, _POINTER, _POINTER)
        self.start_of = _function(base, "ggml_backend_buffer_get_base", _POINTER, _POINTER)
        self.clear = _function(base, "ggml_backend_buffer_clear", None, _POINTER, ctypes.c_uint8)
        self.place = _function(base, "ggml_backend_tensor_alloc", number, *[_POINTER] * 3)
        self.supports = _function(base, "ggml_backend_dev_supports_op", ctypes.c_bool, _POINTER, _POINTER)
        _function(cpu, "ggml_cpu_init", None)()
        registry = _function(cpu, "ggml_backend_cpu_reg", _POINTER)()
        self.device = _function(base, "ggml_backend_reg_dev_get", _POINTER, _POINTER, n_bytes)(registry, 0)
        find = _function(base, "ggml_backend_reg_get_proc_address", _POINTER, _POINTER, ctypes.c_char_p)
        self.weights_memories = _listed(find(registry, b"ggml_backend_dev_get_extra_bufts"), self.device)


class Arena:
    """A piece of memory of one kind, written once: pages that were not are all the same one."""

    def __init__(self, ggml: Ggml, memory: object) -> None:
        self._ggml, self._memory = ggml, memory
        self._buffer = ggml.allocate(memory, _ARENA_BYTES)
        self._next = 0
        self._is_written = False

    def place(self, tensor: object) -> object:
        """Give `tensor`, which has no memory yet, the next piece; returns it."""
        if not self._is_written:
            self._ggml.clear(self._buffer, 0)
            self._is_written = True
        size = -(-self._ggml.wanted(self._memory, tensor) // _ALIGNMENT) * _ALIGNMENT
        if self._next + size > _ARENA_BYTES:
            self._next = 0
        self._ggml.place(self._buffer, tensor, self._ggml.start_of(self._buffer) + self._next)
        self._next += size
        return tensor


class Graphs:
    """Makes graphs and times them, with so many threads. Lives as long as its process."""

    def __init__(self, n_threads: int) -> None:
        self.ggml = Ggml()
        self._n_threads = n_threads
        self._scratch = ctypes.create_string_buffer(_SCRATCH_BYTES)
        ctypes.memset(self._scratch, 0, _SCRATCH_BYTES)
        self._plain = Arena(self.ggml, self.ggml.cpu_memory())
        self._rearranging = [Arena(self.ggml, memory) for memory in self.ggml.weights_memories]
        self._headers: object = None

    def stored(self, tensor_type: int, *shape: int) -> object:
        """A tensor of three dimensions in memory that was not read for a while."""
        return self._plain.place(self.ggml.tensor(self._headers, tensor_type, *shape))

    def matrix(self, context: object, tensor_type: int, n_columns: int, n_rows: int) -> object:
        """Weights, in the kind of memory that llama.cpp would choose: for some types they are rearranged.

        Source: `make_cpu_buft_list` and `select_weight_buft` in llama.cpp's src/llama-model.cpp.
        """
        ggml = self.ggml
        for arena in self._rearranging:
            matrix = arena.place(ggml.tensor(self._headers, tensor_type, n_columns, n_rows, 1))
            product = ggml.mul_mat(context, matrix, ggml.tensor(context, F32, n_columns, 1, 1))
            if ggml.supports(ggml.device, product):
                return matrix
        return self.stored(tensor_type, n_columns, n_rows, 1)

    def seconds(self, make: Make) -> float:
        """How long the graph takes, once."""
        ggml = self.ggml
        context = ggml.init(_Params(_SCRATCH_BYTES, ctypes.addressof(self._scratch), False))
        self._headers = ggml.init(_Params(_HEADERS_BYTES, None, True))
        graph = ggml.graph(context, _MOST_NODES, False)
        make(context, graph)
        start = time.perf_counter()
        ggml.compute(context, graph, self._n_threads)
        took = time.perf_counter() - start
        ggml.free(context)
        ggml.free(self._headers)
        return took


def _function(library: ctypes.CDLL, name: str, result: object, *arguments: object) -> Callable[..., int]:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


def _listed(address: int | None, device: int) -> list[int]:
    """The kinds of memory beside the usual one; the function at `address` ends its list with a null."""
    if address is None:
        return []
    memories = ctypes.CFUNCTYPE(ctypes.POINTER(_POINTER), _POINTER)(address)(device)
    found: list[int] = []
    while memories and (memory := memories[len(found)]):
        found.append(int(memory))
    return found
