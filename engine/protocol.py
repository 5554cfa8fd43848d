"""Everything that crosses the boundary to the engine's worker process.

Commands go to the worker, events come back; both are frozen dataclasses of plain values, so they
pickle under `spawn` on every platform. One worker serves one model for its whole life: the first
command is `LoadModel`, and another model means another worker. Every `Generate` carries the whole
chat as messages, never as tokens, so that after a crash a new worker can simply be sent it again.

For each `Generate` exactly one `Finished` or `Failed` with its `request_id` comes back, unless the
worker dies: then `EngineDied` is the last event of all.

This module knows nothing about pipes, llama.cpp or Qt.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from engine.errors import (
    BadRequest,
    EngineGone,
    ModelFileError,
    ModelLoadError,
    PromptTooLong,
    TemplateError,
    WeirError,
)


class Role(enum.StrEnum):
    """Who speaks a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat. A `pinned` one stays in the model's view; two messages are equal without it."""

    role: Role
    content: str
    pinned: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen.

    `temperature` 0 is greedy; `top_k` 0, `top_p` 1, `min_p` 0 and `repeat_penalty` 1 switch their
    step off; `seed` None takes a new one for each reply.

    Raises BadRequest for a value outside its range.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int | None = None

    def __post_init__(self) -> None:
        # "not (a <= x <= b)" instead of "x < a or x > b": NaN fails the first and passes the second.
        for name, low, high in (
            ("temperature", 0.0, 100.0),
            ("top_k", 0, 2**31 - 1),
            ("top_p", 0.0, 1.0),
            ("min_p", 0.0, 1.0),
            ("repeat_penalty", 0.01, 100.0),
            ("repeat_last_n", 0, 2**31 - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise BadRequest(f"{name} must be between {low} and {high}, not {value}.")
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise BadRequest(f"seed must be between 0 and {2**32 - 1}, not {self.seed}.")


class Policy(enum.StrEnum):
    """What happens when a chat no longer fits into the context."""

    ENDLESS = "endless"  # sinks stay, the oldest turns leave the cache, nothing is read again
    EXACT = "exact"  # the oldest turns are dropped and what remains is read again
    STOP = "stop"  # the reply ends


class Shift(enum.StrEnum):
    """When positions close the gap that eviction leaves."""

    LAZY = "lazy"  # only when the next one would leave the trained context
    EAGER = "eager"  # at once


class KVType(enum.StrEnum):
    """How the values of the KV cache are stored."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How a chat's cells are kept. `n_sinks`: at least so many first tokens always stay.

    `pin_system` keeps the whole system prompt too.

    Raises BadRequest for a negative number of sinks.
    """

    policy: Policy = Policy.ENDLESS
    shift: Shift = Shift.LAZY
    n_sinks: int = 4
    pin_system: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.n_sinks < 2**31 - 1:
            raise BadRequest(
                f"The number of sinks must be between 0 and half of the context, not {self.n_sinks:,}."
            )


# --- commands -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load the model file at `path`; answered by `LoadProgress`..., then `ModelLoaded` or `Failed`.

    `n_ctx` None takes the trained context, at most 8,192. `chat_format` None takes the file's own
    template; else a name from `engine.chat.chat_template.FORMATS`. `n_gpu_layers` -1 means all.
    `n_seq_max` is how many sequences (chats) may be decoded side by side.
    """

    path: str
    n_ctx: int | None = None
    n_threads: int | None = None
    n_gpu_layers: int = -1
    n_seq_max: int = 4
    chat_format: str | None = None
    kv_type: KVType = KVType.F16


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the last message of `messages`.

    `chat_id` names the sequence whose cache is reused. `max_tokens` None goes on until the model
    ends its turn. Blank stop strings are ignored. With `ignore_eos` the model cannot end its turn.
    """

    request_id: int
    chat_id: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    cache: CachePolicy = field(default_factory=CachePolicy)


@dataclass(frozen=True, slots=True)
class LookAt:
    """Ask what the model sees of a chat, or will see with its next message; answered by `CacheView`."""

    chat_id: str
    messages: tuple[Message, ...]
    cache: CachePolicy = field(default_factory=CachePolicy)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a request within one slice or token; it still ends with `Finished` (cancelled)."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Forget:
    """Free the cache of a chat that was deleted."""

    chat_id: str


class EnduranceRun(enum.StrEnum):
    """What keeps the cells while a long text streams through the model."""

    ENDLESS = "endless"  # sinks + window
    EXACT = "exact"  # the window is read again whenever it is full
    WINDOW = "window"  # a window without sinks, to show the collapse


@dataclass(frozen=True, slots=True)
class Endure:
    """Stream `n_tokens` of a text through the model at `path`, as the first command instead of `LoadModel`.

    Answered by `LoadProgress`..., `EnduranceProgress`..., then `EnduranceReport` or `Failed`. `text_path`
    None takes the reference documentation that comes with Python. `n_ctx` is sinks and window together.
    Any `Cancel` ends the run within one slice, with the report of what was measured.
    """

    path: str
    n_ctx: int
    n_tokens: int = 20_000
    n_sinks: int = 4
    run: EnduranceRun = EnduranceRun.ENDLESS
    shift: Shift = Shift.LAZY
    kv_type: KVType = KVType.F16
    text_path: str | None = None
    n_threads: int | None = None


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the worker process."""


Command = LoadModel | Endure | Generate | LookAt | Cancel | Forget | Shutdown


# --- events ---------------------------------------------------------------------------------------


class FinishReason(enum.StrEnum):
    """Why a reply ended."""

    STOP = "stop"  # the model ended its turn, or a stop string came
    LENGTH = "length"  # max_tokens
    CANCELLED = "cancelled"  # the user pressed Stop
    CONTEXT_FULL = "context_full"  # the policy is to stop there; the text so far is kept
    ERROR = "error"  # the engine failed in the middle; the text so far is kept


class ErrorCode(enum.StrEnum):
    """What kind of failure it was, for programs; people read the message."""

    MODEL_FILE = "model_file"
    MODEL_LOAD = "model_load"
    TEMPLATE = "template"
    PROMPT_TOO_LONG = "prompt_too_long"
    BAD_REQUEST = "bad_request"
    ENGINE_DIED = "engine_died"
    BUG = "bug"


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An error as it crosses the boundary: `message` for a person, `detail` for a log."""

    code: ErrorCode
    message: str
    detail: str = ""

    @classmethod
    def of(cls, error: WeirError) -> ErrorReport:
        """The report of an error that Weir raised."""
        return cls(_CODES.get(type(error), ErrorCode.BUG), str(error))


_CODES: dict[type[WeirError], ErrorCode] = {
    ModelFileError: ErrorCode.MODEL_FILE,
    ModelLoadError: ErrorCode.MODEL_LOAD,
    TemplateError: ErrorCode.TEMPLATE,
    PromptTooLong: ErrorCode.PROMPT_TOO_LONG,
    BadRequest: ErrorCode.BAD_REQUEST,
    EngineGone: ErrorCode.ENGINE_DIED,
}


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory of one device in bytes; None where the driver does not say."""

    name: str
    description: str
    kind: str  # "cpu", "gpu", "igpu", "accel"
    free: int | None
    total: int | None


class Endurance(enum.StrEnum):
    """What a model's cache can do when a chat outgrows it."""

    SHIFTS = "shifts"  # turns can leave the cache one by one
    NEEDS_FULL_SWA = "needs_full_swa"  # so too, with all cells of its sliding-window layers
    CANNOT = "cannot"  # what remains has to be read again: the policy is `exact`


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What was loaded, as llama.cpp reports it.

    `endurance_reason` says in a sentence what the chat's end costs, None for SHIFTS.

    `chat_format` is "template" for the file's own, else the fallback's name, with the reason in
    `chat_format_reason`. `kv_bytes` is the size of the whole KV cache, None if llama.cpp did not say.
    """

    path: str
    name: str
    description: str
    size_bytes: int
    n_params: int
    n_ctx: int
    n_ctx_train: int
    n_seq_max: int
    n_threads: int
    kv_bytes: int | None
    chat_format: str
    chat_format_reason: str | None
    devices: tuple[DeviceMemory, ...]
    endurance: Endurance = Endurance.SHIFTS
    endurance_reason: str | None = None


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
    """`n_done` of the `n_total` prompt tokens that had to be read are read."""

    request_id: int
    n_done: int
    n_total: int


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


@dataclass(frozen=True, slots=True)
class TurnStats:
    """The numbers of one turn; None where there is nothing to divide.

    `shifted`: positions moved. `reevaluated_because`: why tokens that the cache had held were read
    again, None if none were. `resident_from_message`: `CacheView.first_seen` at the end.

    `ttft_ms`: from the worker's receipt of `Generate` to the first token. `prefill_tps`: prefilled
    tokens over the time of their decodes. `decode_tps`: generated tokens after the first over the
    time since the first. `kv_cells_used` of `kv_cells`: live cells of the whole cache.
    """

    tokens_prompt: int
    tokens_reused: int
    tokens_prefilled: int
    tokens_generated: int
    tokens_evicted: int
    ttft_ms: float | None
    prefill_tps: float | None
    decode_tps: float | None
    kv_cells_used: int
    kv_cells: int
    shifted: bool = False
    reevaluated_because: str | None = None
    resident_from_message: int | None = None


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
    | Finished
    | Failed
    | Gauges
    | EnduranceProgress
    | EnduranceReport
    | EngineDied
)


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What llama.cpp says about itself and this machine, without any model."""

    llama_cpp_version: str
    system_info: str
    devices: tuple[DeviceMemory, ...]
