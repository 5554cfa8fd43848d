"""What the Hub refuses and how the way to it fails: each with its own sentence, and with what would help."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import huggingface_hub
import huggingface_hub.constants
import pytest

from engine.errors import HubError
from engine.hub import connection, session
from engine.hub.endpoint import BadEndpoint
from engine.hub.hub import Hub
from engine.hub.hub_errors import (
    AccessDenied,
    HubBroken,
    HubCancelled,
    HubFailure,
    HubNameUnknown,
    HubOffline,
    HubTooSlow,
    HubUnreadable,
    HubUntrusted,
    NotOnHub,
    ProxyUnusable,
    Remedy,
    TermsNotAccepted,
    TokenRejected,
    TooManyRequests,
)
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.refusals import Asked, refusal_of
from tests.fake_hub.content import COMMIT, HubFile, HubRepo
from tests.fake_hub.faults import Faults
from tests.fake_hub.server import FakeHub

AGAIN, ENTER, WITHOUT = Remedy.TRY_AGAIN, Remedy.ENTER_TOKEN, Remedy.TRY_WITHOUT_TOKEN
IN_77_S = {"Retry-After": "77"}
BAD_TAGS = b'[{"id": "a/b", "tags": 5}]'
MODEL = RemoteModel("a/m", COMMIT, (RemotePart("m.gguf", 100, None),))


@pytest.fixture
def fresh_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A client that is made from this test's environment."""
    huggingface_hub.close_session()
    yield
    monkeypatch.undo()
    huggingface_hub.close_session()


def _failure(ask: Callable[[], object]) -> HubFailure:
    with pytest.raises(HubError) as caught:
        ask()
    assert isinstance(caught.value, HubFailure)
    assert caught.value.__cause__ is None
    return caught.value


def _everything(hub: Hub) -> list[Callable[[], object]]:
    return [lambda: list(hub.search("m")), lambda: hub.details("a/m"), hub.user_name]


@pytest.mark.parametrize(
    ("faults", "expected", "remedies", "words"),
    [
        (Faults(refuses_tokens=True), TokenRejected, (WITHOUT, ENTER), "expired"),
        (Faults(api_status=403), AccessDenied, (ENTER, WITHOUT), "right to read"),
        (Faults(api_status=404), NotOnHub, None, "Nothing was changed"),
        (Faults(api_status=429, api_headers=IN_77_S), TooManyRequests, (AGAIN,), "77 seconds"),
        (Faults(api_status=500), HubBroken, (AGAIN,), "status 500"),
        (Faults(api_status=503), HubBroken, (AGAIN,), "status 503"),
        (Faults(api_status=418), HubUnreadable, (AGAIN,), "status 418"),
        (Faults(api_body=b"<html>Welcome to our hotel</html>"), HubUnreadable, (AGAIN,), "login"),
        (Faults(api_body=b'"text"'), HubUnreadable, (AGAIN,), "is not the Hub's"),
        (Faults(api_body=b"[" * 100_000), HubUnreadable, (AGAIN,), "is not the Hub's"),
        (Faults(api_body=b'[{"id": 3}]'), HubUnreadable, (AGAIN,), "is not the Hub's"),
        (Faults(api_body=BAD_TAGS), HubUnreadable, (AGAIN,), "is not the Hub's"),
    ],
)  # fmt: skip
def test_refusal_is_told_at_once_with_what_would_help(
    server: FakeHub,
    hub: Hub,
    faults: Faults,
    expected: type[HubFailure],
    remedies: tuple[Remedy, ...] | None,
    words: str,
) -> None:
    server.add(HubRepo("a/m"))
    server.faults = faults
    for ask in _everything(hub):
        started = time.monotonic()
        failure = _failure(ask)
        assert (type(failure), words in str(failure)) == (expected, True), str(failure)
        assert remedies is None or failure.remedies == remedies
        assert time.monotonic() - started < 2


