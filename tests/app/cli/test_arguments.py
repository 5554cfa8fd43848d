from __future__ import annotations

import pytest

from app.cli.arguments import ChatOptions, build_parser, chat_options
from engine.errors import BadRequest
from engine.protocol import LoadModel, Sampling


def options(*words: str) -> ChatOptions:
    return chat_options(build_parser().parse_args(["chat", *words]))


def test_every_option_of_the_chat_arrives() -> None:
    words = "m.gguf --ctx 512 --temp 0 --top-k 3 --top-p 0.5 --min-p 0.1 --repeat-penalty 1.1 --seed 7"
    words += (
        " --max-tokens 20 --stop A --stop B --ignore-eos --system S --threads 2 --chat-format chatml --json"
    )
    asked = options(*words.split())
    assert asked == ChatOptions(
        model="m.gguf",
        n_ctx=512,
        n_threads=2,
        chat_format="chatml",
        system="S",
        sampling=Sampling(temperature=0.0, top_k=3, top_p=0.5, min_p=0.1, repeat_penalty=1.1, seed=7),
        max_tokens=20,
        stop=("A", "B"),
        ignore_eos=True,
        as_json=True,
    )
    assert asked.load_command("/x.gguf") == LoadModel(
        "/x.gguf", n_ctx=512, n_threads=2, n_seq_max=1, chat_format="chatml"
    )


def test_no_options_are_the_engines_own_defaults() -> None:
    assert options() == ChatOptions()
    assert ChatOptions().sampling == Sampling()


@pytest.mark.parametrize(
    "words", [["--temp", "nan"], ["--top-p", "1.5"], ["--seed", "-1"], ["--repeat-penalty", "0"]]
)
def test_sampling_outside_its_range_is_refused(words: list[str]) -> None:
    with pytest.raises(BadRequest, match="must be between"):
        options(*words)


@pytest.mark.parametrize(
    "words", [["--ctx", "0"], ["--max-tokens", "-1"], ["--threads", "many"], ["--nonsense"], ["a", "b"]]
)
def test_wrong_words_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        options(*words)
    assert stopped.value.code == 2
    assert "usage: weir" in capsys.readouterr().err


def test_bytes_of_a_system_prompt_that_are_no_text_are_replaced() -> None:
    assert options("--system", "caf\udcff", "--stop", "\udcff").system == "caf\ufffd"
    assert options("--stop", "\udcff").stop == ("\ufffd",)
