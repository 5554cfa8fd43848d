"""The columns of a benchmark's report: the same in every row, in every form, in this order.

`llama-bench`'s come first, so that scripts made for it read ours. Knows nothing about their values.
"""

from __future__ import annotations

# fmt: off
LLAMA_BENCH_COLUMNS = (
    "build_commit", "build_number", "cpu_info", "gpu_info", "backends", "model_filename", "model_type",
    "model_size", "model_n_params", "n_batch", "n_ubatch", "n_threads", "cpu_mask", "cpu_strict", "poll",
    "type_k", "type_v", "n_gpu_layers", "n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload",
    "flash_attn", "devices", "tensor_split", "tensor_buft_overrides", "load_mode", "lazy_mode",
    "embeddings", "no_op_offload", "no_host", "repack", "fit_target", "fit_min_ctx", "n_prompt", "n_gen",
    "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts",
)
"""`llama-bench`'s own, in its order; its CSV has all but the last two."""

OWN_COLUMNS = (
    "test_kind", "model_name", "ttft_ms", "kv_bytes", "peak_rss_bytes", "vram_bytes", "bytes_per_token",
    "bandwidth_measured_gbs", "bandwidth_used_pct", "predicted_ts", "compute_used_pct", "power_source",
    "other_load_pct", "weir_version", "median_ts", "min_ts", "max_ts", "limit_ts", "bandwidth_gbs",
    "prompt_ts", "decode_ts", "load_ms", "eviction_ms", "restore_ms", "reevaluation_ms", "n_restored",
    "throttled", "aborted", "missing_cases",
)
"""Those that follow."""
# fmt: on

COLUMNS = (*LLAMA_BENCH_COLUMNS, *OWN_COLUMNS)
"""All columns, in their order."""

FORM_NAMES = ("json", "jsonl", "csv", "md")
"""The forms of a report, by the usual ending of such a file."""
