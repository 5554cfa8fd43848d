"""Loading: from the path of a GGUF file to a model that can answer.

The file's header is judged first, in Python, so that most broken files get a clear sentence and
never reach llama.cpp. What only llama.cpp can find out it finds out here too, before the model is
called loaded: tokenizing and decoding are tried once, since a bad vocabulary makes llama.cpp abort
at its first use (ggml-org/llama.cpp#25821).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.chat.chat_template import ChatFormat, NotText, TemplateContext, TemplateSource, open_chat_format
from engine.chat.control_text import ControlTexts
from engine.chat.prompt import PromptBuilder
from engine.chat.template_process import TemplateProcess
from engine.decoding.shelf import Shelf, open_shelf
from engine.errors import BadRequest, ModelLoadError
from engine.llama import backend
from engine.llama.batch import Batch
from engine.llama.buffers import by_device
from engine.llama.context import Context, ContextParams, context_params
from engine.llama.draft_loading import check_draft, load_draft
from engine.llama.draft_model import DraftModel
from engine.llama.model import Model
from engine.memory.load_options import Settled, most_exact_batch, n_sequences, settle
from engine.memory.memory_plan import LoadShape, Wishes, default_n_ctx, said_n_ctx_train, trained_n_ctx
from engine.models.gguf_header import GGUFHeader, read_header
from engine.models.gguf_metadata import ArrayValue
from engine.models.model_facts import ModelFacts, facts_of
from engine.models.model_file import check_chat_model
from engine.models.model_parts import read_parts
from engine.protocol import (
    EffectiveOptions,
    Endurance,
    Event,
    LoadModel,
    LoadProgress,
    ModelInfo,
    ModelLoaded,
)

_DEFAULT_OPTIONS = EffectiveOptions()
_PROGRESS_STEP = 0.01
_NOT_LOCKED = (
    "The system does not let the weights be locked in memory, so they may be swapped out: raise the limit of "
    "locked memory (ulimit -l)."
)
_MAX_THREADS = 512  # GGML_MAX_N_THREADS in ggml.h; far more of them crash llama.cpp


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """All that answering needs; `close` frees it in the right order.

    `follows_load`: a processor decodes, with as many threads as suit it. `most_exact`: of `most_exact_batch`.
    """

    model: Model
    context: Context
    prompts: PromptBuilder
    n_seq_max: int
    resources: ExitStack
    shelf: Shelf | None = None
    draft_model: DraftModel | None = None
    follows_load: bool = False
    most_exact: int | None = None

    def close(self) -> None:
        """Free context, model, template process and backend."""
        self.resources.close()


def load(command: LoadModel, put: Callable[[Event], None]) -> LoadedModel:
    """Carry out `command`, reporting progress and finally `ModelLoaded` through `put`.

    Raises ModelFileError, ModelLoadError, BadRequest or TemplateError; nothing stays loaded then.
    """
    started = time.perf_counter()
    header = read_header(Path(command.path))
    check_chat_model(header)
    with ExitStack() as resources:
        templates = TemplateProcess()
        resources.callback(templates.close)
        templates.begin()  # it starts while the weights are read
        llama = open_backend(resources)
        facts = facts_of(read_parts(header))
        settled = _settle(command, facts)
        if command.draft_path:
            check_draft(llama, Path(command.path), Path(command.draft_path))
        model = open_model(
            command.path,
            put,
            resources,
            llama=llama,
            n_gpu_layers=command.n_gpu_layers,
            options=settled.options,
        )
        params = _context_params(command, settled.options, model)
        context = Context(model, params)
        resources.callback(context.close)
        drafter = _load_draft(command, model, params, resources, options=settled.options)
        _try_out(model, context)
        chat_format = _open_format(command, header, model, templates)
        prompts = PromptBuilder(chat_format, model)
        info = _describe(command, header, model, context, chat_format, settled=settled)
        # Every kind of cache came back exactly; one with positions of several axes (M-RoPE) was not tried.
        can_keep = context.can_shift or model.has_recurrent_state
        shelf = open_shelf(command.saved_kv, context.n_ctx, info) if can_keep else None
        put(ModelLoaded(info, (time.perf_counter() - started) * 1000))
        follows_load = command.n_threads is None and settled.options.devices == ()
        return LoadedModel(
            model,
            context,
            prompts,
            info.n_seq_max,
            resources.pop_all(),
            shelf,
            drafter,
            follows_load,
            most_exact_batch(settled.options, facts),
        )


def open_backend(resources: ExitStack) -> backend.Backend:
    """Start llama.cpp; `resources` ends it."""
    llama = backend.Backend()
    resources.callback(llama.close)
    return llama


def open_model(
    path: str,
    put: Callable[[Event], None],
    resources: ExitStack,
    *,
    llama: backend.Backend,
    n_gpu_layers: int = -1,
    options: EffectiveOptions = _DEFAULT_OPTIONS,
) -> Model:
    """Load the weights of a file whose header was checked; `resources` frees them.

    Raises ModelLoadError.
    """
    model = Model(llama, Path(path), n_gpu_layers, options, on_progress=_Progress(put))
    resources.callback(model.close)
    if not model.has_decoder:
        raise ModelLoadError(f"{model.path.name} is a model that only embeds text; it cannot chat.")
    return model


class _Progress:
    """Turns llama.cpp's many progress calls into at most a hundred events."""

    def __init__(self, put: Callable[[Event], None]) -> None:
        self._put = put
        self._last = -1.0

    def __call__(self, fraction: float) -> None:
        if fraction - self._last >= _PROGRESS_STEP or (fraction >= 1.0 > self._last):
            self._last = fraction
            self._put(LoadProgress(min(1.0, fraction)))


