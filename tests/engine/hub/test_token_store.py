"""The token: where it is kept, who may read it, and that it is never shown."""

from __future__ import annotations

import logging
import os
import pickle
import stat
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring.backends.fail
import pytest

from engine.errors import BadRequest, KnownError, WeirError
from engine.hub import keyring_access
from engine.hub.hub import Hub
from engine.hub.hub_errors import TokenRejected
from engine.hub.hub_values import RemoteModel, RemotePart
from engine.hub.keyring_access import SystemKeyring
from engine.hub.secret import Secret
from engine.hub.token_store import TokenSource, TokenStore
from tests.engine.hub.conftest import TOKEN
from tests.fake_hub.content import COMMIT, HubFile, HubRepo
from tests.fake_hub.faults import Faults
from tests.fake_hub.server import FakeHub

NO_KEYRING: Any = keyring.backends.fail.Keyring()  # type: ignore[no-untyped-call]


class MemoryKeyring:
    """A real keyring, but for the disk."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.entries.get((service, account))

    def set_password(self, service: str, account: str, text: str) -> None:
        self.entries[service, account] = text

    def delete_password(self, service: str, account: str) -> None:
        del self.entries[service, account]


class RaisingKeyring(MemoryKeyring):
    def get_password(self, service: str, account: str) -> str | None:
        raise RuntimeError(f"the bus is gone, {TOKEN} too")

    def set_password(self, service: str, account: str, text: str) -> None:
        raise RuntimeError(f"the bus is gone, {text} too")


class HangingKeyring(MemoryKeyring):
    def __init__(self, answer: threading.Event) -> None:
        super().__init__()
        self.answer = answer
        self.n_calls = 0

    def get_password(self, service: str, account: str) -> str | None:
        self.n_calls += 1
        self.answer.wait(30)
        return super().get_password(service, account)

    def set_password(self, service: str, account: str, text: str) -> None:
        self.n_calls += 1
        self.answer.wait(30)


@pytest.fixture
def answer() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def _store(folder: Path, backend: Any = None) -> TokenStore:
    return TokenStore(folder, SystemKeyring(lambda: backend or NO_KEYRING))


def test_entered_token_lies_in_the_keyring(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    assert _store(tmp_path, backend).save(f" {TOKEN}\n") is TokenSource.KEYRING
    assert list(backend.entries.values()) == [TOKEN]
    assert not list(tmp_path.glob("*token*"))
    store = _store(tmp_path, backend)
    found = store.find()
    assert found is not None
    assert (store.token(), found.source) == (TOKEN, TokenSource.KEYRING)
    store.delete()
    assert (store.token(), backend.entries) == (None, {})


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_without_a_keyring_only_this_user_can_read_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    fsync = os.fsync

    def noted(number: int) -> None:
        modes.append(os.fstat(number).st_mode)
        fsync(number)

    monkeypatch.setattr(os, "fsync", noted)
    before = os.umask(0)
    try:
        assert _store(tmp_path).save(TOKEN) is TokenSource.FILE
    finally:
        os.umask(before)
    path = tmp_path / "hub-token"
    assert [stat.S_IMODE(mode) for mode in (*modes, path.stat().st_mode)] == [0o600, 0o600]
    assert _store(tmp_path).token() == TOKEN
    path.chmod(0o644)
    assert _store(tmp_path).token() == TOKEN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_file_is_replaced_and_deleted_as_a_whole(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.save("hf_first")
    store.save("hf_second")
    assert [path.name for path in tmp_path.iterdir()] == ["hub-token"]
    assert _store(tmp_path).token() == "hf_second"
    store.delete()
    assert not list(tmp_path.iterdir())
    store.delete()


def test_keyring_that_raises_or_keeps_nothing_is_none(tmp_path: Path) -> None:
    for number, backend in enumerate((RaisingKeyring(), NO_KEYRING)):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert _store(folder, backend).save(TOKEN) is TokenSource.FILE
        assert _store(folder, backend).token() == TOKEN


def test_keyring_that_only_writes_a_file_is_none(tmp_path: Path) -> None:
    plain = type("PlaintextKeyring", (MemoryKeyring,), {"__module__": "keyrings.alt.file"})()
    chain = type("ChainerBackend", (), {"backends": [plain], "__module__": "keyring.backends.chainer"})()
    assert _store(tmp_path, chain).save(TOKEN) is TokenSource.FILE
    assert plain.entries == {}


def test_keyring_that_hangs_is_not_waited_for(
    tmp_path: Path, answer: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_access, "READ_S", 0.05)
    monkeypatch.setattr(keyring_access, "WRITE_S", 0.05)
    backend = HangingKeyring(answer)
    store = _store(tmp_path, backend)
    assert store.token() is None
    assert store.token() is None
    assert backend.n_calls == 1
    assert store.save(TOKEN) is TokenSource.FILE
    assert store.token() == TOKEN


def test_keyring_that_is_unlocked_later_is_read_then(
    tmp_path: Path, answer: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_access, "READ_S", 0.2)
    backend = HangingKeyring(answer)
    backend.entries[keyring_access.SERVICE, keyring_access.ACCOUNT] = TOKEN
    store = _store(tmp_path, backend)
    assert store.token() is None
    answer.set()
    deadline = threading.Event()
    for _ in range(50):
        if store.token() == TOKEN:
            return
        deadline.wait(0.02)
    pytest.fail("the keyring was not asked again")


def test_tokens_of_the_library_are_used_and_never_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library" / "token"
    library.parent.mkdir()
    library.write_text("hf_of_the_library\n")
    store = _store(tmp_path)
    found = store.find()
    assert found is not None
    assert (store.token(), found.source) == ("hf_of_the_library", TokenSource.HUB_LIBRARY)
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_environment")
    found = store.find()
    assert found is not None
    assert (store.token(), found.source) == ("hf_of_the_environment", TokenSource.ENVIRONMENT)
    store.save(TOKEN)
    assert store.token() == TOKEN
    store.delete()
    assert store.token() == "hf_of_the_environment"
    assert library.read_text() == "hf_of_the_library\n"


@pytest.mark.parametrize("text", ["", "  ", "hf_a b", "hf_\nx: y", "hf_é", "hf_" + "x" * 2000])
def test_what_is_no_token_is_not_kept(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        _store(tmp_path).save(text)
    assert not text.strip() or text.strip() not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_folder_that_cannot_be_written_is_told_without_the_token(tmp_path: Path) -> None:
    store = _store(tmp_path / "gone")
    with pytest.raises(KnownError) as caught:
        store.save(TOKEN)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert store.token() is None


def test_secret_shows_itself_nowhere() -> None:
    secret = Secret(TOKEN)
    assert not any(TOKEN in text for text in (str(secret), repr(secret), f"{secret}", repr([secret])))
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_token_goes_over_no_network_in_the_clear() -> None:
    model = RemoteModel("a/m", COMMIT, (RemotePart("x y.gguf", 1, None),))
    address = Hub("http://hub.example", lambda: TOKEN).address(model, model.parts[0])
    assert "Authorization" not in address.headers_for(address.url)
    address = Hub("https://hub.example/mirror", lambda: TOKEN).address(model, model.parts[0])
    assert address.url == f"https://hub.example/mirror/a/m/resolve/{COMMIT}/x%20y.gguf"
    assert address.headers_for(address.url)["Authorization"] == f"Bearer {TOKEN}"
    assert address.headers_for("https://HUB.example:443/a")["Authorization"] == f"Bearer {TOKEN}"
    for other in ("https://hub.example:444/", "http://hub.example/", "https://hub.example.evil.com/", "//x"):
        assert "Authorization" not in address.headers_for(other)
    assert TOKEN not in repr(address)


def test_token_with_a_line_break_is_not_sent(server: FakeHub) -> None:
    with pytest.raises(TokenRejected):
        Hub(server.endpoint, lambda: "hf_x\r\nX-Evil: 1").details("a/m")
    assert not server.seen


def test_token_is_in_no_log_and_no_error(
    server: FakeHub, hub: Hub, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all libraries, at DEBUG, with everything that the Hub can refuse."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.NOTSET)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    server.add(HubRepo("a/m", {"m.gguf": HubFile(b"GGUF")}))
    (model,) = hub.details("a/m").models
    shown: list[str] = []
    for faults in (
        Faults(),
        Faults(refuses_tokens=True),
        Faults(api_status=403, status=403),
        Faults(api_status=503, status=503),
        Faults(api_body=b"<html>", ignores_range=True),
    ):
        server.faults = faults
        for ask in (
            lambda: list(hub.search("m")),
            lambda: hub.details("a/m"),
            lambda: hub.facts(model),
            hub.user_name,
        ):
            try:
                shown.append(repr(ask()))
            except WeirError as error:
                shown += [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
    assert len(caplog.records) > 20
    logged = [caplog.text, *(repr(record.__dict__) for record in caplog.records)]
    assert not any(TOKEN in text for text in shown + logged)
    assert any(TOKEN in str(seen.headers) for seen in server.seen)
