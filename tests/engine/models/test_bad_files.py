"""Every file of a hostile folder is refused with its own true cause, quickly and in little memory."""

from __future__ import annotations

import errno
import os
import time
import tracemalloc
from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.models.gguf_header import read_header
from engine.models.model_file import check_chat_model

# What the sentence says right behind the file's name.
UNREADABLE_HEADERS = {
    "empty": "is empty",
    "html": "is a web page",
    "html-indented": "is a web page",
    "lfs-pointer": "is a Git LFS pointer",
    "zeros": "begins with zeros alone: its download was never finished",
    "text": "is not a GGUF model file",
    "version-0": "is a GGUF file of the unknown version 0",
    "version-1": "is a GGUF file of version 1, which llama.cpp no longer reads",
    "version-99": "is a GGUF file of the unknown version 99",
    "big-endian": "is a GGUF file for big-endian machines",
    "cut-half": "is cut short: it has 49,181,216 bytes and should have 98,362,432",
    "cut-last-4096": "is cut short: it has 98,358,336 bytes and should have 98,362,432",
    "cut-1024": "is cut short: it has 1,024 bytes and ends inside its header",
    "cut-24": "is cut short: it has 24 bytes and ends inside its header",
    "cut-4": "is cut short: it has 4 bytes and ends inside its header",
    "tensors-2^63-1": "is damaged: it claims 9,223,372,036,854,775,807 tensors",
    "tensors-2^40": "is damaged: it claims 1,099,511,627,776 tensors",
    "entries-2^63-1": "is damaged: it claims 9,223,372,036,854,775,807 metadata entries",
    "key-length-2^63-1": "is damaged: a metadata key claims 9,223,372,036,854,775,807 bytes",
    "text-length-2^62": "is damaged: the value of general.architecture claims 4,611,686,018,427,387,904",
    "array-2^63": "is damaged: the value of x.y claims 9,223,372,036,854,775,808 items",
    "array-2^40": "is damaged: the value of x.y claims 1,099,511,627,776 items",
    "array-text-2^40": "is damaged: the value of x.y claims 1,099,511,627,776 items",
    "array-text-length-2^64-1": "is damaged: a text in an array claims 18,446,744,073,709,551,615 bytes",
    "arrays-nested-2000": "is damaged: the value of x.y is an array of arrays",
    "key-empty": "is damaged: a metadata key is empty",
    "key-not-utf8": "is damaged: a metadata key is not UTF-8",
    "key-twice": "is damaged: the metadata key general.architecture is there twice",
    "value-type-77": "is damaged: the value of k has the unknown type 77",
    "item-type-77": "is damaged: the value of k has the unknown type 77",
    "alignment-0": "is damaged: its alignment of 0 bytes",
    "alignment-3": "is damaged: its alignment of 3 bytes",
    "alignment-2147483648": "is damaged: its alignment of 2,147,483,648 bytes",
    "alignment-int32": "is damaged: its alignment is not stored as a uint32",
    "dimensions-2^32-1": "is damaged: the tensor t has 4,294,967,295 dimensions",
    "dimension-0": "is damaged: the tensor t has a dimension of 0",
    "shape-wraps": "is damaged: the tensor t is larger than any real model",
    "tensor-type-77": "is damaged: the tensor t has the unknown type 77",
    "tensor-type-removed": "is damaged: the tensor t has the unknown type 4",
    "row-not-in-blocks": "is damaged: a row of the tensor t has 33 weights",
    "tensor-name-not-utf8": "is damaged: a tensor name is not UTF-8",
    "tensor-name-long": "is damaged: a tensor name claims 64 bytes",
    "tensor-offset-2^63": "is damaged: the tensor t lies at byte 9,223,372,036,854,775,808 instead of 0",
    "tensor-twice": "is damaged: the tensor t is there twice",
}

NO_CHAT_MODELS = {
    "mmproj-f16": "is a projector",
    "projector-named-chat": "is a projector",
    "projector-by-type": "is a projector",
    "lora-adapter": "is a LoRA adapter",
    "importance-matrix": "is an importance matrix",
    "embedding-bert": "is an embedding or reranking model",
    "embedding-pooled": "is an embedding or reranking model",
    "reranker": "is an embedding or reranking model",
    "vocabulary-only": "holds a vocabulary without a model's weights",
    "name-not-utf8": "holds a vocabulary without a model's weights",
    "architecture-missing": "does not say which architecture it has",
    "architecture-int": "does not say which architecture it has",
    "architecture-not-utf8": "does not say which architecture it has",
    "blocks-513": "is damaged: it claims 513 layers, and 1 to 512 are possible",
    "blocks-100": "is damaged: it claims 100 layers but holds 30",
    "blocks-0": "is damaged: it claims 0 layers",
}

