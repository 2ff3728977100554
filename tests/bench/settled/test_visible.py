"""Which simulated faults a check can see at all."""

import dataclasses

import pytest

from bench.settled import visible
from rankscope.lab.simulator.shape import (
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary.checks import runnable

JOB = SimulatedJob(step_seconds=1.0, checkpoint_every=40, checkpoint_seconds=3.0)
PLAIN = SimulationScenario("plain", "", 300.0, SimulatedCluster(slots=8), (JOB,), ReportingHabits())


@pytest.mark.parametrize(
    ("check", "fault", "expected"),
    [
        ("device_lanes", {"kind": "pcie_degraded", "lanes": 0.5}, 1.0),
        ("device_lanes", {"kind": "pcie_degraded", "lanes": 1.0, "generations": 1}, 0.0),
        ("stack_gathering", {"kind": "rank0_gather", "seconds": 0.5}, 1.0),
        ("stack_gathering", {"kind": "rank0_gather", "seconds": 0.04}, 0.0),
        ("stack_loading", {"kind": "dataloader_slow", "seconds": 0.5, "scope": "host"}, 0.0),
        ("stack_fetching", {"kind": "dataloader_slow", "seconds": 0.5, "scope": "host"}, 1.0),
        ("stack_collecting", {"kind": "gc_pause", "seconds": 0.3, "chance": 0.2}, 1.0),
        ("stack_collecting", {"kind": "gc_pause", "seconds": 0.08, "chance": 0.1}, 0.0),
        ("stack_saving", {"kind": "checkpoint_stall", "factor": 1.6}, 0.0),
        ("matmul", {"kind": "slow_gpu"}, 1.0),
    ],
)
def test_it_goes_by_what_the_fault_does(check, fault, expected):
    scenario = dataclasses.replace(PLAIN, fault=fault)
    assert expected == visible.share(runnable()[check], scenario)


def test_a_long_checkpoint_is_met_as_often_as_it_falls_into_the_time_that_is_watched():
    fault = {"kind": "checkpoint_stall", "factor": 7.0}
    found = visible.share(runnable()["stack_saving"], dataclasses.replace(PLAIN, fault=fault))
    assert found == pytest.approx((48 + 21 - 2 * 0.15 * 48) / (40 + 21))
