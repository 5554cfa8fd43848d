"""An endurance report as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from app.data.endurance_export import to_csv, to_json, to_markdown
from engine.protocol import EnduranceReport

REPORT = EnduranceReport(
    policy="endless",
    shift="lazy",
    window=1024,
    sinks=4,
    kv_type="f16",
    n_tokens=2500,
    perplexity=(13.25, 11.5),
    perplexity_second_half=11.75,
    tps=312.5,
    peak_rss_bytes=200 * 2**20,
    rss_growth_bytes=2**19,
    shifts=0,
    shift_ms=None,
    evictions=6,
    model="river|small.gguf",
)


def test_json_is_one_object_with_the_reports_names() -> None:
    assert json.loads(to_json(REPORT)) == {
        "policy": "endless",
        "shift": "lazy",
        "window": 1024,
        "sinks": 4,
        "kv_type": "f16",
        "n_tokens": 2500,
        "perplexity": [13.25, 11.5],
        "perplexity_second_half": 11.75,
        "tps": 312.5,
        "peak_rss_bytes": 209715200,
        "rss_growth_bytes": 524288,
        "shifts": 0,
        "shift_ms": None,
        "evictions": 6,
        "model": "river|small.gguf",
    }
    assert to_json(REPORT).count("\n") == 1


def test_what_is_no_finite_number_is_null() -> None:
    broken = replace(REPORT, perplexity=(float("inf"), 2.0), perplexity_second_half=float("nan"))
    fields = json.loads(to_json(broken))
    assert (fields["perplexity"], fields["perplexity_second_half"]) == ([None, 2.0], None)
    assert "n/a" in to_markdown(broken) and "nan" not in to_csv(broken)


def test_csv_has_a_row_for_each_thousand_and_repeats_the_rest() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(REPORT))))
    assert [(row["tokens"], row["perplexity"]) for row in rows] == [("1000", "13.25"), ("2000", "11.5")]
    assert {(row["policy"], row["tps"], row["shift_ms"], row["model"]) for row in rows} == {
        ("endless", "312.5", "", "river|small.gguf")
    }


def test_csv_of_a_short_run_keeps_its_figures() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv(replace(REPORT, n_tokens=700, perplexity=()))))
    assert (row["tokens"], row["perplexity"], row["perplexity_second_half"]) == ("700", "", "11.75")


def test_markdown_tells_units_and_no_name_breaks_the_table() -> None:
    lines = to_markdown(REPORT).splitlines()
    assert "| Model | river\\|small.gguf |" in lines
    assert "| Window | 1,024 tokens, 4 of them sinks |" in lines
    assert "| Peak memory | 200 MiB |" in lines and "| Growth after 2,000 tokens | 0.5 MiB |" in lines
    assert "| Cost of a shift | n/a |" in lines
    assert lines[-2:] == ["| 1,000 | 13.25 |", "| 2,000 | 11.50 |"]
