"""The worker as a process: it loads, answers, refuses, dies and is gone, and its parent always knows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from engine.client import probe_backend
from engine.errors import EngineGone
from engine.memory.memory_plan import UNKNOWN_N_CTX_TRAIN
from engine.protocol import (
    Cancel,
    CountTokens,
    DeviceBuffers,
    EngineDied,
    ErrorCode,
    Failed,
    Finished,
    FinishReason,
    Gauges,
    Generate,
    LoadModel,
    LoadProgress,
    ModelLoaded,
    PrefillProgress,
    Sampling,
    SavedKV,
    TextDelta,
    TokenCount,
)
from tests.native.harness import GREEDY, RemoteEngine, assistant, user

LOREM = "The river runs through the valley and the weir holds the water at its level. "


def test_a_chat_is_loaded_answered_and_goes_on(engine: RemoteEngine, starter_model: Path) -> None:
    engine.client.send(LoadModel(str(starter_model), n_ctx=1000, n_threads=1))
    assert engine.next(LoadProgress).fraction >= 0
    info = engine.next(ModelLoaded).info
    assert info.n_ctx == 1024  # llama.cpp rounds up, and the real size is told
    assert info.kv_bytes == 1024 * 23_040
    assert (info.n_ctx_train, info.chat_format, info.chat_format_reason) == (8192, "template", None)
    assert info.architecture == "llama"
    chat = [user("What is the capital of France?")]
    first = engine.ask(chat, max_tokens=20)
    assert first.text
    stats = first.stats
    assert stats.tokens_reused == 0 and stats.tokens_prompt == stats.tokens_prefilled > 10
    assert stats.ttft_ms and stats.prefill_tps and stats.decode_tps
    second = engine.ask([*chat, assistant(first.text), user("And of Spain?")], max_tokens=20)
    assert second.stats.tokens_prefilled < 20 < second.stats.tokens_reused


def test_gauges_tell_cells_and_memory(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=512)
    engine.ask([user("Hello")], max_tokens=5)
    gauges = engine.next(Gauges)
    while gauges.ttft_ms is None:
        gauges = engine.next(Gauges)
    assert gauges.kv_cells == 512 and 0 < gauges.kv_cells_used < 60
    assert gauges.kv_bytes_used == gauges.kv_cells_used * 23_040
    assert gauges.rss_bytes > 90e6


def test_the_same_seed_gives_the_same_reply(
    engine: RemoteEngine, starter_model: Path, tmp_path: Path
) -> None:
    engine.load(starter_model, n_ctx=512, saved_kv=SavedKV(str(tmp_path), 10**9))
    sampling = Sampling(temperature=1.5, seed=7)
    one, two = (
        engine.ask([user("Tell me a story.")], chat=name, sampling=sampling, max_tokens=24) for name in "ab"
    )
    other = engine.ask(
        [user("Tell me a story.")], chat="c", sampling=Sampling(temperature=1.5, seed=8), max_tokens=24
    )
    assert one.text == two.text != other.text


def test_a_stop_string_ends_the_reply_and_never_leaks(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=512)
    chat = [user("What is the capital of France?")]
    whole = engine.ask(chat, max_tokens=20)
    stop = whole.text[8:14]
    stopped = engine.ask(chat, max_tokens=20, stop=(stop, "  ", ""))
    assert stopped.reason is FinishReason.STOP
    assert stopped.text == whole.text[: whole.text.index(stop)]
    again = engine.ask(chat, max_tokens=20)
    assert again.text == whole.text


def test_stop_during_a_long_prompt_takes_effect_at_once(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=8192)
    request_id = engine.generate([user(LOREM * 350)])
    engine.next(PrefillProgress)
    asked = time.monotonic()
    engine.client.send(Cancel(request_id))
    finished = engine.next(Finished)
    assert time.monotonic() - asked < 2
    assert finished.reason is FinishReason.CANCELLED and finished.stats.tokens_prefilled < 5000


def test_what_lies_on_each_device_is_told(engine: RemoteEngine, starter_model: Path) -> None:
    info = engine.load(starter_model, n_ctx=512).info
    (cpu,) = info.buffers
    assert isinstance(cpu, DeviceBuffers) and cpu.device == "CPU"
    assert cpu.weights == pytest.approx(info.size_bytes, rel=0.05)
    assert cpu.kv == info.kv_bytes and cpu.compute > 1e6


# --- counting -------------------------------------------------------------------------------------

FIVE_MEGABYTES = "some more text " * 330_000


def test_five_megabytes_are_counted_while_a_reply_goes_on_and_is_cancelled(
    engine: RemoteEngine, starter_model: Path
) -> None:
    engine.load(starter_model, n_ctx=512)
    request_id = engine.generate([user("Write a long story.")], max_tokens=100_000, ignore_eos=True)
    engine.next(TextDelta)
    engine.client.send(CountTokens("draft", FIVE_MEGABYTES))
    for _ in range(10):
        assert isinstance(engine.next(TextDelta, TokenCount), TextDelta)  # none waited for the count
    asked = time.monotonic()
    engine.client.send(Cancel(request_id))
    assert isinstance(engine.next(Finished, TokenCount), Finished)
    assert time.monotonic() - asked < 2
    assert engine.next(TokenCount) == TokenCount("draft", 990_001)


def test_a_count_is_that_of_the_text_alone_and_the_newest_question_wins(
    engine: RemoteEngine, starter_model: Path
) -> None:
    engine.load(starter_model, n_ctx=512)
    for key, text in [
        ("file", FIVE_MEGABYTES),
        ("draft", "Hel"),
        ("draft", "Hello <|im_end|>"),
        ("none", ""),
    ]:
        engine.client.send(CountTokens(key, text))
    counts = [engine.next(TokenCount) for _ in range(3)]
    assert [(count.key, count.n_tokens) for count in counts] == [("file", 990_001), ("draft", 8), ("none", 0)]


def test_closing_does_not_wait_for_a_count(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=512)
    engine.client.send(CountTokens("draft", "x" * 5_000_000))
    time.sleep(0.2)
    asked = time.monotonic()
    engine.client.close()
    assert time.monotonic() - asked < 2.5


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("cut-half", ErrorCode.MODEL_FILE, "cut short"),
        ("cut-last-4096", ErrorCode.MODEL_FILE, "cut short"),
        ("html", ErrorCode.MODEL_FILE, "web page"),
        ("lfs-pointer", ErrorCode.MODEL_FILE, "LFS"),
        ("architecture-unknown", ErrorCode.MODEL_LOAD, "'nosucharch'"),
        ("blocks-513", ErrorCode.MODEL_FILE, "513"),
        ("blocks-0", ErrorCode.MODEL_FILE, "0"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_cause(
    engine: RemoteEngine, bad_files: dict[str, Path], name: str, code: ErrorCode, says: str
) -> None:
    engine.client.send(LoadModel(str(bad_files[name])))
    failed = engine.next(Failed)
    assert failed.request_id is None and failed.error.code is code
    assert f"{name}.gguf" in failed.error.message and says in failed.error.message


def test_a_file_that_makes_llama_cpp_abort_costs_the_worker_only(
    engine: RemoteEngine, no_byte_tokens_model: Path
) -> None:
    engine.client.send(LoadModel(str(no_byte_tokens_model)))
    died = engine.next(EngineDied, Failed, ModelLoaded)
    assert isinstance(died, EngineDied) and died.exit_code == -signal.SIGABRT
    with pytest.raises(EngineGone):
        for _ in range(100):  # the pipe may take one more command before its other end is closed
            engine.client.send(Generate(1, "chat", (user("Hello"),), GREEDY))


@pytest.mark.parametrize("n_ctx", [-1, 0, 8193, 2**31 - 1, 2**40])
def test_an_impossible_context_is_refused_in_one_sentence(
    engine: RemoteEngine, starter_model: Path, n_ctx: int
) -> None:
    engine.client.send(LoadModel(str(starter_model), n_ctx=n_ctx))
    error = engine.next(Failed).error
    assert error.code is ErrorCode.BAD_REQUEST and "8,192" in error.message


def test_trained_context_that_is_a_guess_is_told_as_one(
    engine: RemoteEngine, bad_files: dict[str, Path]
) -> None:
    engine.client.send(LoadModel(str(bad_files["context-0"]), n_ctx=UNKNOWN_N_CTX_TRAIN + 1))
    error = engine.next(Failed).error
    assert error.code is ErrorCode.BAD_REQUEST
    assert "its file does not say what it was trained for; 4,096 is taken" in error.message


def test_odd_text_neither_stops_the_worker_nor_is_cut(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=512)
    short = engine.ask([user("x")], chat="x", max_tokens=1).stats.tokens_prompt
    for text, n_more in [("ok \ud83d", 1), ("ALPHA\0BETA", 5), ("\u202egnirts", 3), ("\ufdd0\ufdd1x", 0)]:
        n_tokens = engine.ask([user(text)], chat=text, max_tokens=1).stats.tokens_prompt
        assert n_tokens >= short + n_more


# --- ends -----------------------------------------------------------------------------------------


def test_a_killed_worker_is_an_event_after_all_it_said(engine: RemoteEngine, starter_model: Path) -> None:
    engine.load(starter_model, n_ctx=512)
    engine.generate([user("Write a long story.")], max_tokens=400, ignore_eos=True)
    engine.next(TextDelta)
    assert engine.client.pid
    os.kill(engine.client.pid, signal.SIGKILL)
    assert engine.next(EngineDied, Finished) == EngineDied(-signal.SIGKILL, "")


def test_close_in_the_middle_of_a_reply_is_quick_and_leaves_no_process(
    engine: RemoteEngine, starter_model: Path
) -> None:
    engine.load(starter_model, n_ctx=2048)
    engine.generate([user(LOREM * 90)], max_tokens=400)
    engine.next(PrefillProgress)
    children = psutil.Process(engine.client.pid).children(recursive=True)
    asked = time.monotonic()
    engine.client.close()
    assert time.monotonic() - asked < 2.5
    gone, alive = psutil.wait_procs(children, timeout=5)
    assert len(gone) >= 1 and not alive  # the template's process ends with its worker
    engine.client.close()


def test_the_worker_ends_when_its_parent_is_killed(starter_model: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(starter_model)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout
    worker = psutil.Process(int(parent.stdout.readline()))
    family = [worker, *worker.children(recursive=True)]
    parent.kill()
    parent.communicate()
    _gone, alive = psutil.wait_procs(family, timeout=10)
    assert not alive


_PARENT = """
import queue, sys, time
from engine.client import EngineClient
from engine.protocol import LoadModel, ModelLoaded
if __name__ == "__main__":
    events = queue.Queue()
    client = EngineClient(events.put)
    client.send(LoadModel(sys.argv[1], n_ctx=256, n_threads=1))
    while not isinstance(events.get(), ModelLoaded):
        pass
    print(client.pid, flush=True)
    time.sleep(60)
"""


def test_the_parent_never_loads_llama_cpp(starter_model: Path) -> None:
    code = (
        "import sys, app.__main__, engine.client\n"
        "if __name__ == '__main__':\n"
        "    report = engine.client.probe_backend()\n"
        "    maps = open('/proc/self/maps').read() if sys.platform == 'linux' else ''\n"
        "    print('llama_cpp' in sys.modules, 'libllama' in maps, bool(report.devices))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True"]


def test_the_backend_tells_its_version_and_devices() -> None:
    report = probe_backend()
    assert report.llama_cpp_version and "CPU" in report.system_info
    assert any(device.kind == "cpu" for device in report.devices)
