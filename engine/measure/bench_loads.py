"""What the cases of a benchmark need loaded: one model at a time, kept as long as the cases want it.

Cases go in; a `Model` and what a context is made with come out. Promises: a model is freed before the next is
loaded, as two may not fit. Knows nothing about measuring.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import BadRequest
from engine.llama import backend
from engine.llama.backend import Backend
from engine.llama.context import ContextParams
from engine.llama.model import Model
from engine.loading import check_n_ctx, count_threads, open_model
from engine.measure.bench_cache import ROOM_FOR_EVICTIONS
from engine.memory.kv_math import kv_sizes
from engine.memory.load_options import Settled, settle
from engine.memory.memory_plan import Wishes, trained_n_ctx
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.model_facts import ModelFacts, facts_of
from engine.models.model_file import check_chat_model
from engine.models.model_parts import read_parts
from engine.protocol import BenchCase, Event, FlashAttention, LoadOptions

_LOAD_MODES = {None: "auto", True: "mmap", False: "none"}


@dataclass(frozen=True, slots=True)
class Settlement:
    """A case as it is really measured, and why it differs from what was asked for."""

    case: BenchCase
    load_mode: str
    notices: tuple[str, ...]


class Loads:
    """Owns the model of one file. `close` frees it.

    Raises ModelFileError for a file that is none.
    """

    def __init__(self, path: str, llama: Backend, put: Callable[[Event], None]) -> None:
        self._path = path
        self._llama = llama
        self._put = put
        header: GGUFHeader = read_header(Path(path))
        check_chat_model(header)
        self._facts: ModelFacts = facts_of(read_parts(header))
        self._resources = ExitStack()
        self._model: Model | None = None
        self._loaded_for: tuple[object, ...] = ()

    def close(self) -> None:
        """Free the model, if one is loaded."""
        self._resources.close()
        self._model, self._loaded_for = None, ()

    def settle(self, case: BenchCase) -> Settlement:
        """What goes together of the case. Raises BadRequest for an impossible number of threads."""
        settled = self._settled(case)
        options = settled.options
        effective = replace(
            case,
            n_threads=count_threads(case.n_threads),
            n_ubatch=min(case.n_ubatch, case.n_batch),
            k_type=options.k_type,
            v_type=options.v_type,
            flash_attention=options.flash_attention,
        )
        return Settlement(effective, _LOAD_MODES[options.mmap], tuple(map(str, settled.sentences)))

    def check(self, case: BenchCase) -> None:
        """Before anything is loaded. Raises BadRequest for more tokens than the model was trained for."""
        n_gen = max(case.n_gen, ROOM_FOR_EVICTIONS) if case.is_chat else case.n_gen
        wanted, most = case.n_depth + case.n_prompt + n_gen, trained_n_ctx(self._facts.n_ctx_train)
        if wanted > most:
            raise BadRequest(
                f"{Path(self._path).name} can have a context of {most:,} tokens, but depth, prompt and reply "
                f"together need {wanted:,}. Nothing of it was measured: choose smaller numbers."
            )

    def kv_bytes(self, case: BenchCase, n_ctx: int, *, swa_full: bool) -> int:
        """Bytes of the whole cache, states included, of a context of `n_ctx` cells."""
        sizes = kv_sizes(
            self._facts,
            n_ctx,
            case.k_type,
            v_type=case.v_type,
            flash_attention=case.flash_attention is not FlashAttention.OFF,
            n_ubatch=min(case.n_ubatch, case.n_batch),
            swa_full=swa_full,
        )
        return sizes.kv_bytes + sizes.state_bytes

    def model(self, case: BenchCase) -> Model:
        """The model with the case's layers on the GPU. Raises ModelLoadError."""
        options = self._settled(case).options
        wanted = (case.n_gpu_layers, options.mmap, options.devices)
        if self._model is None or wanted != self._loaded_for:
            self.close()
            self._model = open_model(
                self._path,
                self._put,
                self._resources,
                llama=self._llama,
                n_gpu_layers=case.n_gpu_layers,
                options=options,
            )
            self._loaded_for = wanted
        return self._model

    def _settled(self, case: BenchCase) -> Settled:
        # Without a context the batch is left as it was asked for: llama.cpp cuts it itself, and
        # llama-bench reports what was asked for.
        options = LoadOptions(case.v_type, case.flash_attention, case.n_batch, case.n_ubatch)
        wishes = Wishes(None, case.k_type, case.n_gpu_layers, 1, options)
        return settle(wishes, backend.devices(), self._facts)


def context_params(case: BenchCase, model: Model) -> ContextParams:
    """A context that holds just the case, as `llama-bench` makes it.

    Raises BadRequest if the model was not trained for so many tokens.
    """
    n_ctx = case.n_prompt + case.n_gen + case.n_depth
    check_n_ctx(n_ctx, model)
    return ContextParams(
        n_ctx,
        n_threads=case.n_threads or 1,
        n_batch=case.n_batch,
        n_ubatch=min(case.n_ubatch, case.n_batch),
        swa_full=False,
        kv_type=case.k_type,
        v_type=case.v_type,
        flash_attention=case.flash_attention,
    )
