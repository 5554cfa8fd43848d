"""A benchmark's row: what follows from the samples, and columns that come back as the same row."""

from __future__ import annotations

import json
import statistics

import pytest

from app.data.bench_columns import COLUMNS
from app.data.bench_record import BenchRecord
from app.data.bench_warnings import warnings
from tests.app.data.bench_records import record


def test_rates_are_tokens_over_time_as_llama_bench_counts_them() -> None:
    row = record()
    assert row.samples_ts == (128.0, 64.0, 100.0)
    assert row.avg_ns == 4_280_000_000 // 3
    assert row.avg_ts == pytest.approx(292 / 3)
    assert row.stddev_ts == pytest.approx(statistics.stdev([128, 64, 100]))
    assert (row.median_ts, row.min_ts, row.max_ts) == (100, 64, 128)


def test_one_repetition_has_no_deviation() -> None:
    row = record(samples_ns=(10**9,))
    assert (row.stddev_ns, row.stddev_ts) == (0, 0)


@pytest.mark.parametrize("samples", [(0, 0), ()])
def test_where_no_time_passed_there_is_no_rate(samples: tuple[int, ...]) -> None:
    row = record(samples_ns=samples)
    assert row.avg_ts is None and row.median_ts is None and row.bandwidth_used_pct is None
    json.dumps(row.columns(), allow_nan=False)


def test_bandwidth_is_that_of_the_median() -> None:
    row = record()
    assert row.bandwidth_measured_gbs == pytest.approx(10)
    assert row.bandwidth_used_pct == pytest.approx(50)
    assert row.limit_ts == pytest.approx(200)


def test_a_prompt_uses_no_bandwidth() -> None:
    assert record(n_prompt=512, n_gen=0).bandwidth_measured_gbs is None


def test_a_chats_bandwidth_is_that_of_its_reply() -> None:
    chat = record(n_prompt=512, test_kind="chat", decode_ts=40.0)
    assert chat.bandwidth_measured_gbs == pytest.approx(4)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "tg128"),
        ({"n_prompt": 512, "n_gen": 0, "n_depth": 4096}, "pp512 @ d4096"),
        ({"n_prompt": 512}, "pp512+tg128"),
        ({"n_prompt": 512, "test_kind": "chat"}, "chat pp512+tg128"),
    ],
)
def test_cases_are_named_as_llama_bench_names_them(changes: dict[str, object], name: str) -> None:
    assert record(**changes).test == name


def test_columns_are_always_the_same_and_give_the_row_back() -> None:
    row = record(predicted_ts=None, throttled=True)
    columns = json.loads(json.dumps(row.columns()))
    assert tuple(columns) == COLUMNS
    assert BenchRecord.from_columns(columns) == row


def test_numbers_that_are_none_become_null() -> None:
    columns = record(ttft_ms=float("nan"), load_ms=float("inf")).columns()
    assert columns["ttft_ms"] is None and columns["load_ms"] is None


def test_a_row_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        BenchRecord.from_columns({"n_gen": 1})


def test_a_quiet_machine_has_no_warnings() -> None:
    assert warnings(record(other_load_pct=10.0, throttled=False)) == []


def test_each_doubt_is_told() -> None:
    told = warnings(record(other_load_pct=34.2, throttled=True, power_source="battery", aborted=True))
    assert [sentence.split(":")[0] for sentence in told] == ["tg128"] * 4
    assert "34 % of a core" in told[0] and "battery" in told[2] and "3 repetitions" in told[3]
