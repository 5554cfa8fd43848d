"""A chat measured from outside: real numbers of tokens, no rate without time, and every end of the worker.

Guards against LostRuins/koboldcpp#852.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from engine.errors import EngineGone, ModelLoadError
from engine.measure.bench_chat import ChatBench, ChatTime, counted, whole_path
from engine.measure.bench_pass import Cancelled
from engine.protocol import (
    BenchCase,
    Command,
    EngineDied,
    ErrorCode,
    ErrorReport,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    LoadModel,
    ModelInfo,
    ModelLoaded,
    TextDelta,
    TurnStats,
)

CASE = BenchCase(n_prompt=512, n_gen=387, n_threads=2, is_chat=True)
LOADED = ModelLoaded(ModelInfo("m", "m", "", 1, 1, 1024, 2048, 1, 2, 1000, "template", None, ()), 12.0)


def stats(n_read: int = 500, n_generated: int = 78) -> TurnStats:
    return TurnStats(n_read, 0, n_read, n_generated, 0, 1.0, 1.0, 1.0, 1, 1024)


def finished(request_id: int, text: str = "a", **more: int) -> Finished:
    return Finished(request_id, FinishReason.LENGTH, text, stats(**more))


class ScriptedWorker:
    """Answers each command with the next list of events."""

    def __init__(self, *answers: Sequence[Event]) -> None:
        self.commands: list[Command] = []
        self.is_closed = False
        self.pid = None
        self._answers = list(answers)

    def __call__(self, on_event: Callable[[Event], None]) -> ScriptedWorker:
        self._on_event = on_event
        return self

    def send(self, command: Command) -> None:
        self.commands.append(command)
        for event in self._answers.pop(0):
            self._on_event(event)

    def close(self) -> None:
        self.is_closed = True


def chat(
    worker: ScriptedWorker, case: BenchCase = CASE, check: Callable[[], None] = lambda: None
) -> ChatBench:
    numbers = iter(range(100))
    return ChatBench("m.gguf", case, lambda n: f"text {next(numbers)} of {n}", worker, check, most_cells=1024)


def test_the_model_is_loaded_as_the_case_says() -> None:
    worker = ScriptedWorker([LOADED])
    assert chat(worker).loaded is LOADED
    (command,) = worker.commands
    assert isinstance(command, LoadModel)
    assert (command.n_threads, command.n_seq_max) == (2, 1)
    assert command.n_ctx == 1024  # it wants more than the model knows


def test_each_question_is_another_one_so_that_all_is_read() -> None:
    worker = ScriptedWorker(
        [LOADED], [TextDelta(1, "a", 1), finished(1)], [TextDelta(2, "a", 1), finished(2)]
    )
    measured = chat(worker)
    measured.ask()
    measured.ask()
    asked = [command for command in worker.commands if isinstance(command, Generate)]
    assert [command.messages[-1].content for command in asked] == ["text 0 of 512", "text 1 of 512"]
    assert all(command.ignore_eos and command.max_tokens == 387 for command in asked)


def test_a_depth_is_what_stands_before_each_question() -> None:
    case = BenchCase(n_prompt=5, n_gen=4, n_depth=900, n_threads=1, is_chat=True)
    worker = ScriptedWorker([LOADED], [finished(1, "answer")], [TextDelta(2, "a", 1), finished(2)])
    chat(worker, case).ask()
    question = worker.commands[-1]
    assert isinstance(question, Generate)
    assert [message.content for message in question.messages] == ["text 0 of 900", "answer", "text 1 of 5"]


def test_a_reply_that_ended_early_counts_what_it_has() -> None:
    time = ChatTime(first=0.5, total=2.5, n_first=1, stats=stats(500, 78))
    assert time.prompt_ts == pytest.approx(1000)
    assert time.decode_ts == pytest.approx(77 / 2)
    case = counted(CASE, [time])
    assert (case.n_prompt, case.n_gen) == (500, 78)


@pytest.mark.parametrize(
    "time",
    [
        ChatTime(None, 1.0, 0, stats(500, 0)),  # cancelled before the first token
        ChatTime(1.0, 1.0, 1, stats(500, 1)),
        ChatTime(1.0, 1.0, 1, stats(500, 3)),  # three tokens in one piece
        ChatTime(1.0, 2.0, 3, stats(500, 3)),
    ],
)
def test_without_time_or_tokens_there_is_no_rate(time: ChatTime) -> None:
    assert time.decode_ts is None
    assert whole_path(1.0, [time]).decode_ts is None


def test_the_medians_of_all_answers_are_told() -> None:
    times = [ChatTime(seconds, seconds + 1, 1, stats(100, 11)) for seconds in (0.1, 0.5, 0.2)]
    path = whole_path(12.0, times)
    assert (path.load_ms, path.ttft_ms, path.prompt_ts) == (12, 200, 500)
    assert path.decode_ts == pytest.approx(10)


def test_a_model_that_cannot_be_loaded_ends_the_worker() -> None:
    worker = ScriptedWorker([Failed(None, ErrorReport(ErrorCode.MODEL_LOAD, "Too large."))])
    with pytest.raises(ModelLoadError, match="Too large"):
        chat(worker)
    assert worker.is_closed


def test_a_worker_that_dies_is_told() -> None:
    worker = ScriptedWorker([LOADED], [EngineDied(-6, "GGML_ASSERT(x)")])
    measured = chat(worker)
    with pytest.raises(EngineGone, match="GGML_ASSERT"):
        measured.ask()


def test_a_reply_that_fails_is_told() -> None:
    worker = ScriptedWorker([LOADED], [Failed(1, ErrorReport(ErrorCode.PROMPT_TOO_LONG, "Too long."))])
    measured = chat(worker)
    with pytest.raises(ModelLoadError, match="Too long"):
        measured.ask()


def test_a_wait_can_be_ended() -> None:
    def check() -> None:
        if len(worker.commands) > 1:
            raise Cancelled

    worker = ScriptedWorker([LOADED], [])
    measured = chat(worker, check=check)
    with pytest.raises(Cancelled):
        measured.ask()
