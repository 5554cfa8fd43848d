"""What the engine's process needs for a model beside the buffers that llama.cpp tells of.

Facts and a `LoadShape` go in, bytes come out. Fitted to the growth of real workers (Linux, llama.cpp 0.3.36):
vocabularies of 2,048 to 262,144 tokens, 0 to 360,000 merges, 2 to 30 layers, contexts of 256 to 8,192 cells
once they are full. Knows nothing about devices.
"""

from __future__ import annotations

from engine.memory.kv_math import padded_cells
from engine.memory.memory_plan import LoadShape
from engine.models.model_facts import ModelFacts

# The code that a first load brings in, NumPy's 10 MiB among it, the header, the context's own tables.
_FIXED_BYTES = 14 * 2**20
_BPE_BYTES = 2 * 2**20  # the regular expressions that split words
_BPE = "gpt2"
_BYTES_A_TOKEN = 152  # its text in three places, half of them short enough to need no room of their own
_BYTES_A_MERGE = 137
_BYTES_A_LAYER = 100 * 2**10  # of the graph
_BYTES_A_CELL = 350  # llama_kv_cells, then ids and text of what is in it
_BYTES_A_THREAD = 64 * 2**10


def engine_bytes(facts: ModelFacts, shape: LoadShape, n_threads: int) -> int:
    """Vocabulary, graph, and the books about a context that is full."""
    n_tokens = facts.n_vocab or 0
    is_bpe = facts.tokenizer in (_BPE, None)
    n_merges = (n_tokens if facts.n_merges is None else facts.n_merges) if is_bpe else 0
    has_cells = any(layer.key_values for layer in facts.layers)
    n_cells = padded_cells(shape.n_ctx) if has_cells else 0
    return (
        _FIXED_BYTES
        + _BPE_BYTES * is_bpe
        + _BYTES_A_TOKEN * n_tokens
        + _BYTES_A_MERGE * n_merges
        + _BYTES_A_LAYER * facts.n_layers
        + _BYTES_A_CELL * n_cells
        + _BYTES_A_THREAD * n_threads
    )
