"""A model is verified as long as all its files are those that were checked when they came."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.data.installed_model import Provenance, Verification
from app.data.provenance import forget_origin, note_quantized, provenance_of
from engine.download.origin import Origin, record_origins
from tests.generated_models import write_part


def _record(folder: Path, *paths: Path, sha256: str | None = "0" * 64) -> None:
    origins = {}
    for path in paths:
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        origins[name] = Origin("org/x", "abc", sha256, status.st_size, status.st_mtime_ns)
    record_origins(folder, origins)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"12345")
    return path


def test_an_untouched_download_is_verified(tmp_path: Path, path: Path) -> None:
    _record(tmp_path, path)
    assert provenance_of(path) == Provenance("org/x", Verification.VERIFIED)


@pytest.mark.parametrize("size", [5, 6])
def test_a_download_that_was_overwritten_is_not(tmp_path: Path, path: Path, size: int) -> None:
    _record(tmp_path, path)
    time_ns = path.stat().st_mtime_ns
    path.write_bytes(bytes(size))
    os.utime(path, ns=(time_ns, time_ns + (1_000_000 if size == 5 else 0)))
    assert provenance_of(path) == Provenance("org/x", Verification.CHANGED)


def test_a_file_that_somebody_copied_there_has_no_provenance(tmp_path: Path, path: Path) -> None:
    assert provenance_of(path) is None
    _record(tmp_path, path)
    assert provenance_of(path.with_name("other.gguf")) is None


def test_a_download_without_a_hash_is_known_but_not_verified(tmp_path: Path, path: Path) -> None:
    _record(tmp_path, path, sha256=None)
    assert provenance_of(path) == Provenance("org/x", Verification.UNVERIFIED)


def test_a_split_model_is_verified_if_all_its_parts_are(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, number) for number in (1, 2)]
    _record(tmp_path, *parts)
    assert provenance_of(parts[0]) == Provenance("org/x", Verification.VERIFIED)
    parts[1].write_bytes(b"changed")
    assert provenance_of(parts[0]) == Provenance("org/x", Verification.CHANGED)


def test_what_was_quantized_here_is_known_until_it_changes_and_is_forgotten_with_its_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "models" / "quantized" / "m-Q4_K_M.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"12345")
    note_quantized(path, "m-F16")
    assert provenance_of(path) == Provenance("", Verification.MADE_HERE, "m-F16")
    path.write_bytes(b"123456")
    assert provenance_of(path) == Provenance("", Verification.CHANGED, "m-F16")
    path.unlink()
    forget_origin(path)
    assert not path.parent.exists()


def test_a_folder_that_takes_no_record_harms_nobody(tmp_path: Path) -> None:
    note_quantized(tmp_path / "gone" / "m.gguf", "m-F16")
    assert list(tmp_path.rglob("*.json")) == []
