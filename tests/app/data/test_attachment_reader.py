"""Files become text, or one clear sentence; nothing blocks, nothing is guessed."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
import time
import zlib
from pathlib import Path

import psutil
import pytest
from pypdf import PdfWriter

from app.data import pdf_text
from app.data.attachment_reader import MAX_CHARACTERS, MAX_FILE_BYTES, read
from app.data.stored_message import Attachment
from engine.errors import KnownError
from tests.app.data.pdf_files import drawn, pdf


def _refusal(path: Path | str) -> str:
    with pytest.raises(KnownError) as caught:
        read(str(path))
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße 👍\n".encode(), "Grüße 👍\n"),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", "a,b\n1,2\n"),
        ("naïve".encode("utf-16"), "naïve"),
        ("naïve".encode("utf-16-be").join([b"\xfe\xff", b""]), "naïve"),
        ("naïve".encode("utf-32"), "naïve"),
        ("Ein schöner Tag – “gut”".encode("cp1252"), "Ein schöner Tag – “gut”"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ],
    ids=["utf-8", "utf-8 mark", "utf-16", "utf-16 big", "utf-32", "windows", "terminal colours"],
)
def test_text_is_read_the_same_on_every_machine(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    assert read(str(path)) == Attachment("notes.txt", text)


@pytest.mark.parametrize(
    "data",
    [b"a\0b", bytes(range(256)), "Привет, мир".encode("cp1251"), "日本語".encode("shift-jis"), b"\xff\xfea"],
    ids=["nul", "all bytes", "cyrillic", "japanese", "half of utf-16"],
)
def test_what_is_not_text_is_refused_and_not_guessed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(data)
    assert "not a text file" in _refusal(path)


def test_each_refusal_names_the_file_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "long").write_bytes(b"x" * (MAX_CHARACTERS + 1))
    (tmp_path / "empty").write_bytes(b" \n")
    assert _refusal(tmp_path / "gone.txt") == "gone.txt was not attached: it is not there any more."
    assert _refusal(tmp_path).startswith(f"{tmp_path.name} was not attached: it is a folder.")
    assert "larger than 20 MiB" in _refusal(tmp_path / "large")
    assert "5,000,000 characters" in _refusal(tmp_path / "long")
    assert "no text in it" in _refusal(tmp_path / "empty")
    assert "cannot be read" in _refusal("a\0b")
    assert "cannot be read" in _refusal("x" * 5000)


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text("x")

    def refuse(*_args: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # root may read everything
    assert "no permission" in _refusal(tmp_path / "secret.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
def test_devices_pipes_and_sockets_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in ("/dev/zero", tmp_path / "pipe", tmp_path / "socket"):
            assert "a device or a pipe" in _refusal(path)
    assert time.monotonic() - began < 1


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "Report.PDF"
    path.write_bytes(pdf(drawn("Hello from a page"), n_pages=2))
    assert read(str(path)) == Attachment("Report.PDF", "Hello from a page\n\nHello from a page")


def test_pdfs_without_text_to_be_had_say_why(tmp_path: Path) -> None:
    writer = PdfWriter()
    writer.append(io.BytesIO(pdf(drawn("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    (tmp_path / "scanned.pdf").write_bytes(pdf(b""))
    (tmp_path / "cut.pdf").write_bytes(pdf(drawn("x"))[:300])
    (tmp_path / "named.pdf").write_text("not a PDF at all")
    assert "locked with a password" in _refusal(tmp_path / "locked.pdf")
    assert "only pictures" in _refusal(tmp_path / "scanned.pdf")
    assert "broken, or not a PDF" in _refusal(tmp_path / "cut.pdf")
    assert "broken, or not a PDF" in _refusal(tmp_path / "named.pdf")


def test_a_pdf_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pdf"
    path.write_bytes(pdf(zlib.compress(bytes(200_000_000), 1), "/Filter /FlateDecode"))
    assert "too much memory" in _refusal(path)


def test_a_slow_pdf_ends_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "LIMIT_S", 1.0)
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf(zlib.compress(b"(abcd) Tj 1 2 Td " * 1_600_000), "/Filter /FlateDecode"))
    began = time.monotonic()
    assert "takes longer than" in _refusal(path)
    assert time.monotonic() - began < 8
    assert not [child for child in psutil.Process().children() if "weir-pdf" in " ".join(child.cmdline())]


def test_reading_a_pdf_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf(zlib.compress(b"(abcd) Tj 1 2 Td " * 1_600_000), "/Filter /FlateDecode"))
    given_up = threading.Event()
    given_up.set()
    began = time.monotonic()
    with pytest.raises(KnownError):
        read(str(path), given_up)
    assert time.monotonic() - began < 2
