"""Rows of a benchmark for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.data.bench_record import BenchRecord

BARE = BenchRecord(
    build_commit="0c1e570",
    build_number=0,
    cpu_info="A processor",
    gpu_info="",
    backends="CPU",
    model_filename="/models/some/llama.gguf",
    model_type="llama 256M Q4_1",
    model_size=96_576_768,
    model_n_params=134_515_008,
    n_batch=2048,
    n_ubatch=512,
    n_threads=2,
    type_k="f16",
    type_v="f16",
    n_gpu_layers=-1,
    flash_attn=-1,
    n_prompt=0,
    n_gen=128,
    n_depth=0,
    test_time="2026-01-31T12:00:00Z",
    samples_ns=(1_000_000_000, 2_000_000_000, 1_280_000_000),
    test_kind="tg",
)
"""With what `llama-bench` would know, and nothing else."""

RECORD = replace(
    BARE,
    model_name="Llama",
    bytes_per_token=10**8,
    bandwidth_gbs=20.0,
    predicted_ts=100.0,
    power_source="mains",
    other_load_pct=1.0,
    weir_version="0.1.0",
)


def record(**changes: Any) -> BenchRecord:
    """`RECORD` with other values."""
    return replace(RECORD, **changes)
