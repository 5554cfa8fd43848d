from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import __main__ as weir
from tests import malformed_files as raw
from tests import model_files, synthetic_caches
from tests.model_files import TokenizerFields

REQUIRED = {
    "architecture",
    "n_params",
    "n_layers",
    "n_heads",
    "n_kv_heads",
    "n_ctx_train",
    "quantization",
    "weights_bytes",
    "kv_bytes_per_token",
    "recurrent_state_bytes",
    "is_chat_model",
    "can_shift",
    "reason",
}


def test_json_is_one_strict_object(starter_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weir.main(["inspect", str(starter_model), "--json"]) == 0
    out = capsys.readouterr().out
    found = json.loads(out, parse_constant=pytest.fail)
    assert out.count("\n") == 1
    assert found.keys() >= REQUIRED
    assert (found["architecture"], found["n_params"], found["n_kv_heads"]) == ("llama", 134_515_008, 3)
    assert (found["kv_bytes_per_token"], found["recurrent_state_bytes"]) == (23_040, 0)
    assert found["kv_bytes_per_token_by_type"] == {"f16": 23_040, "q8_0": 12_240, "q4_0": 6_480}
    assert (found["is_chat_model"], found["can_shift"], found["reason"]) == (True, True, None)


def test_kv_heads_that_differ_are_a_list(
    tmp_path: Path, tokenizer_fields: TokenizerFields, capsys: pytest.CaptureFixture[str]
) -> None:
    network = synthetic_caches.jamba(tokenizer_fields.n_vocab)
    path = model_files.write_network(tmp_path / "hybrid.gguf", network, tokenizer_fields)
    assert weir.main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_kv_heads"] == [0, 1, 0]
    assert found["layer_kinds"] == ["recurrent", "full", "recurrent"]
    assert found["recurrent_state_bytes"] == 2 * 4 * (3 * 128 + 16 * 128)
    assert weir.main(["inspect", str(path)]) == 0
    table = capsys.readouterr().out
    assert "Endless chats      no\n" in table
    assert "3 (2 recurrent, 1 full)" in table


def test_columns_are_aligned(starter_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weir.main(["inspect", str(starter_model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line[17:19] == "  " and line[19] != " " for line in lines)
    assert "KV for each token  22.5 KiB as f16, 12.0 KiB as q8_0, 6.3 KiB as q4_0" in lines
    assert "Heads              9, over 3 KV heads of 64 numbers" in lines


def test_neighbour_of_a_chat_model_is_told_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mmproj.gguf"
    path.write_bytes(raw.header(0, 1) + raw.string_entry(b"general.architecture", b"clip"))
    assert weir.main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["is_chat_model"], found["n_kv_heads"]) == (False, None)
    assert found["reason"].startswith("mmproj is a projector")


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_broken_file_is_a_sentence_and_a_failure(
    bad_files: dict[str, Path], extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert weir.main(["inspect", str(bad_files["cut-half"]), *extra]) == 1
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    told = json.dumps({"error": err.removeprefix("weir: ").rstrip("\n")}) + "\n"
    assert out == (told if extra else "")
    assert err.startswith("weir: cut-half.gguf is cut short")


def test_folder_is_told_what_to_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert weir.main(["inspect", str(tmp_path)]) == 1
    assert "is a folder. Name one of the model files in it." in capsys.readouterr().err


def test_hostile_names_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\x1b[2Jb.gguf"
    entries = raw.string_entry(b"general.architecture", b"x\x1b]0;y\x07")
    head = raw.header(1, 2) + entries + raw.string_entry(b"general.license", b"\x9b31m")
    head += raw.tensor_entry(b"output_norm.weight", (8,))
    path.write_bytes(head + bytes(-len(head) % 32 + 32))
    assert weir.main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
