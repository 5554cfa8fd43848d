"""What commands and events are about: messages, settings of a reply, facts of models and turns.

Frozen dataclasses and enums of plain values. Knows nothing about who sends them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from engine.errors import BadRequest
from engine.protocol.load_options import EffectiveOptions


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


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """How a chat's cells are kept. `n_sinks`: at least so many first tokens always stay (see `max_sinks`).

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


def real_n_ctx(asked: int) -> int:
    """The tokens that a context really has: it is made in steps of 256, as llama.cpp would round it up."""
    return -(-asked // 256) * 256


def max_sinks(n_ctx: int) -> int:
    """How many first tokens may stay in a context of `n_ctx` at most: half of it is left to the window."""
    return n_ctx // 2


class EnduranceRun(enum.StrEnum):
    """What keeps the cells while a long text streams through the model."""

    ENDLESS = "endless"  # sinks + window
    EXACT = "exact"  # the window is read again whenever it is full
    WINDOW = "window"  # a window without sinks, to show the collapse


class FinishReason(enum.StrEnum):
    """Why a reply ended."""

    STOP = "stop"  # the model ended its turn, or a stop string came
    LENGTH = "length"  # max_tokens
    CANCELLED = "cancelled"  # the user pressed Stop
    CONTEXT_FULL = "context_full"  # the policy is to stop there; the text so far is kept
    ERROR = "error"  # the engine failed in the middle; the text so far is kept


@dataclass(frozen=True, slots=True)
class SavedKV:
    """Where the cells of chats are kept on disk, and how many bytes they may take there.

    Raises BadRequest for a negative budget.
    """

    folder: str
    budget_bytes: int

    def __post_init__(self) -> None:
        if self.budget_bytes < 0:
            raise BadRequest(f"Saved chats cannot take {self.budget_bytes:,} bytes: the least is 0.")


@dataclass(frozen=True, slots=True)
class SequenceUse:
    """What one sequence has in the cache: `n_cells`, of which `n_shared` serve others too."""

    chat_id: str
    n_cells: int
    n_shared: int
    is_answering: bool


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
class DeviceBuffers:
    """What llama.cpp allocated on one device for a model and its context, in bytes, as its log says.

    `file_cache`: what is mapped of the model's file beside `weights`, and not read again, since it was
    rearranged; the system takes it back when it needs room.
    """

    device: str
    weights: int
    kv: int
    compute: int
    file_cache: int = 0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What was loaded, as llama.cpp reports it.

    `endurance_reason` says in a sentence what the chat's end costs, None for SHIFTS.

    `chat_format` is "template" for the file's own, else the fallback's name, with the reason in
    `chat_format_reason`. `kv_bytes` is the size of the whole KV cache, None if llama.cpp did not say.
    `options` are those that it was loaded with; `notices` say in sentences what was wished for and is not so.
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
    buffers: tuple[DeviceBuffers, ...] = ()
    architecture: str = ""
    options: EffectiveOptions = field(default_factory=EffectiveOptions)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnStats:
    """The numbers of one turn; None where there is nothing to divide.

    `shifted`: positions moved. `reevaluated_because`: why tokens that the cache had held were read
    again, None if none were. `resident_from_message`: `CacheView.first_seen` at the end.

    `ttft_ms`: from the worker's receipt of `Generate` to the first token. `prefill_tps`: prefilled
    tokens over the time of their decodes. `decode_tps`: generated tokens after the first over the
    time since the first. `thinking_ms`: from the first token to the end of what the model thinks before it
    answers (see `engine.thinking`), None if it does not. `kv_cells_used` of `kv_cells`: live cells of the
    whole cache.

    Of `tokens_reused`, `tokens_restored` came from saved KV and `tokens_shared` from the cells of another
    sequence. `tokens_drafted` were proposed ahead of the model, which said `tokens_accepted` of them itself.
    `draft_gain`: how many times as fast as plain decoding the reply came, by the steps' measured times; None
    without drafts.
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
    thinking_ms: float | None = None
    tokens_restored: int = 0
    tokens_shared: int = 0
    tokens_drafted: int = 0
    tokens_accepted: int = 0
    draft_gain: float | None = None


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What llama.cpp says about itself and this machine, without any model."""

    llama_cpp_version: str
    system_info: str
    devices: tuple[DeviceMemory, ...]
