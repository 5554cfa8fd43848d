"""The token: kept, forgotten, asked with, never told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.hub.token_store import TokenSource
from tests.app.hub_stage import SMALL, HubStage, gguf_repo, hub_alone
from tests.app.planned_machine import AtOnce
from tests.fake_hub.server import FakeHub

TOKEN = "hf_enteredTokenOfTheTests0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_alone(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def stage(server: FakeHub, tmp_path: Path, qtbot: QtBot) -> HubStage:
    return HubStage(server, tmp_path, lambda _name: AtOnce())


def authorizations(server: FakeHub) -> list[str | None]:
    return [seen.headers.get("authorization", seen.headers.get("Authorization")) for seen in server.seen]


def test_entered_token_is_kept_and_asked_with(stage: HubStage, server: FakeHub) -> None:
    server.add(gguf_repo("o/m-GGUF", SMALL))
    sources: list[object] = []
    stage.token.found.connect(sources.append)
    stage.token.look()
    stage.token.save(TOKEN)
    assert sources == [None, TokenSource.FILE]
    stage.search.find_versions("o/m-GGUF")
    assert set(authorizations(server)) == {f"Bearer {TOKEN}"}


def test_forgotten_token_is_asked_with_no_more(stage: HubStage, server: FakeHub) -> None:
    sources: list[object] = []
    stage.token.save(TOKEN)
    stage.token.found.connect(sources.append)
    stage.token.delete()
    assert sources == [None]
    stage.search.find_versions("o/m-GGUF")
    assert set(authorizations(server)) == {None}


def test_what_is_no_token_is_told_and_not_kept(stage: HubStage) -> None:
    problems: list[object] = []
    stage.token.failed.connect(problems.append)
    stage.token.save("two words")
    assert len(problems) == 1
    assert "two words" not in str(problems[0])
    assert stage.tokens.find() is None


def test_rejected_token_can_be_left_out(stage: HubStage, server: FakeHub) -> None:
    server.add(gguf_repo("o/m-GGUF", SMALL))
    stage.token.save(TOKEN)
    server.faults.refuses_tokens = True
    found: list[object] = []
    stage.search.found.connect(found.append)
    stage.search.find_versions("o/m-GGUF")
    assert found == []
    stage.access.leave_token_out()
    stage.search.again()
    assert len(found) == 1
