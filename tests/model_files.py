"""Model files for tests: small models that llama.cpp loads, each with one property chosen by the test.

The tokenizer is the starter model's, read once per session (`TokenizerFields`), the weights are
random (`tests.synthetic_models`): such a file is a few megabytes, loads in tens of milliseconds and
talks noise. Malformed files are `tests.malformed_files`' matter. Nothing here uses Weir's own reader,
so the reader's tests cannot agree with it by accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf

from tests import synthetic_models
from tests.synthetic_models import Network

CHAT_TEMPLATE_KEY = "tokenizer.chat_template"
ADD_BOS_KEY = "tokenizer.ggml.add_bos_token"

# What a test may store as a chat template: bytes need not be UTF-8, a sequence becomes an array, an
# int a uint32, None leaves the key out.
StoredTemplate = str | bytes | int | Sequence[str] | None


@dataclass(frozen=True)
class TokenizerField:
    """One metadata entry; `item_type` is set for arrays alone."""

    key: str
    value: Any
    value_type: gguf.GGUFValueType
    item_type: gguf.GGUFValueType | None = None


@dataclass(frozen=True)
class TokenizerFields:
    """Every `tokenizer.*` entry of a model file, in the file's order."""

    fields: tuple[TokenizerField, ...]

    @property
    def n_vocab(self) -> int:
        """How many tokens the vocabulary has."""
        return len(self.get("tokenizer.ggml.tokens"))

    @property
    def chat_template(self) -> str:
        """The model's own chat template."""
        template = self.get(CHAT_TEMPLATE_KEY)
        assert isinstance(template, str)
        return template

    def get(self, key: str) -> Any:
        """The value stored under `key`; StopIteration where there is none."""
        return next(field.value for field in self.fields if field.key == key)


def read_tokenizer_fields(reader: gguf.GGUFReader) -> TokenizerFields:
    """All `tokenizer.*` entries of the file that `reader` has opened."""
    fields = []
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            is_array = field.types[0] == gguf.GGUFValueType.ARRAY
            item_type = field.types[-1] if is_array else None
            fields.append(TokenizerField(key, field.contents(), field.types[0], item_type))
    return TokenizerFields(tuple(fields))


def write_small_chat_model(
    path: Path,
    tokenizer: TokenizerFields,
    *,
    chat_template: StoredTemplate = "",
    add_bos: bool | None = None,
    n_ctx_train: int = 2048,
    seed: int = 0,
) -> Path:
    """A `llama` of 2 layers and 64 dimensions, about 10 MB.

    `chat_template` "" keeps the tokenizer's own, None leaves it out; `add_bos` None keeps the
    tokenizer's `add_bos_token`, which is False for the starter model.
    """
    if chat_template != "":
        tokenizer = _with_field(tokenizer, CHAT_TEMPLATE_KEY, _template_field(chat_template))
    if add_bos is not None:
        tokenizer = _with_field(
            tokenizer, ADD_BOS_KEY, TokenizerField(ADD_BOS_KEY, add_bos, gguf.GGUFValueType.BOOL)
        )
    network = synthetic_models.llama(tokenizer.n_vocab, n_layers=2, n_ctx_train=n_ctx_train, seed=seed)
    return write_network(path, network, tokenizer)


def write_mamba(path: Path, tokenizer: TokenizerFields, *, seed: int = 0) -> Path:
    """A recurrent model of 2 layers: nothing can be removed from the middle of its state."""
    return write_network(path, synthetic_models.mamba(tokenizer.n_vocab, seed=seed), tokenizer)


def write_gemma3(path: Path, tokenizer: TokenizerFields, *, sliding_window: int = 64, seed: int = 0) -> Path:
    """A model of 6 layers with interleaved sliding-window attention."""
    network = synthetic_models.gemma3(tokenizer.n_vocab, sliding_window=sliding_window, seed=seed)
    return write_network(path, network, tokenizer)


def write_no_byte_tokens(path: Path, *, n_vocab: int = 300, seed: int = 0) -> Path:
    """A one-layer model that loads, then aborts the process at the first text it tokenizes.

    Its SentencePiece vocabulary has plain tokens t0, t1, ... but none for single bytes.
    """
    network = synthetic_models.llama(n_vocab, n_layers=1, n_ctx_train=128, seed=seed, tied=False)
    return write_network(path, network, _tokenizer_without_bytes(n_vocab))


