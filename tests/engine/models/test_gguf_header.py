"""What `read_header` reports of good files, against the `gguf` package's own reader."""

from __future__ import annotations

import struct
import time
import tracemalloc
from pathlib import Path

import gguf
import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_array, read_header
from engine.models.gguf_metadata import ArrayValue, ValueType
from tests import generated_models
from tests import malformed_files as raw
from tests.conftest import SmallModels


def test_metadata_equals_what_the_reference_reader_reports(
    starter_model: Path, starter_reader: gguf.GGUFReader
) -> None:
    metadata = read_header(starter_model).metadata
    expected = {key: field for key, field in starter_reader.fields.items() if not key.startswith("GGUF.")}
    assert list(metadata) == list(expected)
    for key, field in expected.items():
        value = metadata[key]
        if isinstance(value, ArrayValue):
            items = list(read_array(starter_model, value))
            assert (value.item_type, items) == (field.types[-1], field.contents()), key
        else:
            assert (type(value), value) == (type(field.contents()), field.contents()), key


def test_tensors_equal_what_the_reference_reader_reports(
    starter_model: Path, starter_reader: gguf.GGUFReader
) -> None:
    header = read_header(starter_model)
    found = [
        (tensor.name, tensor.shape, tensor.ggml_type, header.data_offset + tensor.offset, tensor.n_bytes)
        for tensor in header.tensors
    ]
    assert found == [
        (
            tensor.name,
            tuple(tensor.shape.tolist()),
            tensor.tensor_type.name,
            tensor.data_offset,
            tensor.n_bytes,
        )
        for tensor in starter_reader.tensors
    ]


def test_starter_model_is_what_its_publisher_describes(starter_model: Path) -> None:
    header = read_header(starter_model)
    assert (header.version, header.alignment, len(header.tensors)) == (3, 32, 272)
    assert header.text("general.architecture") == "llama"
    assert header.integer("llama.block_count") == 30
    assert header.integer("llama.context_length") == 8192
    vocabulary = header.metadata["tokenizer.ggml.tokens"]
    assert isinstance(vocabulary, ArrayValue)
    assert (vocabulary.item_type, vocabulary.count) == (ValueType.STRING, 49152)
    assert header.file_size == header.required_size == starter_model.stat().st_size


def test_text_and_integer_give_none_for_values_of_another_type(starter_model: Path) -> None:
    header = read_header(starter_model)
    assert header.text("llama.block_count") is None
    assert header.integer("general.architecture") is None
    assert header.integer("tokenizer.ggml.add_bos_token") is None
    assert header.integer("no.such.key") is None


@pytest.mark.parametrize(
    ("template", "stored"),
    [("{{ bos_token }}hi", "{{ bos_token }}hi"), (7, 7), (b"\xff\xfeAA", b"\xff\xfeAA"), (None, None)],
)
def test_chat_template_comes_back_as_it_was_stored(
    small_models: SmallModels, template: str | bytes | int | None, stored: str | bytes | int | None
) -> None:
    path = small_models(chat_template=template)
    assert read_header(path).metadata.get("tokenizer.chat_template") == stored


def test_chat_template_stored_as_an_array_is_seen_as_one(small_models: SmallModels) -> None:
    path = small_models(chat_template=("a", "b"))
    template = read_header(path).metadata["tokenizer.chat_template"]
    assert isinstance(template, ArrayValue)
    assert read_array(path, template) == ("a", "b")


def test_every_scalar_type_is_read(tmp_path: Path) -> None:
    layouts = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    values = {
        0: 255,
        1: -1,
        2: 65535,
        3: -2,
        4: 2**32 - 1,
        5: -3,
        6: 0.5,
        7: True,
        10: 2**64 - 1,
        11: -4,
        12: 0.1,
    }
    entries = [
        raw.text(f"k{number}".encode()) + struct.pack("<I" + layout, number, values[number])
        for number, layout in layouts.items()
    ]
    path = tmp_path / "scalars.gguf"
    path.write_bytes(raw.header(0, len(entries), version=2) + b"".join(entries))
    header = read_header(path)
    assert header.version == 2
    assert dict(header.metadata) == {f"k{number}": value for number, value in values.items()}


