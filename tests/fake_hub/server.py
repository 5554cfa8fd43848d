"""The server: routes requests to the API and to the files, and notes what it was asked.

`FakeHub` is started on a free port of loopback; `faults` are switches that a test may set at any time, also
while a transfer runs. Files may be sent from a second port, as the Hub redirects to its storage.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.fake_hub.api import answer_api
from tests.fake_hub.content import HubRepo
from tests.fake_hub.faults import Faults
from tests.fake_hub.files import answer_file


@dataclass
class Seen:
    """One request as it arrived."""

    port: int
    method: str
    path: str
    headers: dict[str, str]


@dataclass
class FakeHub:
    """Repositories by id, the faults to play, and every request that came."""

    repos: dict[str, HubRepo] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    storage_port: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def storage(self) -> str:
        return f"http://127.0.0.1:{self.storage_port}"

    def add(self, repo: HubRepo) -> HubRepo:
        self.repos[repo.repo_id] = repo
        return repo


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """A running Hub; both its ports are closed at the end."""
    hub = FakeHub()
    with _serving(hub) as hub.port, _serving(hub) as hub.storage_port:
        yield hub


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error here; everything else is told as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def _serving(hub: FakeHub) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self, hub)

        do_HEAD = do_GET  # noqa: N815 - the names that the standard library calls

        def log_message(self, *_arguments: object) -> None:
            """Tests read `seen` instead."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, hub: FakeHub) -> None:
    """API under /api/, everything else is a file: /org/repo/resolve/revision/path."""
    port = handler.server.server_address[1]  # type: ignore[index]
    hub.seen.append(Seen(int(port), handler.command, handler.path, dict(handler.headers.items())))
    try:
        if handler.path.startswith("/api/"):
            answer_api(handler, hub)
        else:
            answer_file(handler, hub)
    except (BrokenPipeError, ConnectionResetError):
        handler.close_connection = True
