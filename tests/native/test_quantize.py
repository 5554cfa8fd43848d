"""Quantizing with llama.cpp itself: what was foretold comes out, and nothing half is ever left."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import gguf
import pytest

from engine.errors import BadRequest, ModelFileError, ModelLoadError
from engine.models.gguf_header import read_header
from engine.models.model_parts import headers_of
from engine.models.quantized_model import quantized_header
from engine.models.unfinished_file import sweep
from engine.protocol import (
    EngineDied,
    ErrorCode,
    Event,
    Failed,
    Finished,
    Quantize,
    QuantizeFinished,
    QuantizeProgress,
    QuantKind,
)
from engine.quantizing import quantize
from tests.model_files import TokenizerFields, write_network
from tests.native.harness import remote_engine, user
from tests.quantizable_models import plain_tokenizer, write_wide
from tests.synthetic_models import Network, gemma3, llama

_Usage = namedtuple("_Usage", "total used free")


def made(source: Path, kind: QuantKind = QuantKind.Q4_K_M, **more: bool) -> tuple[Path, QuantizeFinished]:
    """Quantize in this process, and check that what was foretold came out."""
    target = source.with_name(f"out-{kind}.gguf")
    expected = quantized_header(headers_of(source), kind, target)
    events: list[Event] = []
    quantize(Quantize(str(source), str(target), kind, 1, **more), events.append)
    end = events[-1]
    assert isinstance(end, QuantizeFinished)
    got = read_header(target)
    types = [(tensor.name, tensor.ggml_type, tensor.shape) for tensor in got.tensors]
    assert types == [(tensor.name, tensor.ggml_type, tensor.shape) for tensor in expected.tensors]
    assert end.size_bytes == target.stat().st_size == pytest.approx(expected.required_size, abs=512)
    return target, end


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(QuantKind))
def test_types_and_size_are_as_foretold(tmp_path: Path, kind: QuantKind) -> None:
    _, end = made(write_wide(tmp_path / "m.gguf", n_layers=8, tied=False), kind)
    assert end.quantization == kind and end.n_fallback == 0


@pytest.mark.parametrize(("n_experts", "kind"), [(4, QuantKind.Q4_K_M), (8, QuantKind.Q4_K_S)])
def test_mixtures_of_experts_are_as_foretold(tmp_path: Path, n_experts: int, kind: QuantKind) -> None:
    made(write_wide(tmp_path / "m.gguf", n_layers=3, n_experts=n_experts), kind)


def test_rows_that_do_not_fit_get_other_types_and_that_is_told(tmp_path: Path) -> None:
    network = llama(300, n_layers=2, n_ctx_train=128, seed=0)
    _, end = made(write_network(tmp_path / "narrow.gguf", network, plain_tokenizer()))
    assert end.n_fallback == 14  # all matrices but the output, which is wanted as Q8_0
    assert {name for name, _ in end.tensor_bytes} == {"Q5_0", "Q8_0", "F32"}


def test_another_architecture_is_as_foretold(tmp_path: Path) -> None:
    network = gemma3(300, sliding_window=64, seed=0)
    made(write_network(tmp_path / "gemma.gguf", network, plain_tokenizer()))


@pytest.mark.parametrize("kind", ["F32", "BF16", "Q8_0"])
def test_other_sources_go_as_well(tmp_path: Path, kind: str) -> None:
    path = write_wide(tmp_path / "m.gguf", kind=gguf.GGMLQuantizationType[kind])
    _, end = made(path)
    assert end.quantization == "Q4_K_M"


def test_a_split_model_becomes_one_file(tmp_path: Path) -> None:
    whole = write_wide(tmp_path / "whole.gguf")
    reader = gguf.GGUFReader(whole)
    for number in (1, 2):
        path = tmp_path / f"m-0000{number}-of-00002.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        if number == 1:
            for key, field in reader.fields.items():
                if key.startswith(("llama.", "tokenizer.")):
                    sub_type = field.types[-1] if len(field.types) > 1 else None
                    writer.add_key_value(key, field.contents(), field.types[0], sub_type=sub_type)
        writer.add_uint16("split.no", number - 1)
        writer.add_uint16("split.count", 2)
        writer.add_int32("split.tensors.count", len(reader.tensors))
        for tensor in reader.tensors[number - 1 :: 2]:
            writer.add_tensor(tensor.name, tensor.data)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    target, _ = made(tmp_path / "m-00001-of-00002.gguf")
    header = read_header(target)
    assert header.integer("split.count") is None
    assert len(header.tensors) == len(reader.tensors)


def test_the_new_model_answers(tmp_path: Path, tokenizer_fields: TokenizerFields) -> None:
    source, target = write_wide(tmp_path / "m.gguf", tokenizer_fields), tmp_path / "out.gguf"
    with remote_engine() as engine:
        engine.client.send(Quantize(str(source), str(target), n_threads=1))
        assert engine.next(QuantizeProgress).n_total == 20
        assert engine.next(QuantizeFinished, Failed) == engine_end(target)
        assert engine.next(EngineDied).exit_code == 0
    with remote_engine() as engine:
        assert engine.load(target, n_ctx=256).info.description.endswith("Q4_K - Medium")
        assert isinstance(engine.ask([user("Hello")], max_tokens=4), Finished)


class engine_end:  # noqa: N801 - reads as a value
    """Equal to the end of a run that made `target`."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantizeFinished) and other.path == str(self._target)

    def __hash__(self) -> int:
        return hash(self._target)


