"""Simulated results of checks: bad where the fault is, as often as the table says, else a pass."""

import dataclasses

from bench.settled.simulated import SimulatedChecks
from rankscope.lab.scoring.seen import CaseTruth
from rankscope.vocabulary import entities
from rankscope.vocabulary.checks import CheckedCause, runnable
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Fault, Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement

TOPOLOGY = JobTopology(
    Job("run-1"),
    placements=[
        RankPlacement(rank=rank, host=f"gpu-{rank // 2}", local_rank=rank % 2, hw_id=f"GPU-{rank}")
        for rank in range(4)
    ],
)


def rates(check, found, unlike=1e-9):
    """Return a check that shows its causes so often."""
    causes = tuple(CheckedCause(cause.fault, found) for cause in check.causes)
    return dataclasses.replace(check, causes=causes, unlike=unlike)


SURE, BLIND = 1 - 1e-9, 1e-9
MATMUL = rates(runnable()["matmul"], SURE)


def verdicts(check, host, fault, entity: Entity):
    """Return the verdicts of a check at a host, by device."""
    truth = CaseTruth(Fault(fault), entity, "run-1", 0.0)
    events = SimulatedChecks([truth], TOPOLOGY, "a seed").events(check, host, 5.0)
    assert {host} == {event.resource.host for event in events}
    return {event.attributes["device"]: event.attributes["verdict"] for event in events}


def test_the_faulty_device_is_slow_and_its_neighbour_passes():
    slow = entities.gpu("GPU-3", "gpu-1", (3,))
    assert {"GPU 0": "pass", "GPU 1": "slow"} == verdicts(MATMUL, "gpu-1", "gpu.slow", slow)
    assert {"GPU 0": "pass", "GPU 1": "pass"} == verdicts(MATMUL, "gpu-0", "gpu.slow", slow)


def test_a_check_whose_subject_is_not_the_fault_passes():
    slow = entities.gpu("GPU-3", "gpu-1", (3,))
    cpu = rates(runnable()["cpu"], SURE)
    assert {"pass"} == set(verdicts(cpu, "gpu-1", "gpu.slow", slow).values())


def test_what_a_check_does_not_see_passes():
    slow = entities.gpu("GPU-3", "gpu-1", (3,))
    blind = rates(runnable()["matmul"], BLIND)
    assert {"pass"} == set(verdicts(blind, "gpu-1", "gpu.slow", slow).values())


def test_one_healthy_device_is_called_slow_by_a_false_alarm():
    alarm = rates(runnable()["matmul"], SURE, unlike=SURE)
    found = verdicts(alarm, "gpu-0", "gpu.slow", entities.gpu("GPU-3", "gpu-1", (3,)))
    assert ["pass", "slow"] == sorted(found.values())


def test_a_fault_at_no_host_shows_at_every_one():
    saving = rates(runnable()["stack_saving"], SURE)
    job = entities.job("run-1")
    for host in ("gpu-0", "gpu-1"):
        assert "slow" in verdicts(saving, host, "software.checkpoint_stall", job).values()


def test_a_fault_that_is_over_or_that_a_check_cannot_see_is_not_found():
    slow = CaseTruth(Fault("gpu.slow"), entities.gpu("GPU-3", "gpu-1", (3,)), "run-1", 0.0, 4.0)
    lasting = dataclasses.replace(slow, until=9.0)
    unseen = SimulatedChecks([lasting], TOPOLOGY, "a seed", lambda _check: 0.0)
    for simulated, bad in (
        (SimulatedChecks([slow], TOPOLOGY, "a seed"), False),
        (SimulatedChecks([lasting], TOPOLOGY, "a seed"), True),
        (unseen, False),
    ):
        events = simulated.events(MATMUL, "gpu-1", 5.0)
        assert bad == ("slow" in {event.attributes["verdict"] for event in events})