# The header cannot tell: llama.cpp, a checksum or a cap has the last word on these.
LEFT_TO_OTHERS = {
    "zeros-after-2-million",
    "context-huge",
    "context-0",
    "heads-0",
    "eos-out-of-range",
    "architecture-unknown",
}


def test_each_bad_file_has_its_expected_cause(bad_files: dict[str, Path]) -> None:
    assert set(bad_files) == {*UNREADABLE_HEADERS, *NO_CHAT_MODELS, *LEFT_TO_OTHERS}


@pytest.mark.parametrize(("name", "cause"), UNREADABLE_HEADERS.items())
def test_header_is_refused_with_the_files_name_and_the_true_cause(
    bad_files: dict[str, Path], name: str, cause: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        read_header(bad_files[name])
    assert str(caught.value).startswith(f"{name}.gguf {cause}")


@pytest.mark.parametrize(("name", "cause"), NO_CHAT_MODELS.items())
def test_file_that_is_no_chat_model_is_refused_by_its_metadata(
    bad_files: dict[str, Path], name: str, cause: str
) -> None:
    header = read_header(bad_files[name])
    with pytest.raises(ModelFileError) as caught:
        check_chat_model(header)
    assert str(caught.value).startswith(f"{name}.gguf {cause}")


@pytest.mark.parametrize("name", sorted(LEFT_TO_OTHERS))
def test_what_a_header_cannot_tell_is_left_to_others(bad_files: dict[str, Path], name: str) -> None:
    check_chat_model(read_header(bad_files[name]))


def _refuse(path: Path) -> None:
    try:
        check_chat_model(read_header(path))
    except ModelFileError:
        return


def test_no_file_takes_long_to_judge(bad_files: dict[str, Path], starter_model: Path) -> None:
    _refuse(starter_model)  # the first header imports the gguf package
    seconds = {}
    for name, path in bad_files.items():
        start = time.process_time()
        _refuse(path)
        seconds[name] = time.process_time() - start
    assert {name: taken for name, taken in seconds.items() if taken > 0.1} == {}


def test_no_file_takes_much_memory_to_judge(bad_files: dict[str, Path], starter_model: Path) -> None:
    _refuse(starter_model)
    peaks = {}
    for name, path in bad_files.items():
        tracemalloc.start()
        _refuse(path)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert {name: peak for name, peak in peaks.items() if peak > 10e6} == {}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"^gone\.gguf is missing\."):
        read_header(tmp_path / "gone.gguf")


def test_file_below_a_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match=r"^gone\.gguf is missing\."):
        read_header(tmp_path / "file" / "gone.gguf")


def test_folder_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "folder.gguf").mkdir()
    with pytest.raises(ModelFileError, match=r"^folder\.gguf is a folder, not a model file\."):
        read_header(tmp_path / "folder.gguf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ModelFileError, match=r"^pipe\.gguf is a device or a pipe"):
        read_header(tmp_path / "pipe.gguf")


def test_name_with_a_nul_is_refused() -> None:
    with pytest.raises(ModelFileError, match="has a name that no file can have"):
        read_header(Path("a\0b.gguf"))


def test_control_characters_of_a_file_name_do_not_reach_the_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as caught:
        read_header(tmp_path / "a\n\x1b[31m\u202eb.gguf")
    assert str(caught.value).startswith("a\ufffd\ufffd[31m\ufffdb.gguf is missing.")


@pytest.mark.parametrize(
    ("code", "cause"),
    [(errno.EACCES, "may not be read by this user"), (errno.EIO, "cannot be read (")],
)
def test_what_the_system_objects_to_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, cause: str
) -> None:
    path = tmp_path / "locked.gguf"
    path.touch()

    def refuse_to_open(self: Path, mode: str) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "open", refuse_to_open)
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    assert str(caught.value).startswith(f"locked.gguf {cause}")