def test_rejected_token_is_offered_to_be_left_out(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/m"))
    server.faults.refuses_tokens = True
    _failure(lambda: hub.details("a/m"))
    assert hub.without_token().details("a/m").summary.repo_id == "a/m"
    assert [found.repo_id for found in hub.without_token().search("m")] == ["a/m"]


def test_token_does_not_follow_a_redirect_of_the_api(server: FakeHub, hub: Hub) -> None:
    elsewhere = {"Location": f"{server.storage}/api/models/a/m"}
    server.faults = Faults(api_status=302, api_headers=elsewhere)
    assert isinstance(_failure(lambda: hub.details("a/m")), HubUnreadable)
    at_storage = [seen.headers for seen in server.seen if seen.port == server.storage_port]
    assert at_storage
    assert not any(name.lower() == "authorization" for headers in at_storage for name in headers)


def test_time_to_wait_is_told(server: FakeHub, hub: Hub) -> None:
    server.faults = Faults(api_status=429, api_headers={"RateLimit": '"api";r=0;t=155'})
    failure = _failure(lambda: hub.details("a/m"))
    assert (failure.retry_after_s, "3 minutes" in str(failure)) == (155.0, True)


def test_gated_files_name_the_page_of_the_terms(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/m", {"m.gguf": HubFile(bytes(100))}, gated="auto"))
    failure = _failure(lambda: hub.without_token().facts(MODEL))
    assert isinstance(failure, TermsNotAccepted)
    assert failure.url == f"{server.endpoint}/a/m"
    assert failure.remedies == (Remedy.ACCEPT_TERMS, Remedy.ENTER_TOKEN)
    server.faults = Faults(status=403, error_code="GatedRepo")
    failure = _failure(lambda: hub.facts(MODEL))
    assert failure.remedies == (Remedy.ACCEPT_TERMS, Remedy.TRY_AGAIN, Remedy.ENTER_TOKEN)


def test_request_that_waits_for_consent_is_told() -> None:
    message = "Your request to access model a/m is awaiting a review from the repo authors."
    headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": message}
    failure = refusal_of(403, headers, Asked("h", "a/m", "https://h/a/m", with_token=True))
    assert "waits for its owner's consent" in str(failure)
    assert failure.remedies == (Remedy.TRY_AGAIN,)


def test_sentences_of_all_refusals_differ() -> None:
    answers = [
        (401, {"X-Error-Code": "GatedRepo"}),
        (401, {"X-Error-Code": "RepoNotFound"}),
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}),
        (403, {}),
        (403, {"X-Error-Message": "Access to this resource is disabled."}),
        (404, {"X-Error-Code": "RevisionNotFound"}),
        (404, {"X-Error-Code": "EntryNotFound"}),
        (429, {}),
        (500, {}),
        (416, {}),
    ]
    for with_token in (True, False):
        asked = Asked("h", "a/m", "https://h/a/m", with_token)
        sentences = {str(refusal_of(status, headers, asked)) for status, headers in answers}
        # A stranger's 401 is that of a private repository, whatever its message.
        assert len(sentences) == len(answers) - (0 if with_token else 1)


def test_private_or_missing_repository_is_not_there(server: FakeHub, hub: Hub) -> None:
    server.add(HubRepo("a/private", private=True))
    failure = _failure(lambda: hub.without_token().details("a/private"))
    assert (type(failure), failure.remedies) == (NotOnHub, (Remedy.ENTER_TOKEN,))
    assert hub.details("a/private").summary.repo_id == "a/private"
    assert isinstance(_failure(lambda: hub.details("a/none")), NotOnHub)
    server.add(HubRepo("a/m"))
    assert "no such revision" in str(_failure(lambda: hub.details("a/m", "v9")))


@pytest.mark.parametrize("name", ["a/b/c", "a--b", "../x", "a/b?x=1", "", "a/" + "b" * 200, "x/\n"])
def test_what_is_no_name_is_not_asked_for(server: FakeHub, hub: Hub, name: str) -> None:
    assert isinstance(_failure(lambda: hub.details(name)), NotOnHub)
    assert not server.seen


