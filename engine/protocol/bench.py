"""A benchmark as it crosses the process boundary: what is measured, how far it is, what came out.

The cells of the grid are named as `llama-bench` names them, so that both can be given the same. Frozen
dataclasses of plain values; knows nothing about how anything is measured, nor about exports.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from engine.errors import BadRequest
from engine.protocol.load_options import LARGEST_BATCH, FlashAttention, KVType

MOST_REPETITIONS = 1000
_LARGEST = 2**31 - 1


class BenchKind(enum.StrEnum):
    """What a row of the report measures."""

    PROMPT = "pp"  # reading a prompt
    GENERATION = "tg"  # one token after another, without sampling
    BOTH = "pp+tg"  # one after the other, timed together
    CHAT = "chat"  # the whole path of a chat, sampling and process boundary included


@dataclass(frozen=True, slots=True)
class BenchCase:
    """One cell of the grid: `n_prompt` tokens are read, then `n_gen` follow, after `n_depth` untimed ones.

    With `is_chat` a message of about `n_prompt` tokens is answered with `n_gen` by a worker of the chat's own
    kind, in a chat that has about `n_depth` tokens already. `n_threads` None is one for each
    core, `n_gpu_layers` -1 all. `v_type` None is that of K.

    Raises BadRequest for what cannot be measured.
    """

    n_prompt: int = 0
    n_gen: int = 0
    n_depth: int = 0
    n_batch: int = 2048
    n_ubatch: int = 512
    k_type: KVType = KVType.F16
    v_type: KVType | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO
    n_threads: int | None = None
    n_gpu_layers: int = -1
    is_chat: bool = False

    def __post_init__(self) -> None:
        for name in ("n_prompt", "n_gen", "n_depth"):
            if not 0 <= getattr(self, name) <= _LARGEST:
                raise BadRequest(f"{name} must be between 0 and {_LARGEST:,}, not {getattr(self, name):,}.")
        for name in ("n_batch", "n_ubatch"):
            if not 1 <= getattr(self, name) <= LARGEST_BATCH:
                raise BadRequest(
                    f"{name} must be between 1 and {LARGEST_BATCH:,}, not {getattr(self, name):,}."
                )
        if not self.n_prompt and not self.n_gen:
            raise BadRequest("There is nothing to measure: neither a prompt nor tokens to generate.")
        if self.is_chat and not (self.n_prompt and self.n_gen > 1):
            raise BadRequest("A chat needs a prompt and a reply of at least 2 tokens.")

    @property
    def kind(self) -> BenchKind:
        """What is measured."""
        if self.is_chat:
            return BenchKind.CHAT
        if self.n_prompt and self.n_gen:
            return BenchKind.BOTH
        return BenchKind.PROMPT if self.n_prompt else BenchKind.GENERATION


@dataclass(frozen=True, slots=True)
class Bench:
    """Measure the model at `path`, as the first command instead of `LoadModel`.

    Answered by `LoadProgress`..., `BenchProgress`..., one `BenchResult` for each case that was measured,
    as soon as it is, then `BenchFinished` or `Failed`. Any `Cancel` ends the run within one
    decode; what was measured of the case then comes as a result that says `aborted`.

    Raises BadRequest for a number of repetitions outside its range.
    """

    path: str
    cases: tuple[BenchCase, ...]
    repetitions: int = 5
    warm_up: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.repetitions <= MOST_REPETITIONS:
            raise BadRequest(
                f"The number of repetitions must be between 1 and {MOST_REPETITIONS:,}, "
                f"not {self.repetitions:,}."
            )
        if not self.cases:
            raise BadRequest("There is nothing to measure: name a prompt or tokens to generate.")


@dataclass(frozen=True, slots=True)
class BenchProgress:
    """`n_done` of `n_total` runs are done, warm-ups counted; now comes one of `case`.

    `index` of `n_cases` counts from 0. `seconds_left` of all runs, None until something was measured.
    """

    case: BenchCase
    index: int
    n_cases: int
    n_done: int
    n_total: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class BenchModel:
    """The model that was measured, in llama.cpp's words; `path` is the whole one."""

    path: str
    type: str
    size: int
    n_params: int


@dataclass(frozen=True, slots=True)
class BenchMachine:
    """What it was measured on, as `llama-bench` names it."""

    build_commit: str
    build_number: int
    cpu_info: str
    gpu_info: str
    backends: str


@dataclass(frozen=True, slots=True)
class BenchNoise:
    """What may have disturbed a measurement; None where the system does not say.

    `other_load_pct`: CPU time of all other processes, in percent of one core. `throttled`: the processor or a
    card ran slower than it could, because of heat or power. `power_source` is "mains" or "battery".
    """

    other_load_pct: float | None = None
    throttled: bool | None = None
    power_source: str | None = None


@dataclass(frozen=True, slots=True)
class WholePath:
    """What a chat costs beside reading and decoding, in milliseconds; None where it was not measured.

    `load_ms`: until the model answers, context and template included. `ttft_ms`: from sending the question
    until the first token is back. `prompt_ts`: the tokens that were read over that time, `decode_ts`: the
    tokens after the first over the time since it came, both a second. `eviction_ms`: what the token after an
    eviction took longer, the eviction included. `restore_ms`: putting back `n_restored` saved tokens,
    `reevaluation_ms`: reading those tokens instead.
    """

    load_ms: float | None = None
    ttft_ms: float | None = None
    prompt_ts: float | None = None
    decode_ts: float | None = None
    eviction_ms: float | None = None
    restore_ms: float | None = None
    reevaluation_ms: float | None = None
    n_restored: int | None = None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What one case measured: `samples_ns` is the time of each repetition, in nanoseconds.

    `case` is what was really used: `n_threads` and `v_type` are never None, and of a chat the numbers are
    those of the tokens that were really read and written. `test_time` is when it began, as
    `2026-01-31T12:00:00Z`. `kv_bytes`: the whole cache, `peak_rss_bytes`: the most memory that the process
    had, `vram_bytes`: what is allocated on graphics cards. `device`: the one that all layers lie on, as
    llama.cpp names it; None if they lie on several. `peak_operations`: floating-point operations a second
    that the threads reach in products of matrices, None where a card computes. `notices` say in sentences
    what was asked for and is not so.
    """

    case: BenchCase
    kind: BenchKind
    model: BenchModel
    machine: BenchMachine
    test_time: str
    samples_ns: tuple[int, ...]
    load_mode: str = "auto"
    kv_bytes: int | None = None
    peak_rss_bytes: int | None = None
    vram_bytes: int | None = None
    device: str | None = None
    peak_operations: float | None = None
    noise: BenchNoise = field(default_factory=BenchNoise)
    whole_path: WholePath = field(default_factory=WholePath)
    aborted: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchFinished:
    """The benchmark has ended; `aborted` if not all was measured."""

    aborted: bool
