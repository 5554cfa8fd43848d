"""Which architectures llama.cpp is known to have, by the table that comes with the package `gguf`.

A name goes in, a yes or a no comes out. The table and llama.cpp are not always of one age: what is not in
it may be loaded all the same, so that a no is a reason to ask llama.cpp itself.
"""

from __future__ import annotations

import functools

from engine.models.gguf_constants import gguf_constants


def is_known(architecture: str) -> bool:
    """Whether models of this architecture are loaded without a doubt about that."""
    return architecture in _names()


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(gguf_constants().MODEL_ARCH_NAMES.values())
