"""Whatever a header claims, its facts are numbers or a sentence, and never a hang."""

from __future__ import annotations

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.memory.kv_math import bytes_per_token, can_quantize, kv_sizes
from engine.models.gguf_header import GGUFHeader
from engine.models.gguf_metadata import ArrayValue, Value, ValueType
from engine.models.gguf_tensors import TensorInfo
from engine.models.model_facts import facts_of
from engine.protocol import KVType

ARCHITECTURES = (
    "llama",
    "deci",
    "gemma3",
    "gemma3n",
    "gemma4",
    "lfm2",
    "step35",
    "smallthinker",
    "exaone4",
    "mamba",
    "rwkv7",
    "jamba",
    "nemotron_h",
    "falcon-h1",
    "qwen35",
    "minimax-01",
    "kimi-linear",
    "plamo2",
    "nanbeige",
    "glm4",
    "deepseek2",
    "dream",
    "clip",
)
KEYS = (
    "embedding_length",
    "context_length",
    "vocab_size",
    "feed_forward_length",
    "nextn_predict_layers",
    "num_loops",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.key_length_mla",
    "attention.value_length_mla",
    "attention.key_length_swa",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.shared_kv_layers",
    "attention.recurrent_layers",
    "full_attention_interval",
    "ssm.conv_kernel",
    "ssm.inner_size",
    "ssm.state_size",
    "ssm.group_count",
    "wkv.head_size",
    "kda.head_dim",
    "shortconv.l_cache",
    "rope.dimension_sections",
    "rope.scaling.type",
    "expert_count",
    "expert_used_count",
    "pooling_type",
)
NAMES = ("token_embd.weight", "output.weight", "blk.0.ffn_up_exps.weight", "blk.9.x", "blk.999999999.y")


def array(items: list[int]) -> ArrayValue:
    content = struct.pack(f"<{len(items)}q", *items)
    return ArrayValue(ValueType.INT64, len(items), 0, content)


numbers = st.one_of(st.integers(-2, 70), st.integers(-(2**63), 2**63 - 1))
values: st.SearchStrategy[Value] = st.one_of(
    numbers,
    st.booleans(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.lists(numbers, max_size=9).map(array),
    st.integers(0, 2**60).map(lambda count: ArrayValue(ValueType.STRING, count, 0)),
)
tensors = st.lists(
    st.builds(
        TensorInfo,
        st.sampled_from(NAMES),
        st.lists(st.integers(1, 2**40), max_size=4).map(tuple),
        st.sampled_from(("F16", "F32", "Q4_K")),
        st.just(0),
        st.integers(0, 2**44),
    ),
    max_size=5,
    unique_by=lambda tensor: tensor.name,
).map(tuple)


@given(
    architecture=st.sampled_from(ARCHITECTURES),
    n_layers=st.one_of(st.integers(1, 9), values),
    settings=st.dictionaries(st.sampled_from(KEYS), values),
    file_type=values,
    tensors=tensors,
)
def test_facts_or_a_sentence(
    architecture: str,
    n_layers: Value,
    settings: dict[str, Value],
    file_type: Value,
    tensors: tuple[TensorInfo, ...],
) -> None:
    metadata: dict[str, Value] = {f"{architecture}.{key}": value for key, value in settings.items()}
    metadata |= {"general.architecture": architecture, f"{architecture}.block_count": n_layers}
    metadata["general.file_type"] = file_type
    header = GGUFHeader(Path("hostile.gguf"), 3, metadata, tensors, 32, 0, 0)
    try:
        facts = facts_of([header])
    except ModelFileError as error:
        assert str(error).startswith("hostile.gguf is damaged: ")
        return
    assert len(facts.layers) <= 512
    assert 0 <= facts.n_active_params <= facts.n_params
    assert 0 <= facts.active_bytes <= facts.weights_bytes
    for kv_type in KVType:
        can_quantize(facts, kv_type)
        assert kv_sizes(facts, 512, kv_type).kv_bytes == 512 * bytes_per_token(facts, kv_type) >= 0
    assert facts.can_shift == (facts.is_chat_model and facts.reason is None)
