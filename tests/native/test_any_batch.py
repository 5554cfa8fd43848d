"""A token's logits are the same to the bit in whatever batch it is decoded: exact replies stand on that."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
import pytest

from engine.llama.batch import Batch
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.protocol import FlashAttention
from tests import synthetic_models
from tests.model_files import TokenizerFields, write_network
from tests.native.harness import loaded

Logits = npt.NDArray[np.float32]
BATCHES = [(2,), (3, 1), (17,), (130, 1), (262,)]


def logits_of(
    model: Model, sizes: tuple[int, ...], n_tokens: int, *, n_threads: int = 2
) -> dict[int, Logits]:
    """The logits behind each batch, by position; batches take so many tokens, over and over."""
    # As `load_options` chooses for a processor.
    params = ContextParams(512, n_threads=n_threads, n_ubatch=128, flash_attention=FlashAttention.OFF)
    context, batch, found, position = Context(model, params), Batch(512), dict[int, Logits](), 0
    ids = [number * 37 % 1000 + 20 for number in range(n_tokens)]
    while position < n_tokens:
        part = ids[position : position + sizes[len(found) % len(sizes)]]
        batch.clear()
        index = batch.extend(part, position, 0, output=True)
        assert context.decode(batch) == 0
        position += len(part)
        found[position] = context.logits(index).copy()
    batch.close()
    context.close()
    return found


def check(model: Model, n_tokens: int) -> None:
    alone = logits_of(model, (1,), n_tokens)
    assert len({row.tobytes() for row in alone.values()}) == n_tokens
    for sizes in BATCHES:
        for position, row in logits_of(model, sizes, n_tokens).items():
            assert np.array_equal(row, alone[position]), (sizes, position)


def test_with_the_starter_model(starter: Model) -> None:
    check(starter, 262)  # llama.cpp looks at cells by 256


def test_number_of_threads_changes_nothing(starter: Model) -> None:
    one, two = (logits_of(starter, (3, 1), 60, n_threads=count) for count in (1, 2))
    assert all(np.array_equal(row, two[position]) for position, row in one.items())


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q5_0", "Q4_0"])
def test_with_weights_of_each_type(tmp_path: Path, tokenizer_fields: TokenizerFields, kind: str) -> None:
    network = synthetic_models.llama(tokenizer_fields.n_vocab, n_layers=2, n_ctx_train=512, seed=1)
    matrices = [name for name, tensor in network.tensors.items() if tensor.ndim == 2]
    plain = {name: tensor.astype(np.float32) for name, tensor in network.tensors.items()}
    network = synthetic_models.Network(network.architecture, network.settings, plain)
    kinds = dict.fromkeys(matrices, gguf.GGMLQuantizationType[kind])
    with loaded(write_network(tmp_path / f"{kind}.gguf", network, tokenizer_fields, kinds)) as model:
        check(model, 40)