def test_short_array_of_numbers_is_kept_and_a_long_one_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "arrays.gguf"
    floats = raw.array_entry(b"floats", 6, 2, struct.pack("<2f", 0.5, -1.5))
    switches = raw.array_entry(b"switches", 7, 2, b"\1\0")
    heads = raw.array_entry(b"heads", raw.INT32, 3, struct.pack("<3i", 8, 0, 4))
    kept = raw.array_entry(b"kept", raw.UINT32, 1024, bytes(4096))
    passed = raw.array_entry(b"passed", raw.UINT32, 1025, bytes(4100))
    texts = raw.array_entry(b"texts", raw.STRING, 1, raw.text(b"a"))
    path.write_bytes(raw.header(0, 6) + floats + switches + heads + kept + passed + texts)
    header = read_header(path)
    items = {key: array.items for key, array in header.metadata.items() if isinstance(array, ArrayValue)}
    assert items["floats"] == (0.5, -1.5)
    assert items["switches"] == (True, False)
    assert header.integers("heads") == (8, 0, 4)
    assert header.integers("kept") == (0,) * 1024
    assert items["passed"] is items["texts"] is None
    assert [header.integers(key) for key in ("floats", "switches", "passed", "texts", "none")] == [None] * 5


def test_metadata_text_that_is_not_utf8_stays_bytes(bad_files: dict[str, Path]) -> None:
    assert read_header(bad_files["name-not-utf8"]).metadata["general.name"] == b"\xff\xfe\x80name"


def test_weights_begin_at_the_alignment_that_the_file_names(tmp_path: Path) -> None:
    head = raw.header(1, 1) + raw.uint32_entry(b"general.alignment", 4096) + raw.tensor_entry(b"t", (8,))
    path = tmp_path / "aligned.gguf"
    path.write_bytes(head.ljust(4096, b"\0") + bytes(32))
    header = read_header(path)
    assert (header.alignment, header.data_offset, header.required_size) == (4096, 4096, 4128)


def test_a_tensor_type_newer_than_the_gguf_package_is_sized(tmp_path: Path) -> None:
    head = raw.header(1, 0) + raw.tensor_entry(b"t", (128,), ggml_type=42)
    path = tmp_path / "q2_0.gguf"
    path.write_bytes(head.ljust(64 + 32, b"\0") + bytes(36))
    (tensor,) = read_header(path).tensors
    assert (tensor.ggml_type, tensor.n_bytes) == ("Q2_0", 36)


def test_a_chat_template_of_10_megabytes_is_read_within_50_megabytes(tmp_path: Path) -> None:
    template = b"{# " + b"x" * 10_000_000 + b" #}"
    path = tmp_path / "long-template.gguf"
    path.write_bytes(raw.header(0, 1) + raw.string_entry(b"tokenizer.chat_template", template))
    tracemalloc.start()
    try:
        header = read_header(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert header.text("tokenizer.chat_template") == template.decode()
    assert peak < 50e6


def test_777050_texts_are_passed_over_without_being_read_one_by_one(tmp_path: Path) -> None:
    path = generated_models.write_model(tmp_path / "largest.gguf", n_tokens=262_144, n_merges=514_906)
    read_header(generated_models.write_model(tmp_path / "small.gguf", n_tokens=1, n_merges=1))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        header = read_header(path)
        seconds.append(time.process_time() - start)
    assert header.integer("tokenizer.ggml.eos_token_id") == 2
    # 0.06 s on a free core; a reader that makes objects of the items takes ten times as long.
    assert min(seconds) < 0.3


def test_array_of_a_file_that_was_replaced_by_a_shorter_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "array.gguf"
    path.write_bytes(raw.header(0, 1) + raw.array_entry(b"a", raw.UINT32, 4, bytes(16)))
    array = read_header(path).metadata["a"]
    assert isinstance(array, ArrayValue)
    assert read_array(path, array) == (0, 0, 0, 0)
    path.write_bytes(raw.header(0, 0))
    with pytest.raises(ModelFileError, match=r"array\.gguf is cut short"):
        read_array(path, array)
