"""A loaded model: its weights, its vocabulary and what it says about itself.

Text goes in as `str`, tokens come out as ids, and single tokens go back to bytes. Knows nothing
about contexts, caches or chat templates.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import llama_cpp.llama_cpp as llama

from engine.errors import ModelLoadError
from engine.llama.backend import Backend, device_list
from engine.llama.buffers import counted_once, read_sizes
from engine.llama.long_runs import without_long_runs
from engine.protocol import EffectiveOptions, Split

_UNKNOWN_OR_CONTROL = (1 << 1) | (1 << 3)  # enum llama_token_attr: what parse_special=False skips
_BPE = 2  # enum llama_vocab_type
_DEFAULT_OPTIONS = EffectiveOptions()
_SPLIT_MODES = {
    Split.NONE: llama.LLAMA_SPLIT_MODE_NONE,
    Split.LAYER: llama.LLAMA_SPLIT_MODE_LAYER,
    Split.ROW: llama.LLAMA_SPLIT_MODE_ROW,
}
_NOT_LOCKED = re.compile(r"warning: (failed to mlock|mlock not supported)")


class Model:
    """The weights of one GGUF file, in memory until `close`.

    `on_progress` gets fractions from 0 to 1 during the load. With `dry_run` only the metadata and
    the vocabulary are read and no weights are allocated; such a model can tokenize, not decode.
    `buffers` tells where the weights lie; `is_unlocked` is True where the system refused to lock them in
    memory.

    Raises ModelLoadError with llama.cpp's own reason. A file that breaks an assertion in llama.cpp
    ends the process: load untrusted files in a process that may die.
    """

    def __init__(
        self,
        backend: Backend,
        path: Path,
        n_gpu_layers: int = -1,
        options: EffectiveOptions = _DEFAULT_OPTIONS,
        *,
        on_progress: Callable[[float], None] = lambda _fraction: None,
        dry_run: bool = False,
    ) -> None:
        backend.log.clear()
        backend.errors.clear()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = n_gpu_layers
        # Without layers for it, a card is started all the same, and takes some hundred megabytes for prompts.
        names = () if n_gpu_layers == 0 else options.devices
        devices = None if names is None else device_list(names)
        if devices is not None:
            params.devices = ctypes.cast(devices, ctypes.c_void_p)
        params.split_mode = _SPLIT_MODES[options.split]
        params.load_mode = _load_mode(options)
        params.progress_callback = llama.llama_progress_callback(_progress(on_progress))
        if dry_run:
            params.no_alloc = True
            params.load_mode = llama.LLAMA_LOAD_MODE_NONE  # with mmap, no_alloc aborts the process
        self._handle = llama.llama_model_load_from_file(os.fsencode(path), params)
        if not self._handle:
            raise ModelLoadError(
                f"{path.name} could not be loaded: {_load_failure(backend)}. "
                "Try another file of this model, or another model."
            )
        self.backend = backend
        self.path = path
        self.buffers = counted_once(read_sizes(backend.log), self.size_bytes)
        self.is_unlocked = any(map(_NOT_LOCKED.match, backend.log))
        self._vocab = llama.llama_model_get_vocab(self._handle)
        self._is_bpe = self.vocabulary_kind == _BPE
        self._pieces: dict[int, bytes] = {}

    def close(self) -> None:
        """Free the weights; contexts of this model must be closed before."""
        if self._handle:
            llama.llama_model_free(self._handle)
            self._handle = None

    @property
    def handle(self) -> object:
        """llama.cpp's pointer, for the other modules of this package."""
        return self._handle

    # --- facts ---

    @property
    def description(self) -> str:
        """Architecture, size and quantization in llama.cpp's words, as in `llama 135M Q4_1`."""
        buffer = ctypes.create_string_buffer(256)
        llama.llama_model_desc(self._handle, buffer, 256)
        return buffer.value.decode("utf-8", "replace")

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return int(llama.llama_model_size(self._handle))

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return int(llama.llama_model_n_params(self._handle))

    @property
    def n_ctx_train(self) -> int:
        """Context length that the model was trained for; 0 if the file does not say."""
        return max(0, int(llama.llama_model_n_ctx_train(self._handle)))

    @property
    def n_swa(self) -> int:
        """Tokens that sliding-window layers attend to; 0 for none such."""
        return int(llama.llama_model_n_swa(self._handle))

    @property
    def has_recurrent_state(self) -> bool:
        """True for recurrent and hybrid models, whose state cannot forget the middle."""
        return bool(llama.llama_model_is_recurrent(self._handle) or llama.llama_model_is_hybrid(self._handle))

    @property
    def has_decoder(self) -> bool:
        """False for models that only embed text."""
        return bool(llama.llama_model_has_decoder(self._handle))

    # --- vocabulary ---

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""
        return int(llama.llama_vocab_n_tokens(self._vocab))

    @property
    def vocabulary_kind(self) -> int:
        """How texts become tokens, as llama.cpp numbers it."""
        return int(llama.llama_vocab_type(self._vocab))

    @property
    def bos(self) -> int | None:
        """The token that starts every text, if there is one."""
        return _token_or_none(llama.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> int | None:
        """The token that ends a text, if there is one."""
        return _token_or_none(llama.llama_vocab_eos(self._vocab))

    @property
    def adds_bos(self) -> bool:
        """True if the file asks for BOS before every prompt."""
        return bool(llama.llama_vocab_get_add_bos(self._vocab))

    def text_of(self, token: int | None) -> str:
        """The text of a special token as templates write it; empty for None."""
        if token is None:
            return ""
        text = llama.llama_vocab_get_text(self._vocab, token)
        return (text or b"").decode("utf-8", "replace")

    def is_end_of_generation(self, token: int) -> bool:
        """True for EOS, EOT and the like."""
        return bool(llama.llama_vocab_is_eog(self._vocab, token))

    def end_of_generation_tokens(self) -> list[int]:
        """All tokens that end a reply."""
        return [token for token in range(self.n_vocab) if self.is_end_of_generation(token)]

    def control_texts(self) -> list[str]:
        """Texts that llama.cpp turns into control tokens when it parses special tokens."""
        vocab, attributes = self._vocab, llama.llama_vocab_get_attr
        marked = (i for i in range(self.n_vocab) if attributes(vocab, i) & _UNKNOWN_OR_CONTROL)
        return [text for text in map(self.text_of, marked) if text]

    def tokenize(self, text: str, parse_special: bool) -> list[int]:
        """Token ids of `text`, without any BOS of llama.cpp's own.

        With `parse_special` False nothing in the text can become a control token.
        """
        return [token for piece in self._safe_pieces(text) for token in self._tokenize(piece, parse_special)]

    def count(self, text: str) -> int:
        """How many tokens `tokenize` makes of `text` without special ones.

        May be called from another thread than the rest: llama.cpp's tokenizer is thread-safe, by its header.
        """
        return sum(map(self._count, self._safe_pieces(text)))

    def _safe_pieces(self, text: str) -> Iterable[str]:
        # Other kinds of vocabulary use no regular expressions, and some put a space before each piece.
        return without_long_runs(text) if self._is_bpe else (text,)

    def _count(self, text: str) -> int:
        data = text.encode("utf-8", "replace")
        return -int(llama.llama_tokenize(self._vocab, data, len(data), None, 0, False, False))

    def _tokenize(self, text: str, parse_special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        capacity = len(data) + 16  # a token covers at least a byte; prefixes add a few
        ids = (llama.llama_token * capacity)()
        count = llama.llama_tokenize(self._vocab, data, len(data), ids, capacity, False, parse_special)
        if count < 0:
            capacity = -count
            ids = (llama.llama_token * capacity)()
            count = llama.llama_tokenize(self._vocab, data, len(data), ids, capacity, False, parse_special)
        return list(ids[: max(0, count)])

    def piece(self, token: int) -> bytes:
        """The bytes that `token` stands for in a reply; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._read_piece(token)
        return known

    def _read_piece(self, token: int) -> bytes:
        size = 64
        buffer = ctypes.create_string_buffer(size)
        count = llama.llama_token_to_piece(self._vocab, token, buffer, size, 0, False)
        if count < 0:
            size = -count
            buffer = ctypes.create_string_buffer(size)
            count = llama.llama_token_to_piece(self._vocab, token, buffer, size, 0, False)
        return buffer.raw[: max(0, count)]


def _load_mode(options: EffectiveOptions) -> int:
    if options.mlock:
        return int(llama.LLAMA_LOAD_MODE_MMAP_MLOCK if options.mmap else llama.LLAMA_LOAD_MODE_MLOCK)
    modes = {None: llama.LLAMA_LOAD_MODE_AUTO, True: llama.LLAMA_LOAD_MODE_MMAP}
    return int(modes.get(options.mmap, llama.LLAMA_LOAD_MODE_NONE))


def _progress(on_progress: Callable[[float], None]) -> Callable[[float, object], bool]:
    def report(fraction: float, _user_data: object) -> bool:
        on_progress(fraction)
        return True

    return report


def _token_or_none(token: int) -> int | None:
    return token if token >= 0 else None


def _load_failure(backend: Backend) -> str:
    """llama.cpp's own reason, shortened to what a person needs."""
    for line in backend.errors:
        _, _, reason = line.partition("error loading model: ")
        if reason:
            return _tidy(reason)
    return last_error(backend)


def last_error(backend: Backend) -> str:
    """The last line in which llama.cpp told of a failure."""
    return _tidy(backend.errors[-1]) if backend.errors else "llama.cpp gave no reason"


def _tidy(line: str) -> str:
    return " ".join(line.split()).rstrip(".")