# --- what goes wrong ------------------------------------------------------------------------------


def refused(command: Quantize, error: type[Exception], words: str) -> None:
    """The sentence, and that nothing else was left or changed."""
    folder = Path(command.target).parent
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()} if folder.is_dir() else {}
    with pytest.raises(error, match=words):
        quantize(command, lambda _event: None)
    after = {path: path.stat().st_mtime_ns for path in folder.iterdir()} if folder.is_dir() else {}
    assert after == before


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    source, target = write_wide(tmp_path / "m.gguf"), tmp_path / "there.gguf"
    target.write_bytes(b"mine")
    refused(Quantize(str(source), str(target)), BadRequest, "there.gguf is there already. It was not touched")
    quantize(Quantize(str(source), str(target), overwrites=True), lambda _event: None)
    assert read_header(target).tensors


def test_the_model_itself_is_never_replaced(tmp_path: Path) -> None:
    source = write_wide(tmp_path / "m.gguf")
    command = Quantize(str(source), str(tmp_path / "." / "m.gguf"), overwrites=True)
    refused(command, BadRequest, "is the model itself")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere/x.gguf", "does not exist"),
        ("x.bin", "has to end in .gguf"),
        ("folder.gguf", "is a folder"),
    ],
)
def test_a_target_that_cannot_be_is_refused(tmp_path: Path, target: str, words: str) -> None:
    source = write_wide(tmp_path / "m.gguf")
    (tmp_path / "folder.gguf").mkdir()
    refused(Quantize(str(source), str(tmp_path / target)), BadRequest, words)


def test_room_is_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_wide(tmp_path / "m.gguf")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Usage(10**9, 10**9, 1000))
    words = "are missing there.*500 MB stay free.*Nothing was written"
    refused(Quantize(str(source), str(tmp_path / "x.gguf")), BadRequest, words)


def test_a_source_that_is_cut_is_refused(tmp_path: Path) -> None:
    source = write_wide(tmp_path / "m.gguf")
    source.write_bytes(source.read_bytes()[:-5000])
    refused(Quantize(str(source), str(tmp_path / "x.gguf")), ModelFileError, "m.gguf")


def test_weights_that_are_no_numbers_are_refused_and_nothing_half_is_left(tmp_path: Path) -> None:
    source = write_wide(tmp_path / "m.gguf")
    data = bytearray(source.read_bytes())
    data[-2000:] = b"\xff" * 2000  # NaN in half precision
    source.write_bytes(data)
    words = "could not be quantized: .*Nothing half is left"
    refused(Quantize(str(source), str(tmp_path / "x.gguf")), ModelLoadError, words)


def test_an_architecture_that_llama_cpp_does_not_know_is_told(tmp_path: Path) -> None:
    network = llama(300, n_layers=2, n_ctx_train=128, seed=0)
    unknown = Network("nosucharch", network.settings, network.tensors)
    source = write_network(tmp_path / "m.gguf", unknown, plain_tokenizer())
    refused(Quantize(str(source), str(tmp_path / "x.gguf")), ModelFileError, "nosucharch.*does not know")


_WITH_A_LIMIT = """
import resource, sys
from engine.errors import ModelLoadError
from engine.protocol import Quantize
from engine.quantizing import quantize
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    quantize(Quantize(*sys.argv[1:3]), lambda event: None)
except ModelLoadError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_a_disk_that_takes_no_more_is_told_and_nothing_half_is_left(tmp_path: Path) -> None:
    source = write_wide(tmp_path / "m.gguf")
    arguments = [sys.executable, "-c", _WITH_A_LIMIT, str(source), str(tmp_path / "x.gguf")]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "m.gguf could not be quantized: " in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_wide(tmp_path / "m.gguf")

    def fail(*_arguments: object, **_more: object) -> int:
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Usage(10**9, 10**9, 0))
        raise ModelLoadError("basic_ios::clear: iostream error")

    monkeypatch.setattr("engine.quantizing.quantize_by_llama", fail)
    refused(Quantize(str(source), str(tmp_path / "x.gguf")), ModelLoadError, "the disk is full")


def test_what_a_killed_run_leaves_is_swept(tmp_path: Path) -> None:
    source, target = write_wide(tmp_path / "m.gguf", n_layers=150), tmp_path / "x.gguf"
    with remote_engine() as engine:
        engine.client.send(Quantize(str(source), str(target), QuantKind.Q4_K_M, 1))
        engine.next(QuantizeProgress)
        until = time.monotonic() + 20
        while not list(tmp_path.glob(".x.gguf.*.part")) and time.monotonic() < until:
            time.sleep(0.005)
        engine.client._process.kill()
        assert isinstance(engine.next(EngineDied, QuantizeFinished), EngineDied)
    assert list(tmp_path.glob(".x.gguf.*.part"))
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]


def test_a_worker_tells_why_it_refuses(tmp_path: Path, starter_model: Path) -> None:
    with remote_engine() as engine:
        engine.client.send(Quantize(str(starter_model), str(tmp_path / "x.gguf")))
        error = engine.next(Failed).error
    assert error.code is ErrorCode.MODEL_FILE and "quantized already (Q4_1)" in error.message
    assert list(tmp_path.iterdir()) == []
