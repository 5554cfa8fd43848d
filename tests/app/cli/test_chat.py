from __future__ import annotations

import dataclasses
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.cli import chat
from app.cli.arguments import ChatOptions
from app.data.settings import Settings, SettingsStore
from engine.protocol import (
    CachePolicy,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Finished,
    FinishReason,
    Gauges,
    Generate,
    LoadModel,
    LoadProgress,
    ModelLoaded,
    Role,
)
from tests.app.cli.scripted_engine import INFO, STATS, ScriptedEngines, dies, fails, replies

Run = Callable[..., int]


@pytest.fixture(autouse=True)
def weir_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run a chat of `lines` with the scripted engines; every engine must be closed at its end."""
    used: list[ScriptedEngines] = []

    def run_chat(lines: bytes, engines: ScriptedEngines, **options: object) -> int:
        used.append(engines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines), encoding="ascii"))
        return chat.run_chat(ChatOptions(model="model.gguf", **options), engines)  # type: ignore[arg-type]

    yield run_chat
    assert all(engine.is_closed for engines in used for engine in engines.made)


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_line_is_a_message_of_one_chat(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    engines = ScriptedEngines(replies("Hello."), replies("Fine.\n"))
    assert run(b"Hi\n\n   \nHow are you?", engines, system="Be short.") == 0
    assert engines.said == [["Be short.", "Hi"], ["Be short.", "Hi", "Hello.", "How are you?"]]
    roles = [message.role for message in engines.requests[1].messages]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER]
    assert len({request.chat_id for request in engines.requests}) == 1
    assert capsys.readouterr() == ("Hello.\nFine.\n", "")


def test_bytes_that_are_no_text_are_replaced(run: Run) -> None:
    engines = ScriptedEngines(replies("x"), replies("x"), replies("x"))
    run(b"\xef\xbb\xbfcaf\xff\r\n\xed\xa0\xbd\nALPHA\0BETA\n", engines)
    assert [said[-1] for said in engines.said] == ["caf\ufffd", "\ufffd\ufffd\ufffd", "ALPHA\0BETA"]


def test_json_lines_carry_the_engines_events(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    load = (LoadProgress(0.5), Gauges(None, None, None, 0, 512, None, None, 1, ()), ModelLoaded(INFO, 5.0))
    assert run(b"Hi\n", ScriptedEngines(replies("ok"), load=load), as_json=True) == 0
    shown = events(capsys)
    assert [event["event"] for event in shown] == [
        "load_progress",
        "model_loaded",
        "text",
        "text",
        "finished",
    ]
    assert shown[1]["n_ctx"] == 512 and shown[1]["load_ms"] == 5.0
    assert shown[-1] == {
        "event": "finished",
        "reason": "stop",
        "text": "ok",
        "tokens_prompt": 9,
        "tokens_reused": 4,
        "tokens_prefilled": 5,
        "tokens_generated": 2,
        "tokens_evicted": 0,
        "ttft_ms": 12.5,
        "prefill_tps": 400.0,
        "decode_tps": None,
        "kv_cells_used": 11,
        "kv_cells": 512,
        "shifted": False,
        "reevaluated_because": None,
        "resident_from_message": None,
        "thinking_ms": None,
        "tokens_restored": 0,
        "tokens_shared": 0,
        "tokens_drafted": 0,
        "tokens_accepted": 0,
        "draft_gain": None,
    }


def test_failed_message_is_left_out_and_the_chat_goes_on(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = ScriptedEngines(fails(ErrorCode.PROMPT_TOO_LONG, "Too long."), replies("Yes."))
    assert run(b"a very long text\nshort\n", engines) == 0
    assert engines.said == [["a very long text"], ["short"]]
    captured = capsys.readouterr()
    assert captured.out == "Yes.\n"
    assert captured.err.splitlines() == [
        "weir: Too long.",
        "weir: That message is left out of the chat; the chat goes on.",
    ]


def test_status_is_1_if_the_last_message_failed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    engines = ScriptedEngines(replies("Yes."), fails(ErrorCode.TEMPLATE, "Too slow."))
    assert run(b"one\ntwo\n", engines, as_json=True) == 1
    assert events(capsys)[-1] == {"event": "failed", "code": "template", "message": "Too slow."}


def test_partial_reply_is_kept_when_the_engine_dies(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    engines = ScriptedEngines(dies(after="Once upon"), replies("Yes."))
    assert run(b"tell\ngo on\n", engines, as_json=True, n_ctx=512) == 0
    assert engines.said[1] == ["tell", "Once upon", "go on"]
    failed = next(event for event in events(capsys) if event["event"] == "failed")
    assert failed["code"] == "engine_died"
    assert "killed" in str(failed["message"]) and "kept" in str(failed["message"])
    loads = [engine.commands[0] for engine in engines.made]
    assert loads == [LoadModel("model.gguf", n_ctx=512, n_seq_max=1)] * 2


def test_message_without_any_reply_is_left_out_when_the_engine_dies(run: Run) -> None:
    engines = ScriptedEngines(dies(), replies("Yes."))
    assert run(b"culprit\nnext\n", engines) == 0
    assert engines.said[1] == ["next"]


def test_death_without_a_word_is_reported_with_its_exit_code(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(b"one\n", ScriptedEngines(lambda request: [EngineDied(-9, "")]), as_json=True) == 1
    assert "(exit code -9)" in str(events(capsys)[-1]["message"])


def test_two_deaths_in_a_row_end_the_chat(run: Run) -> None:
    engines = ScriptedEngines(dies(), dies(), replies("never"))
    assert run(b"one\ntwo\nthree\n", engines) == 1
    assert len(engines.made) == 2 and len(engines.requests) == 2


def test_finished_reply_between_two_deaths_lets_the_chat_go_on(run: Run) -> None:
    engines = ScriptedEngines(dies(), replies("a"), dies(), replies("b"))
    assert run(b"1\n2\n3\n4\n", engines) == 0
    assert len(engines.made) == 3


def test_engine_that_died_between_messages_is_replaced(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    engines = ScriptedEngines(lambda request: [*replies("a")(request), EngineDied(-9, "")], replies("b"))
    assert run(b"1\n2\n", engines) == 0
    assert engines.said[1] == ["1", "a", "2"] and len(engines.made) == 2
    assert capsys.readouterr().out == "a\nb\n"


def test_reply_that_failed_in_the_middle_is_kept_and_counts_as_a_failure(run: Run) -> None:
    engines = ScriptedEngines(replies("half", FinishReason.ERROR), replies("x", FinishReason.ERROR))
    assert run(b"1\n2\n", engines) == 1
    assert engines.said[1] == ["1", "half", "2"]


def test_message_cancelled_before_any_text_is_left_out(run: Run) -> None:
    engines = ScriptedEngines(replies("", FinishReason.CANCELLED), replies("x"))
    assert run(b"1\n2\n", engines) == 0
    assert engines.said[1] == ["2"]


def refused_by_a_full_context(request: Generate) -> list[Event]:
    error = ErrorReport(ErrorCode.BUG, "full")
    return [Finished(request.request_id, FinishReason.CONTEXT_FULL, "", STATS, error)]


def test_context_that_is_full_is_told_once_and_then_refuses(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = ScriptedEngines(
        replies("half a", FinishReason.CONTEXT_FULL), refused_by_a_full_context, refused_by_a_full_context
    )
    assert run(b"1\n2\n3\n", engines) == 1
    assert engines.said[2] == ["1", "half a", "3"]
    captured = capsys.readouterr()
    assert captured.out == "half a\n"
    assert captured.err.splitlines() == [
        "weir: The reply ends here, and its text is kept: the context is full and the policy is to stop "
        "there. Start again with --policy endless or a larger --ctx.",
        "weir: That message was not read: the context is full.",
        "weir: That message was not read: the context is full.",
    ]


def test_reply_that_a_full_context_ended_is_no_failure(run: Run) -> None:
    assert run(b"1\n", ScriptedEngines(replies("half", FinishReason.CONTEXT_FULL))) == 0


def test_message_refused_by_a_full_context_at_once_is_told_what_to_do(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(b"1\n", ScriptedEngines(refused_by_a_full_context)) == 1
    assert "was not read: the context is full and the policy" in capsys.readouterr().err


def test_context_that_is_not_as_asked_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(b"", ScriptedEngines(), n_ctx=257)
    assert (
        capsys.readouterr().err == "weir: The context has 512 tokens, not 257: it is made in steps of 256.\n"
    )
    run(b"", ScriptedEngines(), n_ctx=512)
    assert capsys.readouterr().err == ""


def test_sinks_that_the_loaded_context_cannot_hold_end_the_chat_before_the_first_message(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = ScriptedEngines()
    assert run(b"1\n2\n", engines, cache=CachePolicy(n_sinks=257)) == 1
    assert engines.requests == []
    (told,) = capsys.readouterr().err.splitlines()
    assert "The first 257 tokens cannot all stay" in told and "here 256 tokens" in told
    assert run(b"1\n", ScriptedEngines(replies("x")), cache=CachePolicy(n_sinks=256)) == 0


def test_model_that_cannot_be_loaded_is_reported_once(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    load = (Failed(None, ErrorReport(ErrorCode.MODEL_FILE, "model.gguf is cut short.")),)
    assert run(b"Hi\n", ScriptedEngines(load=load), as_json=True) == 1
    assert events(capsys) == [
        {"event": "failed", "code": "model_file", "message": "model.gguf is cut short."}
    ]


def test_death_while_loading_names_the_file_and_the_cause(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    load = (EngineDied(-6, "GGML_ASSERT(n_layer > 0) failed"),)
    assert run(b"Hi\n", ScriptedEngines(load=load), as_json=True) == 1
    (failed,) = events(capsys)
    assert failed["code"] == "model_load"
    assert "model.gguf" in str(failed["message"]) and "GGML_ASSERT" in str(failed["message"])


def test_options_that_the_engine_refuses_are_wrong_usage(run: Run) -> None:
    load = (Failed(None, ErrorReport(ErrorCode.BAD_REQUEST, "chat_format has no such name.")),)
    assert run(b"", ScriptedEngines(load=load)) == 2


def test_fallback_format_is_named_with_its_reason(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    info = dataclasses.replace(INFO, chat_format="chatml", chat_format_reason="No template: chatml is used.")
    run(b"Hi\n", ScriptedEngines(replies("ok"), load=(ModelLoaded(info, 1.0),)))
    captured = capsys.readouterr()
    assert captured.out == "ok\n"
    assert len(captured.err.splitlines()) == 1
    assert "No template: chatml is used. (--chat-format" in captured.err


def test_nothing_said_is_no_failure(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(b"", ScriptedEngines()) == 0
    assert capsys.readouterr() == ("", "")


def test_last_model_of_the_window_is_taken_if_it_is_still_there(weir_home: Path) -> None:
    model = weir_home / "mine.gguf"
    model.touch()
    SettingsStore(weir_home / "settings.json").save(Settings(last_model=str(model)))
    assert chat.choose_model(None, pytest.fail) == str(model)
    assert chat.choose_model("other.gguf", pytest.fail) == "other.gguf"


def test_starter_model_is_taken_where_the_last_one_is_gone(weir_home: Path, starter_model: Path) -> None:
    SettingsStore(weir_home / "settings.json").save(Settings(last_model=str(weir_home / "gone.gguf")))
    assert chat.choose_model(None, pytest.fail) == str(starter_model)


def test_no_model_at_all_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chat, "starter_model_path", lambda: None)
    assert chat.run_chat(ChatOptions(as_json=True), ScriptedEngines()) == 1
    (failed,) = events(capsys)
    assert failed["code"] == "model_file" and "make run" in str(failed["message"])


def test_unusable_data_folder_does_not_stop_the_chat(
    weir_home: Path, monkeypatch: pytest.MonkeyPatch, starter_model: Path
) -> None:
    (weir_home / "file").touch()
    monkeypatch.setenv("WEIR_HOME", str(weir_home / "file"))
    notes: list[str] = []
    assert chat.choose_model(None, notes.append) == str(starter_model)
    assert len(notes) == 1 and str(weir_home / "file") in notes[0]
