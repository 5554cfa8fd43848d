"""`weir pull`: the path for programs, progress for people, and a break that loses nothing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.pull import run_pull
from app.cli.pull_arguments import PullOptions
from app.cli.pull_output import PullOutput, amount
from engine.download.download_values import DownloadState, DownloadStatus
from engine.download.queue_file import QueueFile
from tests.app.download_stage import remote, state
from tests.engine.download.downloads import offer
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import FakeHub, fake_hub

SIZE = 300_000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with fake_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        offer(running, {"tiny-Q4_K_M.gguf": SIZE, "tiny-Q8_0.gguf": 2 * SIZE}, "a/Tiny-GGUF")
        yield running


def _body(server: FakeHub, name: str) -> bytes:
    return server.repos["a/Tiny-GGUF"].files[name].body


def test_the_path_is_all_of_standard_output(
    server: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_pull(PullOptions("a/Tiny-GGUF")) == 0
    out, err = capsys.readouterr()
    path = tmp_path / "models" / "a" / "Tiny-GGUF" / "tiny-Q4_K_M.gguf"
    assert out == f"{path}\n"
    assert path.read_bytes() == _body(server, path.name)
    assert all(line.startswith("weir: ") for line in err.splitlines())
    assert QueueFile(tmp_path / "models").read() == ()


@pytest.mark.parametrize("name", ["Q8_0", "tiny-Q8_0.gguf"])
def test_a_quantization_or_a_file_is_chosen(
    server: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path / "usb stick"
    assert run_pull(PullOptions(f"a/Tiny-GGUF:{name}", to=str(folder))) == 0
    path = folder / "a" / "Tiny-GGUF" / "tiny-Q8_0.gguf"
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_bytes() == _body(server, path.name)


def test_json_lines_end_with_the_path(
    server: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.bytes_per_second = 5e5
    assert run_pull(PullOptions("a/Tiny-GGUF:Q4_K_M", as_json=True)) == 0
    out, err = capsys.readouterr()
    *states, last = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert list(last) == ["path"]
    assert Path(last["path"]).stat().st_size == SIZE
    assert {item["total_bytes"] for item in states} == {SIZE}
    done = [item["done_bytes"] for item in states]
    assert done == sorted(done)
    assert err == ""


def test_a_repository_that_is_not_there_is_a_sentence_and_a_status(
    server: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_pull(PullOptions("a/None-GGUF")) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.startswith("weir: ")) == ("", 1, True)
    assert run_pull(PullOptions("a/Tiny-GGUF:Q2_K")) == 1
    assert "It has: Q4_K_M, Q8_0" in capsys.readouterr().err
    assert run_pull(PullOptions("no repository")) == 2
    assert "names no repository" in capsys.readouterr().err


def test_a_failed_one_is_shown_by_the_window(server: FakeHub, tmp_path: Path) -> None:
    repo = server.add(HubRepo("b/Gated-GGUF", {"m.gguf": HubFile(os.urandom(1000))}))
    repo.gated = "auto"
    assert run_pull(PullOptions("b/Gated-GGUF")) == 1
    (item,) = QueueFile(tmp_path / "models").read() or ()
    assert item.failure and "is gated" in item.failure.reason


@pytest.mark.parametrize("left_out", [True, False])
def test_a_rejected_token_is_left_out(
    server: FakeHub,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    left_out: bool,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    server.faults.refuses_tokens = True
    assert run_pull(PullOptions("a/Tiny-GGUF", without_token=left_out)) == 0
    out, err = capsys.readouterr()
    assert "tiny-Q4_K_M.gguf" in out
    assert ("made without it" in err) is not left_out
    assert "hf_expired" not in out + err


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of POSIX")
def test_ctrl_c_keeps_what_was_fetched_and_says_how_to_go_on(server: FakeHub, tmp_path: Path) -> None:
    server.faults.bytes_per_second = 1e5
    command = [sys.executable, "-m", "app", "pull", "a/Tiny-GGUF:Q8_0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while sum(path.stat().st_size for path in tmp_path.rglob("*.part")) < 50_000:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "")
    assert "are kept: the same command goes on from there" in err
    (item,) = QueueFile(tmp_path / "models").read() or ()
    assert item.paused
    server.faults.bytes_per_second = None
    server.seen.clear()
    assert run_pull(PullOptions("a/Tiny-GGUF:Q8_0")) == 0
    assert any("Range" in seen.headers for seen in server.seen)
    assert QueueFile(tmp_path / "models").read() == ()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_that_is_overwritten(tmp_path: Path) -> None:
    out, err = io.StringIO(), _Terminal()
    output = PullOutput(as_json=False, out=out, err=err)
    output.show(state(done=2_250_000_000, bytes_per_second=12e6, seconds_left=180.0))
    assert err.getvalue() == "\r[##########----------]  50 %  2.2 of 4.5 GB, 12.0 MB/s, 3 min left"
    output.show_path(tmp_path / "m.gguf")
    assert err.getvalue().endswith("\r")
    assert out.getvalue() == f"{tmp_path / 'm.gguf'}\n"


def test_a_pipe_gets_a_line_each_tenth_or_some_seconds() -> None:
    err, now = io.StringIO(), 0.0
    output = PullOutput(as_json=False, out=io.StringIO(), err=err, clock=lambda: now)
    for step in range(1000):
        now = step * 0.01
        output.show(DownloadState(remote(), DownloadStatus.RUNNING, 4_500_000 * step))
    assert len(err.getvalue().splitlines()) == 10
    output.show(DownloadState(remote(), DownloadStatus.WAITING, 0, reason="No network.", retry_in_s=3.0))
    assert err.getvalue().splitlines()[-1] == (
        "weir: 0.0 of 4.5 GB, waiting, tries again in 3 s (No network.)"
    )


def test_what_is_not_all_there_never_reads_so() -> None:
    assert amount(4_499_999_999, 4_500_000_000) == "4.4 of 4.5 GB"
