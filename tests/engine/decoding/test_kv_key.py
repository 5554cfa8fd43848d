"""A model's fingerprint: the same after a restart, another one for whatever else might stand in its place."""

from __future__ import annotations

import os
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest

from engine.decoding.kv_key import KVKey, fingerprint
from engine.errors import ModelFileError
from engine.protocol import KVType
from tests.engine.decoding.saved_kv_stage import KEY
from tests.generated_models import write_model, write_part


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model.gguf", n_tokens=1000, n_merges=900)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Change bytes, but neither size nor time."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_name_and_folder_do_not_matter(model: Path, tmp_path: Path) -> None:
    before = fingerprint(model)
    (tmp_path / "elsewhere").mkdir()
    copy = shutil.copy2(model, tmp_path / "elsewhere" / "other.gguf")
    assert fingerprint(Path(copy)) == fingerprint(model) == before


def test_another_header_of_the_same_length_is_another_model(tmp_path: Path) -> None:
    paths = [write_model(tmp_path / f"{name}.gguf", n_tokens=99, n_merges=9, name=name) for name in "ab"]
    for path in paths:
        os.utime(path, (1000, 1000))
    assert paths[0].stat().st_size == paths[1].stat().st_size
    assert fingerprint(paths[0]) != fingerprint(paths[1])


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.999])
def test_other_weights_of_the_same_size_and_time_are_another_model(model: Path, part: float) -> None:
    before, size = fingerprint(model), model.stat().st_size
    assert before == fingerprint(model)
    reach = size // 60  # more than lies between two blocks
    overwrite(model, min(size - reach, int(size * part) + 100_000), b"\x55" * reach)
    assert model.stat().st_size == size
    assert fingerprint(model) != before


def test_a_file_that_was_written_to_is_another_model(model: Path) -> None:
    before, time_ns = fingerprint(model), model.stat().st_mtime_ns
    os.utime(model, ns=(time_ns, time_ns + 1_000_000))
    assert fingerprint(model) != before


def test_all_parts_of_a_split_model_count(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, number, tensor=b"blk.%d.attn_norm.weight" % number) for number in (1, 2)]
    before = fingerprint(parts[0])
    overwrite(parts[1], parts[1].stat().st_size - 1, b"\x55")
    assert fingerprint(parts[0]) != before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"gone\.gguf"):
        fingerprint(tmp_path / "gone.gguf")


def test_every_field_of_a_key_counts() -> None:
    others: dict[str, object] = {
        "model": "cd",
        "architecture": "x",
        "build": "x",
        "k_type": KVType.Q4_0,
        "v_type": KVType.Q4_0,
        "flash_attention": True,
        "swa_full": False,
        "n_ctx": 1,
        "chat_format": "x",
        "layout": "x",
    }
    assert set(others) == {field.name for field in fields(KVKey)}
    digests = {replace(KEY, **{name: value}).digest for name, value in others.items()}  # type: ignore[arg-type]
    assert len(digests | {KEY.digest}) == len(others) + 1
