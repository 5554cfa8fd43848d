"""One request to one server, by http.client: a status, headers and bytes as they come.

Not by httpx2, the HTTP client of `huggingface_hub`, whose parser copies each byte several times: in turn on
loopback, on two busy cores, it received, wrote and hashed 500 MB at 481 MB/s with 0.95 s of processor time,
http.client at 669 with 0.59; curl, which does not hash, reached 1,029 (medians of six). Nor can httpx2 ask,
while it waits for bytes, whether to go on.

What a proxy of the environment or the certificates of the system need is done as httpx2 does it; SOCKS
is not offered. Whoever waits is asked every 0.2 s (`Watch.waits`), and may raise to end the connection.
"""

from __future__ import annotations

import errno
import http.client
import io
import os
import selectors
import socket
import time
from base64 import b64encode
from collections.abc import Mapping
from functools import cache, partial
from ssl import SSLContext
from typing import Any, Protocol, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from engine.hub.hub_errors import ProxyUnusable
from engine.models.byte_reader import shown

POLL_S = 0.2
HEADER_BUFFER_BYTES = 1 << 16
_IN_PROGRESS = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", 0)} - {0})


class Watch(Protocol):
    """Whoever has to know that nothing comes."""

    def waits(self) -> None:
        """Called while nothing comes, every 0.2 s; may raise."""


class Answer:
    """A server's answer; `headers` find their names in any case. To be closed."""

    def __init__(self, wire: _Wire, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = cast(Mapping[str, str], response.headers)
        self._wire = wire
        self._response = response
        self._n_left = response.length

    def read_into(self, buffer: memoryview) -> int:
        """How many bytes have come into `buffer`; 0 at the end, also where the server hung up early.

        Raises OSError or http.client.HTTPException where the connection breaks.
        """
        if self._n_left is None:
            data = self._response.read1(len(buffer))
            buffer[: len(data)] = data
            return len(data)
        # Beside the response, which has no readinto1: its readinto waits until the buffer is full.
        n_bytes = self._wire.reader.readinto1(buffer[: self._n_left]) if self._n_left else 0
        self._n_left -= n_bytes
        return n_bytes

    def close(self) -> None:
        """Hang up."""
        self._response.close()
        self._wire.hang_up()


def open_url(url: str, headers: Mapping[str, str], connect_s: float, watch: Watch) -> Answer:
    """Send a GET for `url` and wait for the answer's headers.

    Raises OSError or http.client.HTTPException where that fails, and ProxyUnusable.
    """
    connection, target, extra = _connection(urlsplit(url), connect_s)
    # The only seam there is: by itself it waits at each address of a host, and asks nobody meanwhile.
    vars(connection)["_create_connection"] = partial(_connect, watch)
    connection.connect()
    wire = _Wire(connection.sock, watch)
    connection.sock = wire
    try:
        connection.request("GET", target, headers={**headers, **extra, "Connection": "close"})
        return Answer(wire, connection.getresponse())
    except BaseException:
        wire.hang_up()
        raise


def _connection(url: SplitResult, connect_s: float) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """What to connect to, what to ask it for, and the headers that its proxy wants."""
    if url.scheme not in ("http", "https") or not url.hostname:
        raise http.client.InvalidURL("the address is none of the web's")
    port = url.port or (443 if url.scheme == "https" else 80)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    proxy = _proxy(url.scheme, url.hostname)
    host, host_port = (url.hostname, port) if proxy is None else (str(proxy.hostname), proxy.port or 80)
    credentials = {} if proxy is None else _credentials(proxy)
    if url.scheme == "https":
        secure = http.client.HTTPSConnection(host, host_port, timeout=connect_s, context=_certificates())
        if proxy is not None:
            secure.set_tunnel(url.hostname, port, headers=credentials)
        return secure, target, {}
    plain = http.client.HTTPConnection(host, host_port, timeout=connect_s)
    if proxy is None:
        return plain, target, {}
    return plain, f"http://{url.netloc.rpartition('@')[2]}{target}", credentials


def _proxy(scheme: str, host: str) -> SplitResult | None:
    """The proxy that the environment, or the system, names for `host`."""
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(host):
        return None
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise ProxyUnusable(
            f"The environment names a proxy of a kind that Weir cannot use ({shown(proxy.scheme)}://). "
            "Nothing was sent: set HTTPS_PROXY to an http:// proxy, then start Weir again."
        )
    return proxy


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


@cache
def _certificates() -> SSLContext:
    """Those that httpx2 trusts, so that both reach the same servers; a third of a second, once."""
    import httpx2

    return httpx2.create_ssl_context()


def _connect(watch: Watch, address: tuple[str, int], timeout: float, *_unused: object) -> socket.socket:
    """A socket that is connected to the first address of a host that answers within `timeout` seconds."""
    failure = OSError("the host has no address")
    for family, kind, protocol, _name, found in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        connecting = socket.socket(family, kind, protocol)
        try:
            _await_connection(connecting, found, timeout, watch)
        except OSError as error:
            connecting.close()
            failure = error
        except BaseException:
            connecting.close()
            raise
        else:
            connecting.settimeout(timeout)
            return connecting
    raise failure


def _await_connection(connecting: socket.socket, address: Any, timeout: float, watch: Watch) -> None:
    connecting.setblocking(False)
    error = connecting.connect_ex(address)
    if error in _IN_PROGRESS:
        end = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(connecting, selectors.EVENT_WRITE)
            while not selector.select(POLL_S):
                watch.waits()
                if time.monotonic() >= end:
                    raise TimeoutError
        error = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


class _Wire:
    """A connected socket as http.client uses it, but one that asks `watch` while it waits."""

    def __init__(self, connected: socket.socket, watch: Watch) -> None:
        self._socket = connected
        polled = _Polled(connected, watch)
        self.reader: io.BufferedReader[Any] = io.BufferedReader(polled, HEADER_BUFFER_BYTES)

    def sendall(self, data: Any) -> None:
        self._socket.sendall(data)
        self._socket.settimeout(POLL_S)

    def makefile(self, _mode: str) -> io.BufferedReader[Any]:
        return self.reader

    def close(self) -> None:
        """http.client closes before the answer was read; `hang_up` closes."""

    def hang_up(self) -> None:
        self._socket.close()


class _Polled(io.RawIOBase):
    """Reads from a socket whose timeout is short."""

    def __init__(self, connected: socket.socket, watch: Watch) -> None:
        self._socket = connected
        self._watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            try:
                return self._socket.recv_into(buffer)
            except TimeoutError:
                self._watch.waits()
