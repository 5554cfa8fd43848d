"""A repository that is opened: its files, and how each fits, from as few headers as possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.services.hub_fits import MOST_HEADERS, RemoteFit
from app.services.hub_problem import HubProblem
from engine.hub.hub_errors import Remedy
from engine.hub.hub_values import RepoDetails
from engine.memory.memory_plan import Verdict
from tests.app.hub_stage import QUANTIZATIONS, HubStage, gguf_repo, hub_alone, model_file
from tests.app.planned_machine import GIB, MIB
from tests.fake_hub.content import HubFile
from tests.fake_hub.server import FakeHub

REPO = "o/model-GGUF"
# 30 layers of 3 KV heads of 64 numbers, keys and values, 2 bytes each
KV_BYTES = 8192 * 30 * 3 * 64 * 2 * 2


@pytest.fixture(scope="module")
def model() -> HubFile:
    return model_file()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_alone(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def stage(server: FakeHub, tmp_path: Path, qtbot: QtBot) -> Iterator[HubStage]:
    stage = HubStage(server, tmp_path)
    yield stage
    stage.close()


class Told:
    """What the service says, until all files of the repository are known."""

    def __init__(self, stage: HubStage) -> None:
        self.details: RepoDetails | None = None
        self.problem: HubProblem | None = None
        self.fits: dict[str, RemoteFit] = {}
        stage.repository.opened.connect(self._on_opened)
        stage.repository.fitted.connect(lambda _repo, fits: self.fits.update(fits))
        stage.repository.failed.connect(self._on_failed)

    def _on_opened(self, details: RepoDetails) -> None:
        self.details = details

    def _on_failed(self, _repo: str, problem: HubProblem) -> None:
        self.problem = problem

    @property
    def is_done(self) -> bool:
        models = [model for model in self.details.models if not model.missing] if self.details else ()
        return self.problem is not None or (self.details is not None and len(self.fits) >= len(models))


def opened(qtbot: QtBot, stage: HubStage, repo_id: str = REPO) -> Told:
    told = Told(stage)
    stage.repository.open(repo_id)
    qtbot.waitUntil(lambda: told.is_done, timeout=20_000)
    return told


def headers_read(server: FakeHub) -> int:
    """Each file whose bytes were sent by the storage."""
    return len({seen.path.partition("?")[0] for seen in server.seen if seen.path.startswith("/storage/")})


def test_one_header_tells_all_quantizations(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    told = opened(qtbot, stage)
    assert len(told.fits) == len(QUANTIZATIONS)
    assert headers_read(server) == 1
    for fit in told.fits.values():
        assert fit.plan is not None
        assert fit.plan.verdict is Verdict.FITS
        assert fit.kv_bytes == KV_BYTES


def test_header_is_read_once_for_each_commit(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    repo = server.add(gguf_repo(REPO, model))
    opened(qtbot, stage)
    server.seen.clear()
    opened(qtbot, stage)
    assert headers_read(server) == 0
    repo.commit = "f" * 40
    opened(qtbot, stage)
    assert headers_read(server) == 1


def test_memory_of_now_decides(qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile) -> None:
    server.add(gguf_repo(REPO, model))
    stage.bench.shrink_ram(300 * MIB)
    (fit, *_) = opened(qtbot, stage).fits.values()
    assert fit.plan is not None
    assert fit.plan.verdict is Verdict.DOES_NOT_FIT
    stage.bench.shrink_ram(8 * GIB)
    (fit, *_) = opened(qtbot, stage).fits.values()
    assert fit.plan is not None
    assert fit.plan.verdict is Verdict.FITS


def test_different_models_of_one_repository_cost_a_header_each_up_to_a_bound(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    files = [f"model{number}-Q4_K_M.gguf" for number in range(MOST_HEADERS + 2)]
    server.add(gguf_repo(REPO, model, files))
    told = opened(qtbot, stage)
    assert headers_read(server) == MOST_HEADERS
    assert sum(fit.plan is None for fit in told.fits.values()) == 2


def test_damaged_file_is_told_apart_from_the_others(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    repo = server.add(gguf_repo(REPO, model, ["good-Q8_0.gguf", "bad-Q4_K_M.gguf"]))
    repo.files["bad-Q4_K_M.gguf"] = HubFile(b"<!DOCTYPE html>" * 100)
    told = opened(qtbot, stage)
    assert "bad-Q4_K_M.gguf" in told.fits[f"{REPO}/bad-Q4_K_M.gguf"].fault
    assert told.fits[f"{REPO}/good-Q8_0.gguf"].plan is not None


def test_gated_repository_has_files_but_no_verdicts(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, gated="manual"))
    told = opened(qtbot, stage)
    problems = {fit.problem for fit in told.fits.values()}
    assert len(problems) == 1
    (problem,) = problems
    assert problem is not None
    assert problem.remedies == (Remedy.ACCEPT_TERMS, Remedy.ENTER_TOKEN)
    assert problem.url == f"{server.endpoint}/{REPO}"
    assert len([seen for seen in server.seen if "/resolve/" in seen.path]) == 1


def test_unknown_repository_is_told(qtbot: QtBot, stage: HubStage) -> None:
    told = opened(qtbot, stage, "o/nothing")
    assert told.problem is not None
    assert "o/nothing" in told.problem.sentence


def test_repository_that_was_left_is_not_told_of(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model))
    server.add(gguf_repo("o/other-GGUF", model))
    server.faults.api_delay_s = 0.3
    told = Told(stage)
    stage.repository.open(REPO)
    stage.repository.open("o/other-GGUF")
    qtbot.waitUntil(lambda: told.is_done, timeout=20_000)
    assert told.details is not None
    assert told.details.summary.repo_id == "o/other-GGUF"
    assert all(name.startswith("o/other-GGUF/") for name in told.fits)


def test_name_that_no_file_can_have_costs_only_its_own_verdict(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    server.add(gguf_repo(REPO, model, ["../../evil-Q4_K_M.gguf", "good-Q8_0.gguf"]))
    told = opened(qtbot, stage)
    assert "cannot be a file name" in told.fits[f"{REPO}/../../evil-Q4_K_M.gguf"].fault
    assert told.fits[f"{REPO}/good-Q8_0.gguf"].plan is not None
    assert not [seen for seen in server.seen if "evil" in seen.path]


def test_file_that_is_gone_costs_only_its_own_verdict(
    qtbot: QtBot, stage: HubStage, server: FakeHub, model: HubFile
) -> None:
    repo = server.add(gguf_repo(REPO, model, ["gone-Q4_K_M.gguf", "good-Q8_0.gguf"]))
    told = Told(stage)
    stage.repository.opened.connect(lambda _details: repo.files.pop("gone-Q4_K_M.gguf"))
    stage.repository.open(REPO)
    qtbot.waitUntil(lambda: told.is_done, timeout=20_000)
    assert "no such file" in told.fits[f"{REPO}/gone-Q4_K_M.gguf"].fault
    assert told.fits[f"{REPO}/good-Q8_0.gguf"].plan is not None
