"""One row of a benchmark's report: `llama-bench`'s fields by their names, units and types, then Weir's own.

Measurements go in, columns come out, and JSON objects in both directions. Promises: the same columns in the
same order for every row; what was not measured, or cannot be divided, is None, never NaN or infinity. Names
and types are those of llama.cpp's tools/llama-bench/llama-bench.cpp. Knows nothing about files.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from app.data.bench_columns import COLUMNS

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BenchRecord:
    """One case of one run. Sizes in bytes, rates in tokens a second, the rest in the unit that its name says.

    `model_filename` is the whole path; exports shrink it (see `app.data.bench_export`). `test_kind` is one of
    `engine.protocol.BenchKind`. `bytes_per_token`: what a token reads of weights and cache, in the middle of
    the case. `bandwidth_gbs`: what the device reads at best, in 10^9 bytes a second; `limit_ts`: the speed
    that this alone would allow; `predicted_ts`: the one that was expected before. `compute_used_pct`:
    operations in percent of those of a matrix product on the same threads. `other_load_pct`: CPU time of
    other processes in percent of one core. `prompt_ts`, `decode_ts`: of a chat, reading and replying apart
    (see `engine.protocol.WholePath`). `aborted`: not all repetitions were measured,
    or, in a report's last row, not all cases; `missing_cases`: there, how many were not.
    """

    # --- llama-bench's ---
    build_commit: str
    build_number: int
    cpu_info: str
    gpu_info: str
    backends: str
    model_filename: str
    model_type: str
    model_size: int
    model_n_params: int
    n_batch: int
    n_ubatch: int
    n_threads: int
    type_k: str
    type_v: str
    n_gpu_layers: int
    flash_attn: int
    n_prompt: int
    n_gen: int
    n_depth: int
    test_time: str
    samples_ns: tuple[int, ...]
    load_mode: str = "auto"
    # These Weir leaves as they are, with llama-bench's defaults.
    cpu_mask: str = "0x0"
    cpu_strict: bool = False
    poll: int = 50
    n_cpu_moe: int = 0
    split_mode: str = "layer"
    main_gpu: int = 0
    no_kv_offload: bool = False
    devices: str = "auto"
    tensor_split: str = "0.00"
    tensor_buft_overrides: str = "none"
    lazy_mode: str = "auto"
    embeddings: bool = False
    no_op_offload: int = 0
    no_host: bool = False
    repack: bool = True
    fit_target: int = 0
    fit_min_ctx: int = 0
    # --- Weir's own ---
    test_kind: str = ""
    model_name: str | None = None
    ttft_ms: float | None = None
    prompt_ts: float | None = None
    decode_ts: float | None = None
    load_ms: float | None = None
    eviction_ms: float | None = None
    restore_ms: float | None = None
    reevaluation_ms: float | None = None
    n_restored: int | None = None
    kv_bytes: int | None = None
    peak_rss_bytes: int | None = None
    vram_bytes: int | None = None
    bytes_per_token: int | None = None
    bandwidth_gbs: float | None = None
    predicted_ts: float | None = None
    compute_used_pct: float | None = None
    power_source: str | None = None
    other_load_pct: float | None = None
    throttled: bool | None = None
    aborted: bool = False
    missing_cases: int = 0
    weir_version: str = ""

    # --- what follows from the samples ---

    @property
    def samples_ts(self) -> tuple[float | None, ...]:
        """Tokens a second of each repetition, None where no time passed."""
        return tuple(1e9 * self.n_tokens / ns if ns else None for ns in self.samples_ns)

    @property
    def n_tokens(self) -> int:
        """Tokens of one repetition."""
        return self.n_prompt + self.n_gen

    @property
    def avg_ns(self) -> int | None:
        """Mean time of a repetition, in whole nanoseconds."""
        return sum(self.samples_ns) // len(self.samples_ns) if self.samples_ns else None

    @property
    def stddev_ns(self) -> int | None:
        """Standard deviation of the repetitions' times; 0 for one."""
        deviation = _deviation(self.samples_ns)
        return None if deviation is None else int(deviation)

    @property
    def avg_ts(self) -> float | None:
        """Mean of the tokens a second, None where none were measured."""
        return statistics.fmean(self._rates) if self._rates else None

    @property
    def stddev_ts(self) -> float | None:
        """Standard deviation of the tokens a second; 0 for one repetition."""
        return _deviation(self._rates)

    @property
    def median_ts(self) -> float | None:
        """Median of the tokens a second: what a disturbance does not move."""
        return statistics.median(self._rates) if self._rates else None

    @property
    def min_ts(self) -> float | None:
        """The slowest repetition."""
        return min(self._rates, default=None)

    @property
    def max_ts(self) -> float | None:
        """The fastest repetition."""
        return max(self._rates, default=None)

    @property
    def decode_rate(self) -> float | None:
        """Tokens a second that came one after another: a chat's, or the median; None of prompts."""
        if self.test_kind == "chat":
            return self.decode_ts
        return None if self.n_prompt else self.median_ts

    @property
    def bandwidth_measured_gbs(self) -> float | None:
        """10^9 bytes a second that were read, whatever else the time went to."""
        rate = self.decode_rate
        return None if rate is None or self.bytes_per_token is None else rate * self.bytes_per_token / 1e9

    @property
    def bandwidth_used_pct(self) -> float | None:
        """That in percent of what the device reads at best."""
        measured = self.bandwidth_measured_gbs
        return None if measured is None or not self.bandwidth_gbs else 100 * measured / self.bandwidth_gbs

    @property
    def limit_ts(self) -> float | None:
        """Tokens a second that the device's bandwidth alone would allow: the roofline."""
        if not self.bandwidth_gbs or not self.bytes_per_token:
            return None
        return self.bandwidth_gbs * 1e9 / self.bytes_per_token

    @property
    def test(self) -> str:
        """The case as `llama-bench`'s table names it: `pp512`, `tg128 @ d4096`, `pp512+tg128`."""
        parts = [f"{name}{n}" for name, n in (("pp", self.n_prompt), ("tg", self.n_gen)) if n]
        chat = "chat " if self.test_kind == "chat" else ""
        return chat + "+".join(parts) + (f" @ d{self.n_depth}" if self.n_depth else "")

    @property
    def _rates(self) -> list[float]:
        return [rate for rate in self.samples_ts if rate is not None]

    # --- columns ---

    def columns(self) -> Columns:
        """All columns in their order; numbers that are not finite are None, samples are lists."""
        return {name: _plain(getattr(self, name)) for name in COLUMNS}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> BenchRecord:
        """The record of such columns; unknown ones and derived ones are passed over.

        Raises ValueError if something is missing.
        """
        known = {field.name: columns[field.name] for field in fields(cls) if field.name in columns}
        try:
            return cls(**known | {"samples_ns": tuple(int(ns) for ns in known["samples_ns"])})
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is no row of a benchmark: {error}.") from error


def _deviation(values: tuple[int, ...] | list[float]) -> float | None:
    if not values:
        return None
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
