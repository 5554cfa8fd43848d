"""One attempt at one part: from the Hub's address to bytes in the partial file, as far as they come.

Why this and not `huggingface_hub`'s own downloader, as seen with its version 2.4.0: it resumes only within
one call, deletes its partial file on any exception and leaves it orphaned when killed; it never checks the
SHA-256, sends no If-Range and does not look where a 206 starts, so that changed content gives wrong bytes
without an error; a TCP reset, a 503 and a 416 are not tried again, an expired signed address is not
resolved again; and it took 0.3 to 0.6 of curl's throughput.

Here a kept part is gone on with by Range and If-Range. Where the answer starts earlier than what is missing,
as that of a server that ignores Range, the bytes that are there already are passed over. An answer that
cannot be the part ends the attempt; whether to make another one is not decided here.
"""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from engine.download.connection import Answer, Watch, open_url
from engine.download.download_errors import RefusedByHub
from engine.download.partial import Partial
from engine.download.retry import Interrupted, WrongBytes, passes, retry_after_s
from engine.hub.file_address import FileAddress, origin_of
from engine.hub.hub_errors import HubFailure
from engine.hub.refusals import Asked, refusal_of
from engine.models.byte_reader import shown

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d{1,18})-(?P<last>\d{1,18})/(?P<total>\d{1,18}|\*)", re.ASCII)


class TransferWatch(Watch, Protocol):
    """Told of every byte; each method may raise to end the attempt."""

    def came(self, n_bytes: int) -> None:
        """`n_bytes` have arrived, of which those that were missing are in the partial file."""


def fetch(
    address: FileAddress,
    asked: Asked,
    partial: Partial,
    *,
    by_range: bool,
    connect_s: float,
    watch: TransferWatch,
) -> None:
    """Append to `partial` until it is full; its hash is not looked at.

    Raises Interrupted or WrongBytes where another attempt may help, and RefusedByHub, DiskFull and
    CannotWrite where only a person can.
    """
    headers = _range_headers(partial) if by_range else {}
    with _network(urlsplit(address.url).hostname or ""):
        answer, is_hub = _ask(address, headers, connect_s, watch)
        try:
            _check_status(answer, is_hub, asked, partial)
            _receive(answer, _first_byte(answer, partial), partial, watch)
        finally:
            answer.close()


def _range_headers(partial: Partial) -> dict[str, str]:
    """The rest of what was begun, but the whole file if it has changed."""
    if partial.size == 0:
        return {}
    headers = {"Range": f"bytes={partial.size}-"}
    if partial.etag is not None:
        headers["If-Range"] = partial.etag
    return headers


def _ask(
    address: FileAddress, headers: dict[str, str], connect_s: float, watch: Watch
) -> tuple[Answer, bool]:
    """The first answer that is no redirect, and whether it is the Hub's own.

    Once a redirect has left the Hub's origin no secret is sent any more, should it lead back there.
    """
    url, is_hub = address.url, True
    for _ in range(MAX_REDIRECTS + 1):
        own = address.headers_for(url) if is_hub else replace(address, token=None).headers_for(url)
        answer = open_url(url, own | headers, connect_s, watch)
        location = answer.headers.get("Location")
        if answer.status not in _REDIRECTS or location is None:
            return answer, is_hub
        answer.close()
        url = urljoin(url, location)
        is_hub = is_hub and origin_of(url) == origin_of(address.url)
    raise Interrupted("The server sends the download round in a circle.")


def _check_status(answer: Answer, is_hub: bool, asked: Asked, partial: Partial) -> None:
    """Raise unless the answer holds bytes of the file."""
    status = answer.status
    if status in (200, 206):
        return
    if status == 416 and partial.size:
        raise Interrupted("The server could not go on where the file ends.", at_once=True, without_range=True)
    wait = retry_after_s(answer.headers)
    if is_hub and status >= 400:
        refusal = refusal_of(status, answer.headers, asked)
        if not passes(status):
            raise RefusedByHub(refusal)
        raise Interrupted(str(refusal), retry_after_s=wait)
    # Signed addresses of the storage expire; the next attempt gets a new one from the Hub.
    reason = f"The Hub's storage refused (status {status})."
    raise Interrupted(reason, retry_after_s=wait, at_once=status < 429)


def _first_byte(answer: Answer, partial: Partial) -> int:
    """Where in the file the answer starts: at most at the end of `partial`, which may have started anew."""
    etag = _strong_etag(answer)
    first, total = _span(answer)
    if total not in (None, partial.part.size):
        raise WrongBytes(f"{total:,} bytes instead of {partial.part.size:,}")
    if partial.size and etag != partial.etag and first == 0:
        partial.start_anew()
    elif partial.size and etag != partial.etag:
        # It should have sent the whole of the new content, by If-Range; a mixture must not be.
        raise Interrupted("The file changed on the server.", at_once=True, without_range=True)
    if first > partial.size:
        raise Interrupted("The server sent another part of the file.", at_once=True, without_range=True)
    partial.set_etag(etag)
    return first


def _strong_etag(answer: Answer) -> str | None:
    """None where the ETag is weak: two files with the same one may differ in bytes."""
    etag = answer.headers.get("ETag")
    return None if etag is None or etag.startswith("W/") else etag


def _span(answer: Answer) -> tuple[int, int | None]:
    """Offset of the first byte, and the size of the whole file where it is told."""
    if answer.status == 200:
        length = answer.headers.get("Content-Length", "")
        return 0, int(length) if re.fullmatch(r"\d{1,18}", length, re.ASCII) else None
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None:
        raise Interrupted("The server did not say which part it sent.", at_once=True, without_range=True)
    return int(match["first"]), None if match["total"] == "*" else int(match["total"])


def _receive(answer: Answer, at: int, partial: Partial, watch: TransferWatch) -> None:
    """Append what is missing of the bytes that come, the first of which is the file's byte `at`."""
    while not partial.is_full:
        n_bytes = answer.read_into(partial.buffer())
        if not n_bytes:
            raise Interrupted("The connection ended before the file did.", at_once=True)
        n_known = min(n_bytes, max(0, partial.size - at))
        at += n_bytes
        if partial.size + n_bytes - n_known > partial.part.size:
            raise WrongBytes(f"more than {partial.part.size:,} bytes")
        partial.append(n_known, n_bytes)
        watch.came(n_bytes)


@contextmanager
def _network(host: str) -> Iterator[None]:
    """Whatever a connection raises becomes a sentence about the network; addresses are not repeated."""
    try:
        yield
    except HubFailure as failure:  # a proxy that cannot be used
        raise RefusedByHub(failure) from None
    except ssl.SSLCertVerificationError:
        raise Interrupted(
            f"The certificate of {shown(host)} could not be verified. Check the clock, and whether "
            "the network wants a login in the browser."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        at_once = isinstance(error, ConnectionResetError | http.client.IncompleteRead)
        raise Interrupted(f"The connection to {shown(host)} failed.", at_once=at_once) from None
