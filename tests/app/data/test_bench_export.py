"""A benchmark's report in each form: strict, complete, safe for spreadsheets, and without anybody's name.

Guards against LostRuins/koboldcpp#852 and LostRuins/koboldcpp#1702.
"""

from __future__ import annotations

import csv
import getpass
import io
import json
import locale
import platform
from pathlib import Path

import pytest

from app.data.bench_columns import COLUMNS, FORM_NAMES, LLAMA_BENCH_COLUMNS
from app.data.bench_export import FORMATS, to_csv, to_json, to_jsonl, write_report
from engine.errors import KnownError
from tests.app.data.bench_records import record

NAMES = ['a,b|c"d', "two\nlines", "tab\there", "ü 模型", 'HYPERLINK("http://h","x")']


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_form_has_a_writer() -> None:
    assert tuple(FORMATS) == FORM_NAMES


def test_json_is_a_list_of_llama_benchs_fields_and_ours() -> None:
    (row,) = json.loads(to_json([record()]))
    assert tuple(row) == COLUMNS and tuple(row)[: len(LLAMA_BENCH_COLUMNS)] == LLAMA_BENCH_COLUMNS
    assert row["samples_ns"] == [1_000_000_000, 2_000_000_000, 1_280_000_000]
    assert row["cpu_strict"] is False and row["no_op_offload"] == 0 and isinstance(row["avg_ns"], int)


def test_jsonl_is_one_object_a_line() -> None:
    lines = to_jsonl([record(model_name="two\nlines"), record()]).splitlines()
    assert [json.loads(line)["model_name"] for line in lines] == ["two\nlines", "Llama"]


def test_csv_has_the_same_columns_with_and_without_values() -> None:
    rows = csv_rows(to_csv([record(predicted_ts=None, aborted=True), record()]))
    assert [tuple(row) for row in rows] == [COLUMNS, COLUMNS]
    assert rows[0]["predicted_ts"] == "" and rows[0]["aborted"] == "1" and rows[1]["aborted"] == "0"
    assert json.loads(rows[0]["samples_ts"]) == [128.0, 64.0, 100.0]


@pytest.mark.parametrize("name", NAMES)
def test_names_survive_csv_and_json(name: str) -> None:
    row = record(model_name=name)
    assert csv_rows(to_csv([row]))[0]["model_name"] == name
    assert json.loads(to_json([row]))[0]["model_name"] == name


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "  =", "\u00a0@"])
def test_text_is_never_a_formula(start: str) -> None:
    name = f'{start}HYPERLINK("http://h","x")'
    cell = csv_rows(to_csv([record(model_name=name)]))[0]["model_name"]
    assert cell == "'" + name
    assert json.loads(to_json([record(model_name=name)]))[0]["model_name"] == name


def test_negative_numbers_stay_numbers() -> None:
    assert csv_rows(to_csv([record()]))[0]["n_gpu_layers"] == "-1"


@pytest.mark.parametrize("name", [*NAMES, "a\\|b", "x\r\ny"])
def test_a_name_never_breaks_the_markdown_table(name: str) -> None:
    text = FORMATS["md"]([record(model_filename=f"/m/{name}.gguf"), record()], False)
    table = [line for line in text.splitlines() if line.startswith("|")]
    counts = {line.replace("\\|", "").count("|") for line in table}
    assert len(table) == 4 and len(counts) == 1


def test_markdown_is_llama_benchs_table() -> None:
    text = FORMATS["md"]([record()], False)
    circumstances, _blank, header, _rule, row = text.splitlines()[:5]
    cells = [cell.strip() for cell in header.strip("|").split("|")]
    assert circumstances == "A processor · 2026-01-31 · fa auto · KV cache f16/f16 · Weir 0.1.0"
    assert cells[:7] == ["model", "size", "params", "backend", "threads", "test", "t/s"]
    assert "| llama 256M Q4_1 | 92.10 MiB | 134.52 M | CPU " in row and "97.33 ± 32.08" in row
    assert text.endswith("build: 0c1e570 (0)\n")


def test_markdown_shows_what_a_chat_costs_and_what_to_doubt() -> None:
    chat = record(n_prompt=512, test_kind="chat", decode_ts=40.0, ttft_ms=500.0, other_load_pct=70.0)
    text = FORMATS["md"]([record(), chat], False)
    assert "| chat pp512+tg128 |" in text and "40.00" in text and "70 % of a core" in text


def test_expected_and_limit_stand_beside_the_replys_speed_alone() -> None:
    both = {"n_prompt": 512, "samples_ns": (10**9,)}
    chat = record(**both, test_kind="chat", decode_ts=23.4, bytes_per_token=10**8)
    text = FORMATS["md"]([chat, record(**both, test_kind="pp+tg")], False)
    _header, _rule, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ][:4]
    assert rows[0][-4:] == ["23.40", "23.40", "100.00", "200.00"]
    assert rows[1][-4:] == ["640.00 ± 0.00", "640.00", "n/a", "n/a"]


def test_names_that_are_no_utf_8_or_turn_the_text_are_escaped() -> None:
    row = record(model_filename="/m/bad\udcff\u202e.gguf", other_load_pct=50.0)
    assert json.loads(to_json([row]))[0]["model_filename"] == "bad\\xff\u202e.gguf"
    text = FORMATS["md"]([row, record()], False)
    assert "\\xff\\u202e.gguf |" in text and "\u202e" not in text
    assert "- bad\\xff\\u202e.gguf, tg128: other" in text


def test_markdown_says_what_is_missing() -> None:
    text = FORMATS["md"]([record(), record(aborted=True, missing_cases=3)], False)
    assert "- aborted: 2 of 5 cases were measured.\n" in text
    assert "the last case that was measured, with 3 repetitions" in text


@pytest.mark.parametrize("form", FORM_NAMES)
def test_an_export_names_nobody(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "somebody")
    home = "/home/somebody"
    text = FORMATS[form]([record(model_filename=f"{home}/models/x.gguf"), record()], False)
    for private in (home, "somebody", str(Path.home()), getpass.getuser(), platform.node()):
        assert private not in text
    assert "x.gguf" in text


def test_a_windows_path_shrinks_too() -> None:
    text = to_json([record(model_filename="C:\\Users\\somebody\\x.gguf")])
    assert json.loads(text)[0]["model_filename"] == "x.gguf"


def test_whole_paths_where_they_are_asked_for() -> None:
    assert json.loads(to_json([record()], True))[0]["model_filename"] == "/models/some/llama.gguf"


def test_decimal_points_in_every_locale() -> None:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    try:
        for form in FORM_NAMES:
            text = FORMATS[form]([record()], False)
            assert "97,3" not in text and "97.3" in text
    finally:
        locale.setlocale(locale.LC_ALL, before)


@pytest.mark.parametrize("form", FORM_NAMES)
def test_a_report_is_written_by_its_ending(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"report.{form}"
    write_report(path, [record()])
    assert path.read_text("utf-8") == FORMATS[form]([record()], False)


def test_what_cannot_be_written_leaves_the_former_file(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"report\.csv"):
        write_report(tmp_path / "missing" / "report.csv", [record()])
    assert list(tmp_path.iterdir()) == []
