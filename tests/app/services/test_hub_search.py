"""Searching the Hub while somebody types: nothing unasked, the newest alone, page after page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.services.hub_problem import HubProblem
from app.services.hub_search import ALL_FORMATS, PAGE, FoundPage, HubSearch
from app.views.hub_words import repo_facts
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import Sort, WeightsFormat
from tests.app.hub_stage import SMALL, HubStage, gguf_repo, hub_alone
from tests.app.planned_machine import AtOnce
from tests.fake_hub.content import HubFile, HubRepo
from tests.fake_hub.server import FakeHub


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_alone(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def stage(server: FakeHub, tmp_path: Path, qtbot: QtBot) -> Iterator[HubStage]:
    stage = HubStage(server, tmp_path)
    yield stage
    stage.close()


def many(server: FakeHub, count: int, name: str = "model") -> None:
    for number in range(count):
        server.add(gguf_repo(f"o/{name}-{number:03}-GGUF", SMALL, downloads=count - number, likes=number))


def found_by(qtbot: QtBot, search: HubSearch, act: Callable[[], None]) -> FoundPage:
    with qtbot.waitSignal(search.found, timeout=20_000) as signal:
        act()
    page: FoundPage = signal.args[0]
    return page


def hurried(search: HubSearch, text: str, sort: Sort = Sort.DOWNLOADS) -> Callable[[], None]:
    def act() -> None:
        search.find(text, sort)
        search.hurry()

    return act


def test_nothing_is_asked_before_somebody_types(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    stage.search.find("   ", Sort.DOWNLOADS)
    stage.search.more()
    qtbot.wait(450)
    assert server.seen == []


def test_letters_typed_in_a_row_are_one_question(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    many(server, 3)

    def type_it() -> None:
        for end in range(1, 6):
            stage.search.find("model"[:end], Sort.DOWNLOADS)

    page = found_by(qtbot, stage.search, type_it)
    assert page.question.text == "model"
    assert len(server.seen) == 1


def test_pages_follow_each_other_in_the_hubs_order(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    many(server, PAGE + 30)
    first = found_by(qtbot, stage.search, hurried(stage.search, "model"))
    assert (first.is_first, first.has_more, len(first.repos)) == (True, True, PAGE)
    second = found_by(qtbot, stage.search, stage.search.more)
    assert (second.is_first, second.has_more, len(second.repos)) == (False, False, 30)
    assert [repo.repo_id for repo in (*first.repos, *second.repos)] == list(server.repos)
    stage.search.more()
    qtbot.wait(50)
    assert len(server.seen) == 2


def test_order_of_likes(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    many(server, 3)
    page = found_by(qtbot, stage.search, hurried(stage.search, "model", Sort.LIKES))
    assert page.repos[0].repo_id == "o/model-002-GGUF"


def test_address_of_a_page_is_searched_by_its_repository(
    qtbot: QtBot, stage: HubStage, server: FakeHub
) -> None:
    many(server, 3)
    address = "https://huggingface.co/o/model-001-GGUF/tree/main"
    page = found_by(qtbot, stage.search, hurried(stage.search, address))
    assert [repo.repo_id for repo in page.repos] == ["o/model-001-GGUF"]


def test_other_formats_are_found_only_when_wanted(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    server.add(HubRepo("o/model-AWQ", {"model.safetensors": HubFile(b"x")}, tags=["safetensors", "awq"]))
    assert found_by(qtbot, stage.search, hurried(stage.search, "model")).repos == ()
    stage.search.find("model", Sort.DOWNLOADS, ALL_FORMATS)
    page = found_by(qtbot, stage.search, stage.search.hurry)
    assert [repo.weights_format for repo in page.repos] == [WeightsFormat.AWQ]
    assert repo_facts(page.repos[0])[0] == "AWQ"


def test_gguf_versions_of_another_format(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    server.add(HubRepo("o/model-AWQ", {"model.safetensors": HubFile(b"x")}, tags=["safetensors", "awq"]))
    server.add(gguf_repo("p/model-GGUF", SMALL, tags=["gguf", "base_model:quantized:o/model-AWQ"]))
    page = found_by(qtbot, stage.search, lambda: stage.search.find_versions("o/model-AWQ"))
    assert [repo.repo_id for repo in page.repos] == ["p/model-GGUF"]


def test_without_a_connection_says_so_and_tries_again(qtbot: QtBot, stage: HubStage, server: FakeHub) -> None:
    many(server, 2)
    server.faults.api_status = 503
    with qtbot.waitSignal(stage.search.failed, timeout=20_000) as signal:
        hurried(stage.search, "model")()
    problem, is_first = signal.args
    assert isinstance(problem, HubProblem)
    assert is_first
    assert problem.remedies == (Remedy.TRY_AGAIN,)
    server.faults.api_status = None
    assert len(found_by(qtbot, stage.search, stage.search.again).repos) == 2


def test_of_two_searches_only_the_newer_one_is_answered(
    server: FakeHub, tmp_path: Path, qtbot: QtBot
) -> None:
    many(server, 2, "old")
    many(server, 2, "new")
    runners: list[AtOnce] = []

    def make_runner(_name: str) -> AtOnce:
        runners.append(AtOnce())
        runners[-1].holds = True
        return runners[-1]

    stage = HubStage(server, tmp_path, make_runner)
    pages: list[FoundPage] = []
    stage.search.found.connect(pages.append)
    hurried(stage.search, "old")()
    hurried(stage.search, "new")()
    for runner in reversed(runners):  # the newer answer comes first
        runner.go()
    assert [page.question.text for page in pages] == ["new"]
    assert len(server.seen) == 1, "the older one was taken back before it was asked"
    stage.close()