def write_plain_vocabulary(path: Path, *, n_vocab: int, seed: int = 0) -> Path:
    """A one-layer model with a vocabulary of any size, whose logits spread as a trained model's do."""
    network = synthetic_models.llama(n_vocab, n_layers=1, n_ctx_train=128, seed=seed)
    embedding = 4 * network.tensors["token_embd.weight"]
    network = Network(
        network.architecture, network.settings, {**network.tensors, "token_embd.weight": embedding}
    )
    return write_network(path, network, _tokenizer_without_bytes(n_vocab))


def write_first_split_part(folder: Path, *, n_parts: int = 2, seed: int = 0) -> Path:
    """Part 1 of a model split into `n_parts`; the other parts are not written."""
    network = synthetic_models.llama(300, n_layers=1, n_ctx_train=128, seed=seed, tied=False)
    split = TokenizerFields(
        (
            TokenizerField("split.no", 0, gguf.GGUFValueType.UINT16),
            TokenizerField("split.count", n_parts, gguf.GGUFValueType.UINT16),
            TokenizerField("split.tensors.count", 2 * len(network.tensors), gguf.GGUFValueType.INT32),
        )
    )
    tokenizer = TokenizerFields(_tokenizer_without_bytes(300).fields + split.fields)
    return write_network(folder / f"split-00001-of-{n_parts:05d}.gguf", network, tokenizer)


def _tokenizer_without_bytes(n_vocab: int) -> TokenizerFields:
    array, types = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType
    return TokenizerFields(
        (
            TokenizerField("tokenizer.ggml.model", "llama", types.STRING),
            TokenizerField("tokenizer.ggml.tokens", [f"t{n}" for n in range(n_vocab)], array, types.STRING),
            TokenizerField("tokenizer.ggml.scores", [0.0] * n_vocab, array, types.FLOAT32),
            TokenizerField("tokenizer.ggml.token_type", [1] * n_vocab, array, types.INT32),
        )
    )


def _template_field(template: StoredTemplate) -> TokenizerField | None:
    if template is None:
        return None
    if isinstance(template, int):
        return TokenizerField(CHAT_TEMPLATE_KEY, template, gguf.GGUFValueType.UINT32)
    if isinstance(template, str | bytes):
        return TokenizerField(CHAT_TEMPLATE_KEY, template, gguf.GGUFValueType.STRING)
    array, string = gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.STRING
    return TokenizerField(CHAT_TEMPLATE_KEY, list(template), array, string)


def _with_field(tokenizer: TokenizerFields, key: str, field: TokenizerField | None) -> TokenizerFields:
    others = tuple(other for other in tokenizer.fields if other.key != key)
    return TokenizerFields(others if field is None else (*others, field))


def write_rearranged(path: Path, tokenizer: TokenizerFields, *, seed: int = 0) -> Path:
    """A `llama` of 8 layers with 7 MB of matrices in Q4_0, which llama.cpp rearranges for the processor."""
    plain = synthetic_models.llama(tokenizer.n_vocab, n_layers=8, n_ctx_train=2048, seed=seed)
    weights, width, n_inner = synthetic_models.Weights(seed), synthetic_models.EMBEDDING, 8192
    wide = {
        f"blk.{layer}.ffn_{name}.weight": weights.matrix32(*shape)
        for layer in range(8)
        for name, shape in (("up", (n_inner, width)), ("gate", (n_inner, width)), ("down", (width, n_inner)))
    }
    settings = {**plain.settings, "feed_forward_length": n_inner}
    network = Network(plain.architecture, settings, {**plain.tensors, **wide})
    return write_network(path, network, tokenizer, dict.fromkeys(wide, gguf.GGMLQuantizationType.Q4_0))


def write_network(
    path: Path,
    network: Network,
    tokenizer: TokenizerFields,
    quantized: Mapping[str, gguf.GGMLQuantizationType] | None = None,
) -> Path:
    """Any `network` with this tokenizer, as one file; `quantized`: the types of tensors that get another."""
    writer = gguf.GGUFWriter(path, network.architecture)
    writer.add_name(path.stem)
    for name, setting in network.settings.items():
        value_type, item_type = gguf.GGUFValueType.get_type(setting), None
        if value_type == gguf.GGUFValueType.INT32:
            value_type = gguf.GGUFValueType.UINT32
        if value_type == gguf.GGUFValueType.ARRAY:
            item_type = gguf.GGUFValueType.UINT32
        writer.add_key_value(f"{network.architecture}.{name}", setting, value_type, sub_type=item_type)
    for field in tokenizer.fields:
        writer.add_key_value(field.key, field.value, field.value_type, sub_type=field.item_type)
    for name, tensor in network.tensors.items():
        kind = (quantized or {}).get(name)
        writer.add_tensor(name, tensor if kind is None else gguf.quantize(tensor, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
