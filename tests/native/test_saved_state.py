"""What llama.cpp gives of a sequence and takes back, for every kind of cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import llama_cpp.llama_cpp as llama
import numpy as np
import numpy.typing as npt
import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.protocol import FlashAttention
from tests.native.harness import CACHE_KINDS, loaded

Logits = npt.NDArray[np.float32]
N_READ, N_MORE = 90, 4


def decoded(context: Context, n_vocab: int, ids: list[int], position: int, seq_id: int) -> Logits:
    """The logits after the last of `ids`."""
    batch = Batch(len(ids))
    index = batch.extend(ids, position, seq_id, output=True)
    assert context.decode(batch) == 0
    pointer = llama.llama_get_logits_ith(context.handle, index)
    logits = np.ctypeslib.as_array(pointer, (n_vocab,)).copy()
    batch.close()
    return logits


@pytest.mark.parametrize("kind", CACHE_KINDS)
def test_restored_sequence_goes_on_as_the_one_that_was_saved(
    cache_models: Mapping[str, Path], kind: str
) -> None:
    with loaded(cache_models[kind]) as model:
        n = model.n_vocab
        ids = [(37 * i) % (n - 1) for i in range(N_READ + N_MORE)]
        params = ContextParams(512, n_seq_max=3, n_batch=128, n_threads=2, flash_attention=FlashAttention.OFF)
        first = Context(model, params)
        decoded(first, n, ids[:N_READ], 0, 1)
        state = first.save(1)
        expected = [decoded(first, n, [token], N_READ + i, 1) for i, token in enumerate(ids[N_READ:])]
        first.close()
        second = Context(model, params)
        decoded(second, n, ids[20:60], 0, 0)  # another chat, so that other cells are free
        assert second.restore(2, state)
        found = [decoded(second, n, [token], N_READ + i, 2) for i, token in enumerate(ids[N_READ:])]
        second.close()
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))
