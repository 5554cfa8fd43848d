"""`weir search`: lines for pipes, a table for people, strict JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.search import run_search
from app.cli.search_arguments import SearchOptions
from engine.hub.hub_values import Sort
from tests.fake_hub.content import HubRepo
from tests.fake_hub.faults import Faults
from tests.fake_hub.server import FakeHub, fake_hub


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with fake_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        running.add(HubRepo("a/Tiny-GGUF", downloads=1234, likes=5, tags=["gguf", "license:mit"]))
        running.add(HubRepo("b/Tiny-Gated-GGUF", downloads=9, likes=70, gated="auto"))
        running.add(HubRepo("c/Huge-AWQ", tags=["safetensors", "awq"]))
        yield running


def test_pipe_gets_plain_lines(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_search(SearchOptions("tiny")) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a/Tiny-GGUF\t1234\t5\t2026-01-01\tmit\t",
        "b/Tiny-Gated-GGUF\t9\t70\t2026-01-01\t\tgated",
    ]


def test_terminal_gets_a_table(
    server: FakeHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run_search(SearchOptions("tiny", Sort.LIKES)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Repository         Downloads  Likes  Updated     License",
        "b/Tiny-Gated-GGUF          9     70  2026-01-01           gated",
        "a/Tiny-GGUF            1,234      5  2026-01-01  mit",
    ]


def test_json_is_one_strict_array(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_search(SearchOptions("tiny", limit=1, as_json=True)) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [
        {
            "repo_id": "a/Tiny-GGUF",
            "weights_format": "gguf",
            "downloads": 1234,
            "likes": 5,
            "updated": "2026-01-01T00:00:00+00:00",
            "license": "mit",
            "gating": "none",
        }
    ]


def test_what_cannot_be_loaded_is_named(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_search(SearchOptions("huge", as_json=True)) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "cannot load: c/Huge-AWQ (AWQ)" in err


def test_failure_is_a_sentence_and_a_status(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    server.faults = Faults(api_status=503)
    assert run_search(SearchOptions("tiny")) == 1
    out, err = capsys.readouterr()
    assert (out, err.startswith("weir: 127.0.0.1"), err.count("\n")) == ("", True, 1)


def test_programs_are_told_of_a_failure_too(server: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    server.faults = Faults(api_status=503)
    assert run_search(SearchOptions("tiny", as_json=True)) == 1
    out, err = capsys.readouterr()
    assert err == f"weir: {json.loads(out)['error']}\n"


def test_rejected_token_is_left_out(
    server: FakeHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    server.faults.refuses_tokens = True
    assert run_search(SearchOptions("tiny")) == 0
    out, err = capsys.readouterr()
    assert ("a/Tiny-GGUF" in out, "made without it" in err, "hf_expired" in err) == (True, True, False)
