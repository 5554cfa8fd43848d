"""What the worker process tells, in the order in which it happens."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.bench import BenchFinished, BenchProgress, BenchResult
from engine.protocol.error_report import ErrorReport
from engine.protocol.quantize import QuantizeFinished, QuantizeProgress
from engine.protocol.values import DeviceMemory, FinishReason, ModelInfo, SequenceUse, TurnStats


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """`fraction` of the model file that is loaded, 0 to 1, never falling."""

    fraction: float


@dataclass(frozen=True, slots=True)
class ModelLoaded:
    """The model answers `Generate` from now on. `load_ms` includes the context."""

    info: ModelInfo
    load_ms: float


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """`n_done` of the `n_total` prompt tokens that had to be read are read.

    `seconds_left` at the speed of what was read so far, None until something was.
    """

    request_id: int
    n_done: int
    n_total: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of a reply: whole characters only. `n_generated` counts tokens from the reply's start."""

    request_id: int
    text: str
    n_generated: int


@dataclass(frozen=True, slots=True)
class CacheShifted:
    """The oldest `n_evicted` tokens of the chat left the cache; `shifted` if positions moved."""

    request_id: int
    n_evicted: int
    shifted: bool


@dataclass(frozen=True, slots=True)
class CacheView:
    """What the model sees of a chat, from the ledger.

    `first_seen`: index of the first message that is seen together with all after it; None if none
    is. `partly` if that one has lost its beginning. `still_seen`: indexes of earlier messages that
    stay (system prompt, pins). `refused_pins`: pins that do not stay, since sinks leave half of the
    window free. `n_sinks` and `n_window` are tokens; with `is_forecast` nothing of it is in the
    cache yet, and it is what the next message will show.

    Of the sinks, `n_system` are the system prompt's and `n_pinned` those of pinned messages. `n_chat` are
    the tokens of the chat that were read, what was evicted included, None where some messages were never
    read: `n_chat - n_sinks - n_window` are not seen any more. `n_room` is how many tokens the next message
    may have at most, None where that is not known.
    """

    chat_id: str
    n_messages: int
    first_seen: int | None
    partly: bool
    still_seen: tuple[int, ...]
    refused_pins: tuple[int, ...]
    n_sinks: int
    n_window: int
    n_cells: int
    is_forecast: bool
    n_system: int = 0
    n_pinned: int = 0
    n_chat: int | None = None
    n_room: int | None = None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The answer to `CountTokens`."""

    key: str
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply is complete; `text` is all of it, equal to the joined deltas.

    `error` says what went wrong when `reason` is ERROR.
    """

    request_id: int
    reason: FinishReason
    text: str
    stats: TurnStats
    error: ErrorReport | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A command could not be carried out; `request_id` None means loading the model."""

    request_id: int | None
    error: ErrorReport


@dataclass(frozen=True, slots=True)
class Gauges:
    """What the engine measures about itself, sent four times a second while it works.

    `decode_tps`: tokens over decode time in the last second, None when nothing is being decoded.
    `prefill_tps` and `ttft_ms`: of the newest turn, None until they are known.
    `kv_bytes_used`: bytes of the live cells, of `kv_bytes` in all.
    `rss_file_bytes`: of `rss_bytes`, pages of files, which the system counts as available; None where it
    does not say. `n_threads`: those that decode now, None before any did. `sequences`: who has cells; shared
    ones count once in `kv_cells_used`.
    """

    decode_tps: float | None
    prefill_tps: float | None
    ttft_ms: float | None
    kv_cells_used: int
    kv_cells: int
    kv_bytes_used: int | None
    kv_bytes: int | None
    rss_bytes: int
    devices: tuple[DeviceMemory, ...]
    rss_file_bytes: int | None = None
    n_threads: int | None = None
    sequences: tuple[SequenceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class EnduranceProgress:
    """So far: `perplexity` has one value for each 1,000 tokens that are complete.

    The first one comes before the first token. `n_total` is less than was asked for if the text is shorter.
    """

    n_done: int
    n_total: int
    perplexity: tuple[float, ...]
    tps: float | None
    rss_bytes: int
    shifts: int
    evictions: int


@dataclass(frozen=True, slots=True)
class EnduranceReport:
    """The outcome of `Endure`; field names are those of the JSON export.

    `window` is sinks and window together, in tokens. `n_tokens`: those that were read; fewer than asked
    for after `Cancel`. `perplexity`: one value for each complete 1,000 tokens. `tps`: tokens over the time
    of all decodes, evictions and what was read again included. `shift_ms`: what the token right after
    a shift took beyond the next one, median of the first 20 shifts; None if there was none.
    `rss_growth_bytes`: how much the process grew after the first 2,000 tokens, None for a shorter run.
    `evictions` counts how often room was made. `model` is the file's name.
    """

    policy: str
    shift: str
    window: int
    sinks: int
    kv_type: str
    n_tokens: int
    perplexity: tuple[float, ...]
    perplexity_second_half: float | None
    tps: float | None
    peak_rss_bytes: int
    rss_growth_bytes: int | None
    shifts: int
    shift_ms: float | None
    evictions: int
    model: str


@dataclass(frozen=True, slots=True)
class EngineDied:
    """The worker process ended without being asked to. `cause` is the last line it said, if any."""

    exit_code: int | None
    cause: str


Event = (
    LoadProgress
    | ModelLoaded
    | PrefillProgress
    | TextDelta
    | CacheShifted
    | CacheView
    | TokenCount
    | Finished
    | Failed
    | Gauges
    | EnduranceProgress
    | EnduranceReport
    | BenchProgress
    | BenchResult
    | BenchFinished
    | QuantizeProgress
    | QuantizeFinished
    | EngineDied
)
