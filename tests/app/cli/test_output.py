from __future__ import annotations

import io
import json
from dataclasses import replace

from app.cli.output import JsonOutput, PlainOutput
from engine.protocol import (
    CacheShifted,
    DeviceBuffers,
    Event,
    Finished,
    FinishReason,
    LoadProgress,
    ModelLoaded,
    PrefillProgress,
    TextDelta,
)
from tests.app.cli.scripted_engine import INFO, STATS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def json_line(event: Event) -> str:
    out = io.StringIO()
    JsonOutput(out, io.StringIO()).show(event)
    return out.getvalue()


def test_json_of_progress_events() -> None:
    assert json.loads(json_line(PrefillProgress(1, 256, 600, 1.5))) == {
        "event": "prefill_progress",
        "n_done": 256,
        "n_total": 600,
        "seconds_left": 1.5,
    }
    assert json.loads(json_line(CacheShifted(1, 128, False))) == {
        "event": "cache_shifted",
        "n_evicted": 128,
        "shifted": False,
    }


def test_json_tells_where_the_model_lies_and_how_long_it_thought() -> None:
    info = replace(INFO, buffers=(DeviceBuffers("CUDA0", 3, 2, 1, 4),), architecture="llama")
    loaded = json.loads(json_line(ModelLoaded(info, 1.0)))
    assert loaded["buffers"] == [{"device": "CUDA0", "weights": 3, "kv": 2, "compute": 1, "file_cache": 4}]
    assert loaded["architecture"] == "llama"
    stats = replace(STATS, thinking_ms=250.0)
    assert json.loads(json_line(Finished(1, FinishReason.STOP, "", stats)))["thinking_ms"] == 250.0


def test_text_never_breaks_a_json_line() -> None:
    line = json_line(TextDelta(1, "a\u2028b\x85c\nd\ud83d👍", 3))
    assert len(line.splitlines()) == 1
    assert json.loads(line)["text"] == "a\u2028b\x85c\nd\ud83d👍"
    assert line.isascii()


def test_what_is_no_number_is_null() -> None:
    assert json.loads(json_line(ModelLoaded(INFO, float("nan"))))["load_ms"] is None
    assert json.loads(json_line(LoadProgress(float("inf"))))["fraction"] is None


def test_model_cannot_steer_the_terminal() -> None:
    out = Terminal()
    PlainOutput(out, io.StringIO()).show(TextDelta(1, "a\x1b[2Jb\r\nc\td\x9b", 1))
    assert out.getvalue() == "a\ufffd[2Jb\nc\td\ufffd"


def test_reply_into_a_pipe_is_unchanged() -> None:
    out = io.StringIO()
    PlainOutput(out, io.StringIO()).show(TextDelta(1, "a\x1b[2Jb\r\n", 1))
    assert out.getvalue() == "a\x1b[2Jb\r\n"


def test_every_reply_ends_its_line_once() -> None:
    out = io.StringIO()
    output = PlainOutput(out, io.StringIO())
    for text in ("one", "two\n", ""):
        output.show(TextDelta(1, text, 1))
        output.show(Finished(1, FinishReason.STOP, text, STATS))
    assert out.getvalue() == "one\ntwo\n\n"


def test_progress_is_for_terminals_only() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for err in (pipe, terminal):
        output = PlainOutput(io.StringIO(), err)
        output.show(LoadProgress(0.5))
        output.show(ModelLoaded(INFO, 1.0))
        output.show(PrefillProgress(1, 0, 2000))
        output.show(PrefillProgress(1, 1000, 2000, 2.6))
        output.show(CacheShifted(1, 128, False))
    assert pipe.getvalue() == ""
    assert "50%" in terminal.getvalue()
    assert "Small, context 512" in terminal.getvalue()
    assert "reading 0 of 2,000 tokens\r" in terminal.getvalue()
    assert "reading 1,000 of 2,000 tokens, 3 s left" in terminal.getvalue()
    assert "oldest 128 tokens" in terminal.getvalue()
