"""What the cells of a chat depend on, beside its tokens: two equal keys mean that they can change places.

A model's file and the settings of its load go in, a `KVKey` comes out. Every field is compared for equality
and there is no rule by which an unequal one might still do: a refused state costs one slower turn, a wrongly
accepted one a wrong reply. Knows nothing about where states are kept.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.models.byte_reader import refusal
from engine.models.gguf_header import GGUFHeader
from engine.models.model_parts import headers_of
from engine.protocol import KVType

FORMAT = 1
"""Raised whenever the layout of the files, or what is rendered into the same messages' tokens, changes."""

_N_BLOCKS = 64  # half a second on a disk that has to move a head for each
_BLOCK_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class KVKey:
    """All that decides the bytes of a cell, and which tokens a message becomes.

    `model`: its `fingerprint`. `build`: llama.cpp's version and what it uses of the processor, since other
    kernels round otherwise. `layout`: which devices compute which layers, for the same reason.
    `flash_attention` also decides whether V lies transposed. `n_ctx` must be the very same: models with two
    sets of rotation factors (LongRoPE: Phi-3 and others) choose between them by it, and a bigger context
    would have evicted less, so that its chat would see more than is saved. `swa_full`: whether
    sliding-window layers have all cells. `chat_format`: the template that made the tokens of the messages.
    """

    model: str
    architecture: str
    build: str
    k_type: KVType
    v_type: KVType
    flash_attention: bool
    swa_full: bool
    n_ctx: int
    chat_format: str = "template"
    layout: str = ""

    @property
    def digest(self) -> bytes:
        """32 bytes, the same for equal keys of the same `FORMAT` alone."""
        fields = json.dumps([FORMAT, dataclasses.asdict(self)], sort_keys=True)
        return hashlib.blake2b(fields.encode(), digest_size=32).digest()


def fingerprint(path: Path) -> str:
    """The identity of the model at `path`, all its parts together, as 64 hexadecimal digits.

    Of each part: its size, the time of its last change, its header with the vocabulary, and 64 blocks of
    16 KiB spread evenly over the weights, so that 40 GB cost some milliseconds. Another model, quantization,
    fine-tune or edited header is told apart, and so is a file that was written to in place. What changed
    fewer bytes than lie between two blocks, kept the size and set the time back is taken for the same.
    A copy with a new time counts as another model; the name and the folder do not matter.

    Raises ModelFileError where a part is missing, damaged or cannot be read.
    """
    digest = hashlib.sha256()
    for header in headers_of(path):
        try:
            for piece in _pieces(header):
                digest.update(piece)
        except OSError as error:
            raise refusal(header.path.name, f"cannot be read ({error.strerror or error})") from error
    return digest.hexdigest()


def _pieces(header: GGUFHeader) -> Iterable[bytes]:
    status = header.path.stat()
    yield f"{status.st_size}/{status.st_mtime_ns}/{header.data_offset};".encode()
    with header.path.open("rb", buffering=0) as file:
        yield file.read(header.data_offset)
        last = max(header.data_offset, status.st_size - _BLOCK_BYTES)
        for number in range(_N_BLOCKS):
            file.seek(header.data_offset + (last - header.data_offset) * number // (_N_BLOCKS - 1))
            yield file.read(_BLOCK_BYTES)
