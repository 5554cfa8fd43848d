"""Endurance: a long text streams through the model, and what it costs and how well it goes is measured.

`Endure` goes in; `EnduranceProgress` comes out about twice a second, then one `EnduranceReport`. The
proof of StreamingLLM (Xiao et al. 2023, arXiv:2309.17453) on one's own model and machine: with sinks
the perplexity keeps its level however long the text is, without them it does not, and the memory
keeps its level too. All that a run needs is allocated at its start, so that growth means a leak.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from engine.errors import BadRequest
from engine.llama.context import Context, ContextParams
from engine.llama.model import Model
from engine.loading import check_n_ctx, count_threads, open_backend, open_model
from engine.measure.record import Record
from engine.measure.source_text import source_text
from engine.measure.token_stream import StreamPolicy, TokenStream
from engine.models.gguf_header import read_header
from engine.models.model_file import check_chat_model
from engine.protocol import (
    EnduranceProgress,
    EnduranceReport,
    EnduranceRun,
    Endure,
    Event,
    max_sinks,
)

MAX_TOKENS = 10_000_000
_MIN_WINDOW = 16
_MAX_SLICE = 64
# More at once would be no faster on a CPU, and Cancel has to wait for it.
_N_BATCH = 128
_PROGRESS_SECONDS = 0.5


def endure(command: Endure, put: Callable[[Event], None], is_cancelled: Callable[[], bool]) -> None:
    """Carry out `command`; `is_cancelled` is asked before each slice and ends the run with its report.

    Raises BadRequest for values that make no sense, a text that cannot be read, or a policy that this
    model's cache cannot follow; ModelFileError or ModelLoadError for a model that cannot be loaded.
    """
    _check(command)
    text = source_text(command.text_path, command.n_tokens)
    check_chat_model(read_header(Path(command.path)))
    with ExitStack() as resources:
        model = open_model(command.path, put, resources, llama=open_backend(resources))
        check_n_ctx(command.n_ctx, model)
        ids = _tokens(text, command, model)
        del text
        context = Context(model, _context_params(command))
        resources.callback(context.close)
        _check_policy(command, model, context)
        stream = TokenStream(context, _policy(command, model), ids)
        resources.callback(stream.close)
        _run(command, stream, Record(len(ids)), put, is_cancelled)


def _run(
    command: Endure,
    stream: TokenStream,
    record: Record,
    put: Callable[[Event], None],
    is_cancelled: Callable[[], bool],
) -> None:
    put(_progress(stream, record))
    told = time.monotonic()
    while stream.n_done < record.n_tokens and not is_cancelled():
        record.add(stream.step(), stream.n_done)
        if time.monotonic() - told >= _PROGRESS_SECONDS:
            told = time.monotonic()
            put(_progress(stream, record))
    put(_report(command, stream, record))


# --- what is asked --------------------------------------------------------------------------------


def _check(command: Endure) -> None:
    """What can be judged without the model."""
    if not 1 <= command.n_tokens <= MAX_TOKENS:
        raise BadRequest(
            f"The number of tokens must be between 1 and {MAX_TOKENS:,}, not {command.n_tokens:,}."
        )
    if command.n_ctx < _MIN_WINDOW:
        raise BadRequest(f"The window must have at least {_MIN_WINDOW} tokens, not {command.n_ctx:,}.")
    if not 0 <= command.n_sinks <= max_sinks(command.n_ctx):
        raise BadRequest(
            f"The number of sinks must be between 0 and {max_sinks(command.n_ctx):,}, half of the window of "
            f"{command.n_ctx:,} tokens, not {command.n_sinks:,}."
        )


def _check_policy(command: Endure, model: Model, context: Context) -> None:
    if command.run is EnduranceRun.EXACT or (context.can_shift and not model.has_recurrent_state):
        return
    raise BadRequest(
        f"{model.path.name} cannot drop the middle of its cache, so the policy {command.run.value} is not "
        "possible with it; the policy exact is."
    )


def _tokens(text: str, command: Endure, model: Model) -> Sequence[int]:
    """The text's first `n_tokens` tokens, after BOS if the model wants that."""
    beginning = [model.bos] if model.adds_bos and model.bos is not None else []
    ids = [*beginning, *model.tokenize(text, parse_special=False)][: command.n_tokens]
    if len(ids) == len(beginning):
        raise BadRequest(f"There is no text in {command.text_path}; name a longer one.")
    return ids


def _context_params(command: Endure) -> ContextParams:
    return ContextParams(
        command.n_ctx,
        n_threads=count_threads(command.n_threads),
        n_batch=_N_BATCH,
        kv_type=command.kv_type,
        n_outputs_max=_MAX_SLICE,
    )


def _policy(command: Endure, model: Model) -> StreamPolicy:
    n_sinks = 0 if command.run is EnduranceRun.WINDOW else max(command.n_sinks, int(model.adds_bos))
    return StreamPolicy(
        run=command.run,
        shift=command.shift,
        capacity=command.n_ctx,
        n_sinks=n_sinks,
        last_position=max(model.n_ctx_train, command.n_ctx),
        # Half of an eviction's step or less, so that the window is never far from full.
        slice_size=min(_MAX_SLICE, max(1, (command.n_ctx - n_sinks) // 8)),
    )


# --- what is told ---------------------------------------------------------------------------------


def _progress(stream: TokenStream, record: Record) -> EnduranceProgress:
    return EnduranceProgress(
        n_done=stream.n_done,
        n_total=record.n_tokens,
        perplexity=record.perplexity,
        tps=_tps(stream),
        rss_bytes=record.rss_bytes,
        shifts=stream.shifts,
        evictions=stream.evictions,
    )


def _report(command: Endure, stream: TokenStream, record: Record) -> EnduranceReport:
    shift_seconds = stream.shift_seconds
    return EnduranceReport(
        policy=command.run.value,
        shift=command.shift.value,
        window=command.n_ctx,
        sinks=stream.policy.n_sinks,
        kv_type=command.kv_type.value,
        n_tokens=stream.n_done,
        perplexity=record.perplexity,
        perplexity_second_half=record.perplexity_second_half,
        tps=_tps(stream),
        peak_rss_bytes=record.peak_rss_bytes,
        rss_growth_bytes=record.rss_growth_bytes,
        shifts=stream.shifts,
        shift_ms=None if shift_seconds is None else shift_seconds * 1000,
        evictions=stream.evictions,
        model=Path(command.path).name,
    )


def _tps(stream: TokenStream) -> float | None:
    return stream.n_done / stream.seconds if stream.n_done else None
