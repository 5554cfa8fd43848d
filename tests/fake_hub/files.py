"""Answers for files, as the Hub gives them: /org/repo/resolve/revision/path, and its storage's signed URLs.

The Hub sends small files itself and redirects for others; a Range is honoured as RFC 9110 says. Large files
go out by sendfile or in one sendall: speed is measured against this.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from tests.fake_hub.content import HubFile, HubRepo

if TYPE_CHECKING:
    from tests.fake_hub.server import FakeHub

RESOLVE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
STORAGE = re.compile(r"/storage/(?P<repo>[^/]+/[^/]+)/(?P<path>.+)")
RANGE = re.compile(r"bytes=(?P<first>\d+)-(?P<last>\d*)")
SLICE_S = 0.02  # between two pieces where the bandwidth is limited


def answer_file(handler: BaseHTTPRequestHandler, hub: FakeHub) -> None:
    """Answer a GET or HEAD for a file, on the Hub's port or the storage's."""
    port = int(handler.server.server_address[1])  # type: ignore[index]
    path = unquote(urlsplit(handler.path).path)
    if port == hub.storage_port:
        _answer_storage(handler, hub, path)
    else:
        _answer_hub(handler, hub, path)


def _answer_hub(handler: BaseHTTPRequestHandler, hub: FakeHub, path: str) -> None:
    faults = hub.faults
    if faults.status is not None and faults.take("status_times"):
        return _refuse(handler, faults.status, faults.error_code, faults.retry_after)
    token = handler.headers.get("Authorization")
    if faults.refuses_tokens and token:
        return _refuse(handler, 401, None, message="Invalid credentials in Authorization header")
    match = RESOLVE.fullmatch(path)
    repo = hub.repos.get(match["repo"]) if match else None
    if match is None or repo is None or (repo.private and not token):
        return _refuse(handler, 401, "RepoNotFound")
    if repo.gated and not token:
        return _refuse(handler, 401, "GatedRepo")
    if match["revision"] not in ("main", repo.commit):
        return _refuse(handler, 404, "RevisionNotFound")
    file = repo.files.get(match["path"])
    if file is None:
        return _refuse(handler, 404, "EntryNotFound")
    if file.is_lfs and faults.from_storage:
        return _redirect(handler, hub, repo, match["path"])
    return _send(handler, hub, file, {"X-Repo-Commit": repo.commit})


def _answer_storage(handler: BaseHTTPRequestHandler, hub: FakeHub, path: str) -> None:
    faults = hub.faults
    if faults.take("expired_urls"):
        return _refuse(handler, 403, None, message="Request has expired")
    if faults.storage_status is not None and faults.take("storage_status_times"):
        return _refuse(handler, faults.storage_status, None, faults.retry_after)
    match = STORAGE.fullmatch(path)
    repo = hub.repos.get(match["repo"]) if match else None
    if match is None or repo is None or match["path"] not in repo.files:
        return _refuse(handler, 404, None)
    return _send(handler, hub, repo.files[match["path"]], {})


def _redirect(handler: BaseHTTPRequestHandler, hub: FakeHub, repo: HubRepo, path: str) -> None:
    file = repo.files[path]
    signature = "X-Amz-Expires=3600&X-Amz-Signature=0123456789abcdef"
    handler.send_response(302)
    handler.send_header("Location", f"{hub.storage}/storage/{repo.repo_id}/{quote(path)}?{signature}")
    handler.send_header("X-Repo-Commit", repo.commit)
    handler.send_header("X-Linked-Size", str(file.size))
    handler.send_header("X-Linked-Etag", hub.faults.etag or file.etag)
    handler.send_header("Accept-Ranges", "bytes")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _refuse(
    handler: BaseHTTPRequestHandler,
    status: int,
    code: str | None,
    retry_after: str | None = None,
    message: str = "refused",
) -> None:
    body = message.encode()
    handler.send_response(status)
    if code is not None:
        handler.send_header("X-Error-Code", code)
    if retry_after is not None:
        handler.send_header("Retry-After", retry_after)
    handler.send_header("X-Error-Message", message)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def _send(handler: BaseHTTPRequestHandler, hub: FakeHub, file: HubFile, extra: dict[str, str]) -> None:
    """The file, or the part of it that was asked for, with the faults that are set."""
    faults = hub.faults
    etag = faults.etag or file.etag
    wanted = RANGE.fullmatch(handler.headers.get("Range", ""))
    is_changed = handler.headers.get("If-Range", etag) != etag and not faults.ignores_if_range
    if is_changed or faults.ignores_range:
        wanted = None
    first, last = _span(wanted, file.size)
    if wanted and (first > last or faults.take("unsatisfiable")):
        return _send_unsatisfiable(handler, file)
    if wanted and faults.starts_at is not None:
        first = faults.starts_at
    handler.send_response(206 if wanted else 200)
    for name, value in extra.items():
        handler.send_header(name, value)
    handler.send_header("ETag", etag)
    if wanted:
        handler.send_header("Content-Range", f"bytes {first}-{last}/{faults.total or file.size}")
    if not faults.no_accept_ranges:
        handler.send_header("Accept-Ranges", "bytes")
    if faults.no_length:
        handler.send_header("Transfer-Encoding", "chunked")
    else:
        handler.send_header("Content-Length", str(last - first + 1))
    handler.end_headers()
    if handler.command != "HEAD":
        _send_body(handler, hub, file, first, last + 1)
    return None


def _span(wanted: re.Match[str] | None, size: int) -> tuple[int, int]:
    """First and last offset; empty if the first is the larger one."""
    if wanted is None:
        return 0, size - 1
    last = min(int(wanted["last"]), size - 1) if wanted["last"] else size - 1
    return int(wanted["first"]), last


def _send_unsatisfiable(handler: BaseHTTPRequestHandler, file: HubFile) -> None:
    handler.send_response(416)
    handler.send_header("Content-Range", f"bytes */{file.size}")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _send_body(handler: BaseHTTPRequestHandler, hub: FakeHub, file: HubFile, first: int, end: int) -> None:
    """Bytes `first` to `end`, cut, spoilt, slowed down and stalled as the faults say."""
    faults = hub.faults
    cut = faults.cuts.pop(0) if faults.cuts else faults.cut_after
    stop = end if cut is None else min(end, first + cut)
    at = first
    if faults.wrong_bytes and at < stop and faults.take("wrong_bytes"):
        _write(handler, bytes([_bytes(file, at, at + 1)[0] ^ 1]), chunked=faults.no_length)
        at += 1
    for start, piece_end in _pieces(hub, at, stop, first):
        if faults.no_length:
            _write(handler, _bytes(file, start, piece_end), chunked=True)
        else:
            _send_span(handler, file, start, piece_end)
    if stop < end:
        _hang_up(handler, reset=faults.resets)
    elif faults.no_length:
        handler.wfile.write(b"0\r\n\r\n")


def _pieces(hub: FakeHub, at: int, stop: int, first: int) -> Iterator[tuple[int, int]]:
    """Spans to send one after the other; waits between them where the faults say so."""
    while at < stop:
        faults = hub.faults
        stall_at = None if faults.stall_after is None else first + faults.stall_after
        if stall_at is not None and at >= stall_at and faults.take("stall_times"):
            time.sleep(faults.stall_s)
            stall_at = None
        n_bytes = stop - at
        if faults.bytes_per_second is not None:
            n_bytes = min(n_bytes, max(1, int(faults.bytes_per_second * SLICE_S)))
            time.sleep(n_bytes / faults.bytes_per_second)
        elif faults.no_length:
            n_bytes = min(n_bytes, 1 << 18)
        if stall_at is not None and faults.stall_times and at < stall_at:
            n_bytes = min(n_bytes, stall_at - at)
        yield at, at + n_bytes
        at += n_bytes


def _bytes(file: HubFile, start: int, end: int) -> bytes:
    if isinstance(file.data, bytes):
        return file.data[start:end]
    with file.data.open("rb") as stream:
        stream.seek(start)
        return stream.read(end - start)


def _write(handler: BaseHTTPRequestHandler, data: bytes, *, chunked: bool) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)


def _send_span(handler: BaseHTTPRequestHandler, file: HubFile, start: int, end: int) -> None:
    if isinstance(file.data, Path):
        with file.data.open("rb") as stream:
            handler.connection.sendfile(stream, start, end - start)
    else:
        handler.connection.sendall(memoryview(file.data)[start:end])


def _hang_up(handler: BaseHTTPRequestHandler, *, reset: bool) -> None:
    handler.close_connection = True
    if reset:  # closing at once, with nothing left to linger for, sends RST instead of FIN
        with suppress(OSError):
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(handler.connection.detach())
