"""Proposals on a machine whose speed nobody knows yet: it is measured first, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.data.proposals import COMFORTABLE_TPS, Proposal, Reason
from engine.memory.bandwidth import CPUBandwidth
from tests.app.hub_stage import HubStage, hub_alone
from tests.app.planned_machine import GIB, AtOnce, cpu, machine
from tests.fake_hub.server import FakeHub


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with hub_alone(monkeypatch, tmp_path) as running:
        yield running


@pytest.fixture
def stage(server: FakeHub, tmp_path: Path, qtbot: QtBot) -> HubStage:
    stage = HubStage(server, tmp_path, lambda _name: AtOnce())
    stage.bench.hardware = machine(replace(cpu(24 * GIB, 30 * GIB), bandwidth=None))
    return stage


def proposed(stage: HubStage) -> tuple[Proposal, ...]:
    told: list[tuple[Proposal, ...]] = []
    stage.proposals.proposed.connect(told.append)
    stage.proposals.propose()
    stage.proposals.proposed.disconnect(told.append)
    (found,) = told
    return found


def test_machine_is_measured_before_anything_is_proposed(stage: HubStage) -> None:
    stage.bench.bandwidth = CPUBandwidth(10e9, 12e9)
    first, *others = proposed(stage)
    assert stage.bench.measured == 1
    assert first.reason is Reason.MOST_CAPABLE
    assert first.plan.predicted_tps is not None
    assert first.plan.predicted_tps >= COMFORTABLE_TPS
    assert all(other.plan.predicted_tps for other in others)


def test_what_was_measured_is_kept_and_the_same_is_proposed_again(stage: HubStage) -> None:
    stage.bench.bandwidth = CPUBandwidth(10e9, 12e9)
    before = proposed(stage)
    assert proposed(stage) == before
    assert stage.bench.measured == 1
    stored = stage.bench.sources().bandwidths.stored(stage.bench.hardware)
    assert stored is not None
    assert stored.best == 12e9


def test_machine_that_cannot_be_measured_is_asked_once_and_offered_small_models(stage: HubStage) -> None:
    found = proposed(stage)
    assert proposed(stage) == found
    assert stage.bench.measured == 1
    assert {proposal.reason for proposal in found} == {Reason.SPEED_UNKNOWN}
    sizes = [proposal.model.size for proposal in found]
    assert sizes == sorted(sizes)
    assert sizes[0] < GIB
