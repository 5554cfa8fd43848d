"""Options of a chat: whole through JSON, harmless when broken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.data.chat_options import ChatOptions, options_from_json, options_to_json
from engine.protocol import KVType, Policy, Sampling

ALL = ChatOptions(
    system_prompt="Sei \u2067kurz\u2069.\0",
    sampling=Sampling(temperature=0, min_p=0.1, seed=2**32 - 1),
    max_tokens=5,
    policy=Policy.EXACT,
    n_ctx=4096,
    kv_type=KVType.Q4_0,
    n_gpu_layers=-1,
)


@pytest.mark.parametrize("options", [ALL, ChatOptions(), ChatOptions(system_prompt=""), ChatOptions(n_ctx=1)])
def test_options_come_back_as_they_went(options: ChatOptions) -> None:
    assert options_from_json(options_to_json(options)) == options


def test_what_is_as_in_the_settings_is_not_written() -> None:
    assert options_to_json(ChatOptions()) == "{}"
    assert json.loads(options_to_json(ChatOptions(max_tokens=5))) == {"max_tokens": 5}


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "[" * 100_000, '{"n_ctx": ' + "9" * 5000 + "}"])
def test_a_broken_text_gives_no_options(text: str) -> None:
    assert options_from_json(text) == ChatOptions()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("system_prompt", 5),
        ("sampling", {"top_k": "many"}),
        ("sampling", "hot"),
        ("max_tokens", 0),
        ("policy", "forget"),
        ("n_ctx", True),
        ("kv_type", ["f16"]),
        ("n_gpu_layers", -2),
        ("n_gpu_layers", None),
        ("from_the_future", 1),
    ],
)
def test_what_cannot_be_used_is_as_in_the_settings_and_the_rest_stays(name: str, value: object) -> None:
    stored = {"max_tokens": 7, "n_ctx": 512} | {name: value}
    assert options_from_json(json.dumps(stored)) == ChatOptions(
        max_tokens=None if name == "max_tokens" else 7, n_ctx=None if name == "n_ctx" else 512
    )


@given(st.dictionaries(st.sampled_from(sorted(ChatOptions.__dataclass_fields__)), st.text() | st.integers()))
def test_options_that_were_read_can_be_written(stored: dict[str, object]) -> None:
    options = options_from_json(json.dumps(stored))
    assert options_from_json(options_to_json(options)) == options
