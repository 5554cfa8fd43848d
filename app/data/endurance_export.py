"""An endurance report as a file or on the screen: JSON, CSV or Markdown.

In: an `EnduranceReport`. Out: text that ends with a line break. The JSON is one object with the
report's field names; what is no finite number is null. The CSV is tidy data: one row for each 1,000
tokens with `tokens` (where the thousand ends) and its `perplexity`, and every other column the
same in all rows, so that several runs can be joined in one table; a run that was too short for a
thousand has one row without a perplexity. Knows nothing about files or Qt.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from engine.protocol import EnduranceReport

_THOUSAND = 1000
_MIB = 2**20


def to_json(report: EnduranceReport) -> str:
    """One JSON object on a line."""
    fields = {name: _finite(value) for name, value in asdict(report).items()}
    return json.dumps(fields, allow_nan=False) + "\n"


def to_csv(report: EnduranceReport) -> str:
    """A header and one row for each 1,000 tokens; decimal points, empty where there is no value."""
    constant = {name: _finite(value) for name, value in asdict(report).items() if name != "perplexity"}
    rows: list[tuple[int, float | None]] = [*_rows(report)] or [(report.n_tokens, None)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["tokens", "perplexity", *constant])
    writer.writerows([tokens, _finite(perplexity), *constant.values()] for tokens, perplexity in rows)
    return out.getvalue()


def to_markdown(report: EnduranceReport) -> str:
    """Two tables: the run's figures, and the perplexity of each 1,000 tokens."""
    lines = ["| Endurance | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in _figures(report)]
    rows = _rows(report)
    if rows:
        lines += ["", "| Tokens | Perplexity |", "|---:|---:|"]
        lines += [f"| {tokens:,} | {_number(perplexity, '.2f')} |" for tokens, perplexity in rows]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[EnduranceReport], str]] = {
    "json": to_json,
    "csv": to_csv,
    "md": to_markdown,
}
"""How a report is written, by the usual ending of such a file."""


def _rows(report: EnduranceReport) -> list[tuple[int, float]]:
    return [(_THOUSAND * (index + 1), value) for index, value in enumerate(report.perplexity)]


def _figures(report: EnduranceReport) -> Iterator[tuple[str, str]]:
    yield "Model", " ".join(report.model.split()).replace("|", "\\|")
    yield "Policy", report.policy
    if report.policy != "exact":
        yield "Shift", report.shift
    yield "Window", f"{report.window:,} tokens, {report.sinks:,} of them sinks"
    yield "KV cache", report.kv_type
    yield "Tokens read", f"{report.n_tokens:,}"
    yield "Perplexity of the second half", _number(report.perplexity_second_half, ".2f")
    yield "Speed", _number(report.tps, ".1f", " tokens/s")
    yield "Peak memory", f"{report.peak_rss_bytes / _MIB:,.0f} MiB"
    growth = None if report.rss_growth_bytes is None else report.rss_growth_bytes / _MIB
    yield "Growth after 2,000 tokens", _number(growth, ".1f", " MiB")
    yield "Evictions", f"{report.evictions:,}"
    yield "Shifts", f"{report.shifts:,}"
    yield "Cost of a shift", _number(report.shift_ms, ".1f", " ms")


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "n/a" if value is None or not math.isfinite(value) else f"{value:,{form}}{unit}"


def _finite(value: object) -> object:
    """NaN and infinity are no JSON: None instead, in lists too."""
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
