"""Which of the curated models are proposed on which machine."""

from __future__ import annotations

import dataclasses

import pytest

from app.data.catalogue import read_catalogue
from app.data.proposals import COMFORTABLE_TPS, MOST, Proposal, Reason, proposals
from engine.memory import planner
from engine.memory.hardware import Device, Hardware
from engine.memory.memory_plan import Verdict, Wishes
from tests.app.planned_machine import GIB, card, cpu, machine


def here(hardware: Hardware) -> tuple[Proposal, ...]:
    return proposals(read_catalogue(), lambda facts: planner.plan(facts, hardware, Wishes()))


def computer(total: int, free: int, *cards: Device, bandwidth: float = 40e9) -> Hardware:
    processor = cpu(free * GIB, total=total * GIB, others=(total - free) * GIB - GIB)
    return machine(dataclasses.replace(processor, bandwidth=bandwidth), *cards)


MACHINES = {
    "4 GB": computer(4, 2),
    "8 GB": computer(8, 5),
    "16 GB": computer(16, 12),
    "64 GB": computer(64, 56),
    "16 GB and a card of 8 GB": computer(16, 12, card(7 * GIB)),
    "32 GB and a card of 24 GB": computer(32, 26, card(23 * GIB, 24 * GIB)),
}


@pytest.mark.parametrize("hardware", MACHINES.values(), ids=MACHINES)
def test_everything_proposed_fits(hardware: Hardware) -> None:
    found = here(hardware)
    assert 1 <= len(found) <= MOST
    assert all(proposal.plan.fits for proposal in found)
    assert len({proposal.model.repo_id for proposal in found}) == len(found)


@pytest.mark.parametrize("hardware", MACHINES.values(), ids=MACHINES)
def test_first_one_is_the_most_capable_that_is_fast(hardware: Hardware) -> None:
    first, *others = here(hardware)
    assert first.reason is Reason.MOST_CAPABLE
    assert first.plan.predicted_tps is not None
    assert first.plan.predicted_tps >= COMFORTABLE_TPS
    for other in others:
        is_lighter = other.model.position < first.model.position
        assert (other.reason is Reason.LIGHTER) is is_lighter


def test_larger_machine_is_proposed_a_larger_model() -> None:
    sizes = [here(MACHINES[name])[0].model.size for name in ("4 GB", "8 GB", "16 GB", "64 GB")]
    assert sizes == sorted(set(sizes))


def test_slow_memory_makes_the_larger_ones_slower_and_says_so() -> None:
    found = here(computer(16, 12, bandwidth=15e9))
    slower = [proposal for proposal in found if proposal.reason is Reason.SLOWER]
    assert len(slower) == 1
    assert slower[0].plan.predicted_tps is not None
    assert slower[0].plan.predicted_tps < COMFORTABLE_TPS


def test_machine_without_room_is_proposed_nothing() -> None:
    assert here(computer(2, 0)) == ()


def test_tight_model_is_called_so() -> None:
    for proposal in here(computer(4, 2)):
        assert (proposal.reason is Reason.TIGHT) is (proposal.plan.verdict is Verdict.TIGHT)


@pytest.mark.parametrize("hardware", MACHINES.values(), ids=MACHINES)
def test_lighter_ones_are_smaller_and_faster(hardware: Hardware) -> None:
    first, *others = here(hardware)
    for other in others:
        if other.reason is Reason.LIGHTER:
            assert other.model.size < first.model.size
            assert (other.plan.predicted_tps or 0) > (first.plan.predicted_tps or 0)


def test_while_no_speed_is_known_the_smallest_come_first_and_none_is_praised() -> None:
    hardware = computer(64, 56)
    unmeasured = tuple(dataclasses.replace(device, bandwidth=None) for device in hardware.devices)
    found = here(dataclasses.replace(hardware, devices=unmeasured))
    assert [proposal.reason for proposal in found] == [Reason.SPEED_UNKNOWN] * MOST
    sizes = [proposal.model.size for proposal in found]
    assert sizes == sorted(sizes)
