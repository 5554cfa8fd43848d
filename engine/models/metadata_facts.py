"""Reading a header's numbers as llama.cpp reads them: one by one, or one for each layer.

A `GGUFHeader` goes in, checked numbers come out: a count is never negative, a list has one item for each
layer. Knows which architecture's keys to look under, but not what the numbers mean.
"""

from __future__ import annotations

from engine.errors import ModelFileError
from engine.models.byte_reader import refusal
from engine.models.gguf_header import GGUFHeader
from engine.models.gguf_metadata import ArrayValue, Scalar

MAX_LAYERS = 512  # LLAMA_MAX_LAYERS: above it llama.cpp aborts


class LayerMetadata:
    """The numbers under `<architecture>.` of a language model's first file.

    `n_layers` are all blocks, `n_trunk` those of them that every token passes: the last ones may predict
    further tokens, which llama.cpp loads only for speculation.
    """

    def __init__(self, header: GGUFHeader) -> None:
        self._header = header
        self.architecture = header.text("general.architecture") or ""
        self.n_layers = min(self.count("block_count"), MAX_LAYERS)
        self.n_trunk = max(0, self.n_layers - self.count("nextn_predict_layers"))

    def count(self, key: str, default: int = 0) -> int:
        """The whole number under `key`; `default` where it is missing, negative or something else."""
        value = self._header.integer(self._full(key))
        return default if value is None or value < 0 else value

    def is_array(self, key: str) -> bool:
        """Whether a list is stored under `key`."""
        return isinstance(self._header.metadata.get(self._full(key)), ArrayValue)

    def has(self, key: str) -> bool:
        """Whether anything is stored under `key`."""
        return self._full(key) in self._header.metadata

    def per_layer(self, key: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """One count for each layer, from a list or from one number for all of them.

        `default` where the key is missing, zeros if that is empty. Raises ModelFileError for a list of
        another length, which llama.cpp refuses too.
        """
        if not self.has(key):
            return default or (0,) * self.n_layers
        if not self.is_array(key):
            return (self.count(key),) * self.n_layers
        items = self.items(key)
        if len(items) != self.n_layers:
            raise self._damaged(f"{key} has {len(items):,} values for {self.n_layers:,} layers")
        return items

    def items(self, key: str) -> tuple[int, ...]:
        """The list of counts or switches under `key`; empty where there is none.

        Raises ModelFileError for a list longer than any model has layers, or not of whole numbers.
        """
        array = self._header.metadata.get(self._full(key))
        if not isinstance(array, ArrayValue):
            return ()
        if array.items is None or array.count > MAX_LAYERS:
            raise self._damaged(f"{key} has {array.count:,} values, and {MAX_LAYERS} layers are possible")
        return tuple(self._whole(key, item) for item in array.items)

    def _whole(self, key: str, item: Scalar) -> int:
        if not isinstance(item, int) or item < 0:
            raise self._damaged(f"{key} holds something else than counts")
        return int(item)

    def _full(self, key: str) -> str:
        return f"{self.architecture}.{key}"

    def _damaged(self, cause: str) -> ModelFileError:
        advice = "It was not loaded: download it again."
        return refusal(self._header.path.name, f"is damaged: {cause}", advice)
