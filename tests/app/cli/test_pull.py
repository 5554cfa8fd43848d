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
from tests.engine.download.downloads import keep, offer
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import FakeHub, fake_hub
from tests.model_files import write_no_byte_tokens

SIZE = 300_000


def _model(folder: Path, size: int) -> bytes:
    """A model of `size` bytes, most of which mean nothing."""
    path = write_no_byte_tokens(folder / "written.gguf")
    head = path.read_bytes()
    path.unlink()
    return head + os.urandom(size - len(head))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with fake_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        files: dict[str, int | bytes] = {
            "tiny-Q4_K_M.gguf": _model(tmp_path, SIZE),
            "tiny-Q8_0.gguf": _model(tmp_path, 2 * SIZE),
        }
        offer(running, files, "a/Tiny-GGUF")
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


def test_what_never_fetched_a_byte_leaves_nothing(server: FakeHub, tmp_path: Path) -> None:
    repo = server.add(HubRepo("b/Gated-GGUF", {"m.gguf": HubFile(os.urandom(1000))}))
    repo.gated = "auto"
    assert run_pull(PullOptions("b/Gated-GGUF")) == 1
    assert QueueFile(tmp_path / "models").read() == ()
    assert not list((tmp_path / "models" / ".downloads").glob("*/*"))


def test_a_failed_one_with_bytes_is_shown_by_the_window(server: FakeHub, tmp_path: Path) -> None:
    model = offer(server, {"m-Q4_K_M.gguf": SIZE}, "b/Gated-GGUF")
    keep(tmp_path / "models", server, model, 100_000)
    server.repos["b/Gated-GGUF"].gated = "auto"
    assert run_pull(PullOptions("b/Gated-GGUF")) == 1
    (item,) = QueueFile(tmp_path / "models").read() or ()
    assert item.failure and "is gated" in item.failure.reason


@pytest.mark.parametrize(
    ("model", "status"),
    [("a/None-GGUF", 1), ("a/Tiny-GGUF:Q2_K", 1), ("b/Gated-GGUF", 1), ("no repository", 2)],
)
def test_json_ends_with_the_reason_of_a_failure(
    server: FakeHub, capsys: pytest.CaptureFixture[str], model: str, status: int
) -> None:
    repo = server.add(HubRepo("b/Gated-GGUF", {"m.gguf": HubFile(os.urandom(1000))}))
    repo.gated = "auto"
    assert run_pull(PullOptions(model, as_json=True)) == status
    out, err = capsys.readouterr()
    last = json.loads(out.splitlines()[-1])
    assert last == {"status": "failed", "reason": err.splitlines()[-1].removeprefix("weir: ")}


@pytest.mark.parametrize("body", [b"<html>No such page</html>", b"", b"version https://git-lfs"])
def test_what_is_no_model_is_told(
    server: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    offer(server, {"page.gguf": body}, "b/Page-GGUF")
    assert run_pull(PullOptions("b/Page-GGUF")) == 1
    out, err = capsys.readouterr()
    path = tmp_path / "models" / "b" / "Page-GGUF" / "page.gguf"
    assert out == ""
    assert f"{path} was downloaded and verified, but it is no model that Weir can load: " in err
    assert run_pull(PullOptions("b/Page-GGUF", as_json=True)) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["status"], last["path"]) == ("failed", str(path))


def test_half_a_model_is_told(server: FakeHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = write_no_byte_tokens(tmp_path / "whole.gguf")
    offer(server, {"half.gguf": whole.read_bytes()[: whole.stat().st_size // 2]}, "b/Half-GGUF")
    assert run_pull(PullOptions("b/Half-GGUF")) == 1
    assert "it is no model that Weir can load" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="the pipes of POSIX")
def test_a_reader_that_leaves_ends_it_quietly(server: FakeHub, tmp_path: Path) -> None:
    server.faults.bytes_per_second = 2e5
    command = [sys.executable, "-m", "app", "pull", "a/Tiny-GGUF:Q8_0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    assert (process.wait(30), process.stderr.read()) == (0, "")
    process.stderr.close()
    (item,) = QueueFile(tmp_path / "models").read() or ()
    assert item.paused
    assert next(tmp_path.rglob("*.part")).stat().st_size > 0


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


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (4_499_999_999, 4_500_000_000, "4.4 of 4.5 GB"),
        (148_370_000, 148_370_000, "148.4 of 148.4 MB"),
        (900, 2_000, "0.9 of 2.0 KB"),
        (0, 24, "0 of 24 bytes"),
    ],
)
def test_what_is_all_there_reads_so_and_nothing_else_does(done: int, total: int, words: str) -> None:
    assert amount(done, total) == words
