"""What the parts of the page of models tell each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.views.discover_page import DiscoverPage
from app.views.proposal_row import ProposalRow
from app.views.proposals_view import ProposalsView
from app.window import Weir
from engine.download import queue_client
from engine.download.download_values import DownloadState, DownloadStatus
from engine.hub.hub_errors import Remedy
from tests.app.conftest import settle
from tests.app.download_stage import ScriptedQueue, remote
from tests.app.planned_machine import GIB, Bench, cpu, machine
from tests.app.scripted_engine import ScriptedEngine


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> ScriptedQueue:
    queue = ScriptedQueue()
    monkeypatch.setattr(queue_client, "QueueClient", lambda *_values, **_named: queue)
    return queue


@pytest.fixture
def weir(
    qtbot: QtBot, home: Path, engine: ScriptedEngine, bench: Bench, queue: ScriptedQueue
) -> Iterator[Weir]:
    weir = Weir(engine, Path(bench.model("starter")), bench.sources())
    qtbot.addWidget(weir.window)
    weir.show()
    settle()
    yield weir
    weir.window.close()
    settle()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (DownloadStatus.RUNNING, "Downloading"),
        (DownloadStatus.FAILED, "Try again"),
        (DownloadStatus.CANCELLED, "Download"),
    ],
)
def test_proposal_says_how_its_download_goes(
    weir: Weir, queue: ScriptedQueue, status: DownloadStatus, words: str
) -> None:
    page, row = _discover(weir)
    entry = row.proposal.model
    model = replace(remote(), repo_id=entry.repo_id, parts=(replace(remote().parts[0], path=entry.file),))
    queue.listed = (DownloadState(model, status),)
    page.download_requested.emit(model)
    settle()
    assert row.button.text() == words


def test_first_proposals_say_how_their_download_goes(weir: Weir, queue: ScriptedQueue) -> None:
    weir.pages.models.propose()
    settle()
    view = weir.window.empty.findChild(ProposalsView)
    assert view is not None
    entry = view.rows[0].proposal.model
    model = replace(remote(), repo_id=entry.repo_id, parts=(replace(remote().parts[0], path=entry.file),))
    queue.listed = (DownloadState(model, DownloadStatus.RUNNING),)
    view.download_requested.emit(model)
    settle()
    assert view.rows[0].button.text() == "Downloading"


def test_token_that_a_first_proposal_needs_can_be_entered(weir: Weir) -> None:
    weir.pages.models.propose()
    settle()
    view = weir.window.empty.findChild(ProposalsView)
    assert view is not None
    view.remedy_chosen.emit(Remedy.ENTER_TOKEN, "")
    page = weir.pages.models.page.findChild(DiscoverPage)
    assert weir.window.pages.currentWidget() is weir.pages.models.page
    assert page is not None and not page.sheet.isHidden()


def test_proposals_are_counted_anew_once_the_machine_was_measured(weir: Weir, bench: Bench) -> None:
    page, row = _discover(weir)
    before = row.reason.text()
    bench.hardware = machine(replace(cpu(10 * GIB), bandwidth=9e9))
    assert weir.calibrations is not None
    weir.calibrations.measured.emit()
    settle()
    assert page.proposals.rows[0].reason.text() != before


def test_models_that_are_dropped_go_to_the_library_and_other_files_with_the_message(
    weir: Weir, bench: Bench, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("A river.")
    weir.window.files_dropped.emit([bench.model("dropped"), str(text)])
    settle()
    models = weir.pages.models
    assert weir.window.pages.currentWidget() is models.page
    assert "dropped" in models.library.page.question.text.text()
    assert weir.open is not None
    (attached,) = weir.open.attachments.of_chat(weir.open.controller.open_chat_id)
    assert attached.name == "notes.txt"


def _discover(weir: Weir) -> tuple[DiscoverPage, ProposalRow]:
    models = weir.pages.models.page
    weir.pages.open_models()
    models.tabs.setCurrentIndex(1)
    settle()
    page = models.findChild(DiscoverPage)
    assert page is not None
    return page, page.proposals.rows[0]
