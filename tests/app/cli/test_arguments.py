from __future__ import annotations

import pytest

from app.cli.arguments import ChatOptions, build_parser, chat_options
from engine.errors import BadRequest
from engine.protocol import (
    CachePolicy,
    FlashAttention,
    KVType,
    LoadModel,
    LoadOptions,
    Policy,
    Sampling,
    Shift,
    Split,
)


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


def test_sinks_of_more_than_half_of_the_context_are_wrong_usage() -> None:
    assert options("--ctx", "512", "--sinks", "256").cache.n_sinks == 256
    with pytest.raises(BadRequest, match="between 0 and 256, half of the context of 512 tokens, not 257"):
        options("--ctx", "512", "--sinks", "257")
    assert options("--ctx", "1").n_ctx == 1  # which becomes 256
    assert options("--sinks", "5000").cache.n_sinks == 5000  # the context is not known yet


@pytest.mark.parametrize("option", ["--kv-type", "--policy", "--shift"])
def test_a_name_that_is_none_of_the_choices_is_told_with_the_choices(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options(option, "f32")
    told = capsys.readouterr().err
    assert "invalid choice: 'f32' (choose from" in told or "'f32' is none of f16, q8_0, q4_0" in told
    assert "KVType" not in told


def test_help_shows_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--help")
    told = capsys.readouterr().out
    assert "f16, q8_0, q4_0" in told and "{endless,exact,stop}" in told and "{lazy,eager}" in told


def test_choices_become_values_of_the_engine() -> None:
    asked = options("--kv-type", "q8_0", "--policy", "stop", "--shift", "eager", "--no-pin-system")
    assert asked.kv_type is KVType.Q8_0
    assert asked.cache == CachePolicy(Policy.STOP, Shift.EAGER, pin_system=False)


def test_options_of_loading_reach_the_engine() -> None:
    words = "-fa off -ctv q4_0 -b 1024 -ub 256 --main-device CUDA1 -sm none --no-mmap --mlock -ngl 12"
    asked = options(*words.split()).load_command("/m.gguf")
    assert asked.n_gpu_layers == 12
    assert asked.options == LoadOptions(
        v_type=KVType.Q4_0,
        flash_attention=FlashAttention.OFF,
        n_batch=1024,
        n_ubatch=256,
        main_device="CUDA1",
        split=Split.NONE,
        mmap=False,
        mlock=True,
    )
    assert options().load_command("/m.gguf").options == LoadOptions()


def test_a_draft_model_reaches_the_engine_unless_nothing_is_drafted() -> None:
    asked = options("--draft", "small.gguf")
    assert (asked.load_command("/m.gguf").draft_path, asked.speculate) == ("small.gguf", True)
    asked = options("--draft", "small.gguf", "--no-speculation")
    assert (asked.load_command("/m.gguf").draft_path, asked.speculate) == (None, False)
    assert options().load_command("/m.gguf").draft_path is None


@pytest.mark.parametrize("size", ["0", "-1", "1048577", "many"])
def test_batch_that_is_none_is_wrong_usage(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--batch-size", size)
    assert "--batch-size" in capsys.readouterr().err


def test_bytes_of_a_system_prompt_that_are_no_text_are_replaced() -> None:
    assert options("--system", "caf\udcff", "--stop", "\udcff").system == "caf\ufffd"
    assert options("--stop", "\udcff").stop == ("\ufffd",)