def _settle(command: LoadModel, facts: ModelFacts) -> Settled:
    """What is used of the command's wishes."""
    n_ctx = default_n_ctx(facts.n_ctx_train) if command.n_ctx is None else command.n_ctx
    wishes = Wishes(n_ctx, command.kv_type, command.n_gpu_layers, command.n_seq_max, command.options)
    return settle(wishes, backend.devices(), facts)


def _context_params(command: LoadModel, options: EffectiveOptions, model: Model) -> ContextParams:
    n_ctx = default_n_ctx(model.n_ctx_train) if command.n_ctx is None else command.n_ctx
    check_n_ctx(n_ctx, model)
    n_seq_max = n_sequences(command.n_seq_max, model.has_recurrent_state)
    shape = LoadShape(n_ctx, command.n_gpu_layers, n_seq_max, options)
    return context_params(shape, count_threads(command.n_threads))


def check_n_ctx(n_ctx: int, model: Model) -> None:
    """Raises BadRequest unless `model` was trained, as far as is known, for so many tokens."""
    n_ctx_train = trained_n_ctx(model.n_ctx_train)
    if 0 < n_ctx <= n_ctx_train:
        return
    if said_n_ctx_train(model.n_ctx_train) is None:
        raise BadRequest(
            f"{model.path.name} can have a context of 1 to {n_ctx_train:,} tokens, not {n_ctx:,}: "
            f"its file does not say what it was trained for; {n_ctx_train:,} is taken."
        )
    raise BadRequest(
        f"The context must be between 1 and {n_ctx_train:,} tokens, which is what "
        f"{model.path.name} was trained for; {n_ctx:,} is not."
    )


def count_threads(asked: int | None) -> int:
    """The CPU threads to decode with: those asked for, else one for each core.

    Raises BadRequest for fewer than one.
    """
    n_threads = asked or psutil.cpu_count(logical=False) or 1
    if not 1 <= n_threads <= _MAX_THREADS:
        raise BadRequest(f"The number of threads must be between 1 and {_MAX_THREADS}, not {n_threads:,}.")
    return n_threads


def _try_out(model: Model, context: Context) -> None:
    """Tokenize and decode once: what aborts does so now, and the weights are paged in."""
    batch = Batch(1)
    try:
        ids = model.tokenize("Hello", parse_special=False) or [0]
        batch.add(ids[0], 0, 0, True)
        if context.decode(batch) != 0:
            raise ModelLoadError(f"{model.path.name} was loaded, but cannot be evaluated.")
        context.remove(0, -1, -1)
    finally:
        batch.close()


def _load_draft(
    command: LoadModel,
    model: Model,
    params: ContextParams,
    resources: ExitStack,
    *,
    options: EffectiveOptions,
) -> DraftModel | None:
    if not command.draft_path:
        return None
    path, n_gpu_layers = Path(command.draft_path), command.n_gpu_layers
    return load_draft(path, model, params, resources, n_gpu_layers=n_gpu_layers, options=options)


def _open_format(
    command: LoadModel, header: GGUFHeader, model: Model, templates: TemplateProcess
) -> ChatFormat:
    context = TemplateContext(
        bos_token=model.text_of(model.bos),
        eos_token=model.text_of(model.eos),
        control_texts=ControlTexts(model.control_texts()),
    )
    return open_chat_format(_template_of(header), context, command.chat_format, templates)


def _template_of(header: GGUFHeader) -> TemplateSource:
    value = header.metadata.get("tokenizer.chat_template")
    if value is None or isinstance(value, str | bytes):
        return value
    return NotText("an array" if isinstance(value, ArrayValue) else "a number")


def _describe(
    command: LoadModel,
    header: GGUFHeader,
    model: Model,
    context: Context,
    chat_format: ChatFormat,
    *,
    settled: Settled,
) -> ModelInfo:
    endurance, endurance_reason = _endurance(model, context)
    devices = backend.devices()
    return ModelInfo(
        path=str(model.path),
        name=model.path.stem,  # general.name is often a training run's, and differs from what people chose
        description=model.description,
        size_bytes=model.size_bytes,
        n_params=model.n_params,
        n_ctx=context.n_ctx,
        n_ctx_train=model.n_ctx_train,
        n_seq_max=n_sequences(command.n_seq_max, model.has_recurrent_state),
        n_threads=context.n_threads,
        kv_bytes=context.kv_bytes,
        chat_format=chat_format.name,
        chat_format_reason=chat_format.reason,
        devices=devices,
        endurance=endurance,
        endurance_reason=endurance_reason,
        buffers=by_device(model.buffers, context.buffers, [device.name for device in devices]),
        architecture=header.text("general.architecture") or "",
        options=settled.options,
        notices=(*map(str, settled.sentences), *([_NOT_LOCKED] if model.is_unlocked else [])),
    )


def _endurance(model: Model, context: Context) -> tuple[Endurance, str | None]:
    """What happens when a chat outgrows the context, told before the first message."""
    costs = f"the newest turns, up to {context.n_ctx:,} tokens, are read again whenever the context is full"
    if model.has_recurrent_state:
        return Endurance.CANNOT, f"This model's state cannot forget single turns: {costs}."
    if not context.can_shift:
        return Endurance.CANNOT, f"This model's positions cannot be moved: {costs}."
    if model.n_swa:
        extra = context.swa_extra_bytes / 2**20
        return Endurance.NEEDS_FULL_SWA, (
            f"Endless chats with this model keep all cells of its sliding-window layers: +{extra:,.0f} MiB."
        )
    return Endurance.SHIFTS, None
