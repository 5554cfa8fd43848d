"""A benchmark's report as a file or on the screen: JSON, JSON lines, CSV or Markdown.

In: `BenchRecord`s. Out: text that ends with a line break. Promises: the same columns always, those of
`llama-bench` first, under its names, units and types; decimal points in every locale; strict JSON, where what
is no number is null; nothing that names a person or a folder, unless whole paths are asked for; cells of the
CSV that a spreadsheet would take for a formula begin with an apostrophe. Knows nothing about windows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PureWindowsPath

from app.data.bench_columns import COLUMNS
from app.data.bench_markdown import to_markdown
from app.data.bench_names import encodable
from app.data.bench_record import BenchRecord, Columns
from app.data.exported_file import write_text_atomically

# What spreadsheets take for the start of a formula: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BREAKS = ("\t", "\r", "\n")


def exported(record: BenchRecord, whole_paths: bool = False) -> Columns:
    """The columns as they leave this machine: of paths the file's name alone, unless `whole_paths`."""
    columns = record.columns()
    if not whole_paths:
        columns["model_filename"] = file_name(record.model_filename)
    return {name: encodable(value) if isinstance(value, str) else value for name, value in columns.items()}


def file_name(path: str) -> str:
    """The last part of a path, of whichever system it is."""
    return PureWindowsPath(path).name if "\\" in path and "/" not in path else Path(path).name


def to_json(records: Sequence[BenchRecord], whole_paths: bool = False) -> str:
    """One list of objects."""
    rows = [exported(record, whole_paths) for record in records]
    return json.dumps(rows, allow_nan=False, indent=2) + "\n"


def to_jsonl(records: Sequence[BenchRecord], whole_paths: bool = False) -> str:
    """One object on each line."""
    rows = (exported(record, whole_paths) for record in records)
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def to_csv(records: Sequence[BenchRecord], whole_paths: bool = False) -> str:
    """A header and a row for each record; empty where there is no value, 0 and 1 for no and yes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([_cell(value) for value in exported(record, whole_paths).values()])
    return out.getvalue()


def _markdown(records: Sequence[BenchRecord], whole_paths: bool = False) -> str:
    names = [record.model_filename if whole_paths else file_name(record.model_filename) for record in records]
    return to_markdown(records, names)


FORMATS: Mapping[str, Callable[[Sequence[BenchRecord], bool], str]] = {
    "json": to_json,
    "jsonl": to_jsonl,
    "csv": to_csv,
    "md": _markdown,
}
"""How a report is written, by the usual ending of such a file."""


def write_report(
    path: Path, records: Sequence[BenchRecord], form: str | None = None, whole_paths: bool = False
) -> None:
    """Write the report to `path` in one step; `form` None goes by the file's ending, and is else JSON.

    Raises KnownError when that fails: what was there before is whole then.
    """
    chosen = form or path.suffix.lstrip(".").lower()
    write_text_atomically(path, FORMATS.get(chosen, to_json)(records, whole_paths))


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        return json.dumps(value, allow_nan=False)
    if isinstance(value, str) and _is_formula(value):
        return "'" + value
    return value


def _is_formula(text: str) -> bool:
    # Some import with "trim blanks" on.
    return text.startswith(_BREAKS) or text.lstrip().startswith(_FORMULA_STARTS)