def test_nobody_there_and_no_such_name() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    offline = Hub(f"http://127.0.0.1:{port}")
    for ask in _everything(offline)[:2]:
        assert isinstance(_failure(ask), HubOffline)
    unknown = Hub("http://no-such-hub.invalid")
    for ask in _everything(unknown)[:2]:
        assert isinstance(_failure(ask), HubNameUnknown)


def test_connection_that_is_not_tls_is_not_trusted(server: FakeHub) -> None:
    failure = _failure(lambda: Hub(server.endpoint.replace("http:", "https:")).details("a/m"))
    assert isinstance(failure, HubUntrusted)


def test_silence_has_an_end(server: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "READ_S", 0.2)
    server.faults.api_delay_s = 1.0
    for ask in _everything(hub):
        started = time.monotonic()
        assert isinstance(_failure(ask), HubTooSlow)
        assert time.monotonic() - started < 0.8


def test_answer_that_drips_has_an_end(server: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, the whole does not."""
    monkeypatch.setattr(connection, "ANSWER_S", 0.3)
    server.faults = Faults(api_body=b" " * 64_000, api_drip_s=0.05)
    started = time.monotonic()
    assert isinstance(_failure(lambda: hub.details("a/m")), HubTooSlow)
    assert time.monotonic() - started < 1.5


def test_answer_without_end_is_not_read(server: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_ANSWER_BYTES", 100_000)
    server.faults.api_body = b" " * 1_000_000
    assert isinstance(_failure(lambda: hub.details("a/m")), HubUnreadable)


def test_cancel_ends_an_answer_that_drips(server: FakeHub, hub: Hub) -> None:
    server.faults = Faults(api_body=b" " * 64_000, api_drip_s=0.02)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    assert isinstance(_failure(lambda: hub.details("a/m", cancel=cancel)), HubCancelled)
    assert time.monotonic() - started < 1.0


def test_offline_mode_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    failure = _failure(lambda: hub.details("a/m"))
    assert (type(failure), "HF_HUB_OFFLINE" in str(failure)) == (HubOffline, True)


@pytest.mark.usefixtures("fresh_session")
def test_proxy_of_an_unknown_kind_is_a_sentence(
    server: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add(HubRepo("a/m"))
    monkeypatch.setenv("ALL_PROXY", "socks://user:pa55word@127.0.0.1:1080/")
    failure = _failure(lambda: hub.details("a/m"))
    assert isinstance(failure, ProxyUnusable)
    assert "socks://" in str(failure)
    assert "pa55word" not in str(failure)


@pytest.mark.usefixtures("fresh_session")
def test_proxy_of_an_unknown_kind_does_no_harm_beside_another(
    server: FakeHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1080/")
    monkeypatch.setenv("HTTP_PROXY", server.storage)
    _failure(lambda: hub.details("a/m"))
    assert [seen.port for seen in server.seen] == [server.storage_port]
    monkeypatch.delenv("HTTP_PROXY")
    monkeypatch.setenv("NO_PROXY", "localhost, 127.0.0.1")
    huggingface_hub.close_session()
    server.add(HubRepo("a/m"))
    assert hub.details("a/m").summary.repo_id == "a/m"


@pytest.mark.parametrize(
    "address", ["huggingface.co", "ftp://x", "http://", "https://u:pa55word@x", "http://x:y", "http://x/?a=b"]
)
def test_bad_address_of_the_hub_is_told(address: str) -> None:
    with pytest.raises(BadEndpoint) as caught:
        Hub(address)
    assert "pa55word" not in str(caught.value)


def test_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Hub().endpoint == "https://huggingface.co"
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/mirror/")
    assert Hub().endpoint == "https://hub.example/mirror"
    assert Hub("http://other:8080").endpoint == "http://other:8080"
