"""The HTTP client of everything that is asked of the Hub, also by `huggingface_hub` itself.

A request goes in, an answer that can be used comes out, or a HubFailure. By itself the library waits for
ever for an answer, and retries for half a minute before it says that there is no network; here each
request has its time, and the first failure is told. Within `asking`, a caller that has cancelled is not kept
waiting between two packets. Where the Hub redirects to another origin, the library drops the token.

Importing this module imports the HTTP library: about 0.3 s, so it is imported where it is first needed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2

from engine.hub.connection_failures import failure_of, too_slow, unreadable
from engine.hub.hub_errors import HubCancelled, HubOffline, HubUntrusted
from engine.hub.proxies import environment_mounts
from engine.hub.refusals import Asked, refusal_of

# Telemetry makes the library ask the Hub for lists of its own before the first request.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from huggingface_hub import constants, get_token, set_client_factory

CONNECT_S = 10.0
READ_S = 20.0  # without a byte


@dataclass(frozen=True, slots=True)
class Call:
    """One thing asked of the Hub, which may take several requests; `deadline` by the monotonic clock."""

    asked: Asked
    deadline: float
    most_bytes: int
    cancel: threading.Event | None

    def check(self) -> None:
        """Raise HubCancelled or HubTooSlow if the answer has come too late."""
        if self.cancel is not None and self.cancel.is_set():
            raise HubCancelled("The question was taken back. Nothing was changed.")
        if time.monotonic() > self.deadline:
            raise too_slow(self.asked)


_CALL: ContextVar[Call | None] = ContextVar("_CALL", default=None)


@contextmanager
def asking(call: Call) -> Iterator[None]:
    """What this thread asks within belongs to `call`; whatever the connection raises becomes a HubFailure."""
    call.check()
    previous = _CALL.set(call)
    try:
        yield
    except httpx2.HTTPError as error:
        raise failure_of(error, call.asked) from None
    except httpx2.InvalidURL:
        raise unreadable(call.asked) from None
    finally:
        _CALL.reset(previous)


class HubClient(httpx2.Client):
    """A client with limits of time for every request, and with those of the `Call` that it belongs to."""

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send `request`; of a `Call`, an answer of 400 or more is raised as a HubFailure."""
        times = httpx2.Timeout(connect=CONNECT_S, read=READ_S, write=READ_S, pool=READ_S)
        request.extensions = {**request.extensions, "timeout": times.as_dict()}
        call = _CALL.get()
        if call is None:
            return super().send(request, stream=stream, **options)
        call.check()
        if constants.is_offline_mode():
            raise HubOffline(
                "HF_HUB_OFFLINE is set, so the Hub is not asked. Unset it and start Weir again.",
                remedies=(),
            )
        return self._send_within(call, request, stream, options)

    def _send_within(
        self, call: Call, request: httpx2.Request, stream: bool, options: dict[str, Any]
    ) -> httpx2.Response:
        try:
            response = super().send(request, stream=True, **options)
        except (httpx2.ReadError, httpx2.RemoteProtocolError):
            # A connection that was kept open had been closed by the server meanwhile.
            response = super().send(request, stream=True, **options)
        try:
            if response.status_code >= 400:
                raise refusal_of(response.status_code, response.headers, call.asked)
            # What httpx puts there is a SyncByteStream, since this client is not an asynchronous one.
            response.stream = _WithinCall(response.stream, call)  # type: ignore[arg-type]
            if not stream:
                response.read()
        except BaseException:
            response.close()
            raise
        return response


class _WithinCall(httpx2.SyncByteStream):
    """An answer's bytes, as long as the call has time, is wanted and is not flooded."""

    def __init__(self, stream: httpx2.SyncByteStream, call: Call) -> None:
        self._stream = stream
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        n_bytes = 0
        for piece in self._stream:
            self._call.check()
            n_bytes += len(piece)
            if n_bytes > self._call.most_bytes:
                raise unreadable(self._call.asked)
            yield piece

    def close(self) -> None:
        self._stream.close()


def new_client() -> httpx2.Client:
    """A client with the environment's proxies. Raises HubUntrusted where its certificates cannot be read."""
    try:
        try:
            return HubClient(follow_redirects=True)
        except (ValueError, ImportError, httpx2.InvalidURL):  # of the proxies, see `proxies`
            return HubClient(
                follow_redirects=True, transport=httpx2.HTTPTransport(), mounts=environment_mounts()
            )
    except OSError as error:
        raise HubUntrusted(
            f"The certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read ({error.strerror}). "
            "Nothing was sent: correct the setting, then start Weir again."
        ) from None


def library_token() -> str | None:
    """The token of `huggingface_hub`, HF_TOKEN or its token file; None where there is none to be had."""
    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return None
    # It reads files and may renew a token over the network; whatever fails there, public models need none.
    try:
        return get_token()
    except Exception:
        return None


constants.HF_HUB_DISABLE_TELEMETRY = True  # where something had imported the library before
set_client_factory(new_client)
