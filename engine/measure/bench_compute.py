"""How many operations a second the processor's threads reach: what a prompt's speed is compared with.

A number of threads goes in, floating-point operations a second come out: those of products of float32
matrices, the fastest thing that a processor is commonly asked for. Takes about a third of a second. Products
of whole numbers, as of quantized weights, may be faster still. Knows nothing about models.
"""

from __future__ import annotations

import os
import sys
import threading
import time

_WIDTH = 512  # 1 MiB a matrix: three fit into a core's second cache or nearly
_SECONDS = 0.3
_OPERATIONS = 2 * _WIDTH**3
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def peak_operations(n_threads: int) -> float | None:
    """Of `n_threads` at once; None where it is too late to say how many threads one product takes."""
    if "numpy" in sys.modules and any(os.environ.get(name) != "1" for name in _ONE_THREAD):
        return None
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))  # read when NumPy is imported
    counts = [0] * n_threads
    threads = [threading.Thread(target=_multiply, args=(counts, index)) for index in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) * _OPERATIONS / _SECONDS


def _multiply(counts: list[int], index: int) -> None:
    import numpy as np

    one = np.ones((_WIDTH, _WIDTH), dtype=np.float32)
    product = np.empty_like(one)
    np.matmul(one, one, out=product)  # its buffers are there afterwards
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        np.matmul(one, one, out=product)
        counts[index] += 1
