"""Proxies of the environment, and TLS: with the certificates that are trusted, and with others."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from engine.download import connection
from engine.download.access import Patience
from engine.download.download_errors import DownloadStopped, RefusedByHub
from engine.download.download_values import DownloadStatus
from engine.hub.hub_errors import ProxyUnusable
from tests.engine.download.downloads import Watched, content, offer
from tests.engine.download.loopback import Elsewhere
from tests.fake_hub.server import FakeHub

CREDENTIALS = "Proxy-Authorization: Basic dXNlcjpwYXNz"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    connection._certificates.cache_clear()
    yield
    connection._certificates.cache_clear()


@contextmanager
def _front(lead: Callable[[socket.socket], tuple[socket.socket, int, bytes]]) -> Iterator[int]:
    """A port whose connections `lead` takes to another port, with the first bytes to send there."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _address = server.accept()
                except OSError:
                    return
                threading.Thread(target=_pass_on, args=(client, lead), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def _pass_on(
    client: socket.socket, lead: Callable[[socket.socket], tuple[socket.socket, int, bytes]]
) -> None:
    try:
        client, port, first = lead(client)
    except OSError:
        client.close()
        return
    server = socket.create_connection(("127.0.0.1", port))
    server.sendall(first)
    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
    back.start()
    _pump(client, server)
    back.join()
    client.close()
    server.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


@contextmanager
def _proxy(port: int, heads: list[str]) -> Iterator[str]:
    """A proxy that leads everything to `port`, and notes what it was asked."""

    def lead(client: socket.socket) -> tuple[socket.socket, int, bytes]:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1 << 16)
        heads.append(head.decode())
        if not head.startswith(b"CONNECT"):
            return client, port, head
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return client, port, b""

    with _front(lead) as proxy_port:
        yield f"http://user:pass@127.0.0.1:{proxy_port}"


@contextmanager
def _secure(port: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """An https address of what listens at `port`, and the certificate to trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key_file)
    with _front(lambda client: (context.wrap_socket(client, server_side=True), port, b"")) as front:
        yield f"https://127.0.0.1:{front}", certificate_file


def test_a_proxy_is_used_and_told_who_asks(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.faults.from_storage = False
    model = offer(hub, {"model.gguf": 100_000})
    heads: list[str] = []
    with _proxy(hub.port, heads) as address:
        monkeypatch.setenv("http_proxy", address)
        watched.access_to = Elsewhere("http://hub.invalid:8080")
        assert watched.run(model).read_bytes() == content(hub, model)
    assert heads[0].startswith("GET http://hub.invalid:8080/org/repo/resolve/")
    assert CREDENTIALS in heads[0]
    assert "Host: hub.invalid:8080\r\n" in heads[0]


def test_hosts_that_need_no_proxy(hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    model = offer(hub, {"model.gguf": 100_000})
    monkeypatch.setenv("http_proxy", "http://proxy.invalid")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert watched.run(model).read_bytes() == content(hub, model)


def test_a_proxy_of_another_kind_is_told(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = offer(hub, {"model.gguf": 100_000})
    monkeypatch.setenv("all_proxy", "socks5://user:hidden@127.0.0.1:9")
    with pytest.raises(RefusedByHub, match="socks5://") as refused:
        watched.run(model)
    assert isinstance(refused.value.failure, ProxyUnusable)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("by_proxy", [False, True], ids=["direct", "by proxy"])
def test_tls_also_while_nothing_comes(
    hub: FakeHub, watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_proxy: bool
) -> None:
    hub.faults.from_storage = False
    hub.faults.stall_after, hub.faults.stall_s, hub.faults.stall_times = 1_000_000, 0.5, 1
    model = offer(hub, {"model.gguf": 3_000_000})
    heads: list[str] = []
    with _secure(hub.port, tmp_path) as (address, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        watched.access_to = Elsewhere(address)
        with _proxy(int(address.rpartition(":")[2]), heads) as proxy:
            if by_proxy:
                monkeypatch.setenv("https_proxy", proxy)
            assert watched.run(model).read_bytes() == content(hub, model)
    assert [seen.headers.get("Range") for seen in hub.seen] == [None]
    assert [head.startswith("CONNECT") and CREDENTIALS in head for head in heads] == [True] * by_proxy
    assert all("Proxy-Authorization" not in seen.headers for seen in hub.seen)


def test_a_certificate_that_is_not_trusted_is_told_and_waited_out(
    hub: FakeHub, watched: Watched, tmp_path: Path
) -> None:
    model = offer(hub, {"model.gguf": 1000})
    with _secure(hub.port, tmp_path) as (address, _certificate):
        watched.access_to = Elsewhere(address)
        threading.Timer(1.0, watched.stop.set).start()
        with pytest.raises(DownloadStopped):
            watched.run(model)
    assert hub.seen == []
    waiting = [state for state in watched.states if state.status is DownloadStatus.WAITING]
    assert all(state.reason and "certificate of 127.0.0.1" in state.reason for state in waiting)
    assert waiting


def test_stop_is_quick_while_a_host_does_not_answer(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = offer(hub, {"model.gguf": 1000})
    watched.patience = Patience()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        callers = [socket.socket() for _ in range(3)]
        for caller in callers:  # the queue is full: the next one gets no answer at all
            caller.setblocking(False)
            caller.connect_ex(("127.0.0.1", port))
        watched.access_to = Elsewhere(f"http://127.0.0.1:{port}")
        threading.Timer(0.3, watched.stop.set).start()
        start = time.monotonic()
        with pytest.raises(DownloadStopped):
            watched.run(model)
        assert time.monotonic() - start < 2
        for caller in callers:
            caller.close()


def test_the_next_address_of_a_host_is_tried(
    hub: FakeHub, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = offer(hub, {"model.gguf": 1000})
    kind = (socket.AF_INET, socket.SOCK_STREAM, 0, "")

    def addresses(host: str, port: int, **_options: object) -> list[object]:
        return [(*kind, ("127.0.0.1", 1)), (*kind, ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    assert watched.run(model).read_bytes() == content(hub, model)
    assert DownloadStatus.WAITING not in watched.statuses
