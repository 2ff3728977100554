"""Every fault of the training side can be injected, in any strength, where its job permits it."""

import dataclasses

import numpy as np
import pytest
from tests.examples import LONG
from tests.lab import vocabulary

from rankscope.lab.simulator import faults, recording
from rankscope.lab.simulator.faults import training
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    ScenarioError,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary import faults as fault_ids
from rankscope.vocabulary.ids import Fault

OF_MACHINES = ("gpu.", "network.", "host.")
"""Beginnings of the ids that faults of machines have; memory.host_oom is on both sides."""

SHAPES = {
    "sixteen ranks": SimulationScenario(
        "a",
        "",
        100.0,
        SimulatedCluster(hosts=4, slots=4),
        (SimulatedJob(compile_seconds=1.0),),
        ReportingHabits(),
    ),
    "three-dimensional, sparse reports": SimulationScenario(
        "b",
        "",
        200.0,
        SimulatedCluster(hosts=4, slots=4),
        (SimulatedJob(tp=2, pp=2, step_seconds=2.0, checkpoint_every=20, restarts=(110.0,)),),
        ReportingHabits(push=10.0, rank=10.0, node=10.0, launch_counts=True, stacks=True),
    ),
    "two ranks": SimulationScenario(
        "c",
        "",
        80.0,
        SimulatedCluster(hosts=1, slots=2),
        (SimulatedJob(loss_scope="global"),),
        ReportingHabits(),
    ),
}
NEEDS_MORE = {"sequence_length", "gc_pause", "replica_divergence"}
"""Faults that two ranks cannot have."""


def injected(kind, shape, strength, seed=3):
    random = np.random.default_rng([seed, 1])
    return faults.inject(kind, SHAPES[shape], random, strength=strength)


SOME = 4
"""One kind in so many is tried in all shapes and weak each time, every kind in the long target."""


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        pytest.param(
            kind,
            shape,
            marks=[pytest.mark.long] if number % SOME and shape != "sixteen ranks" else [],
        )
        for number, kind in enumerate(training.FAULTS)
        for shape in SHAPES
    ],
)
def test_a_fault_can_be_injected_and_points_at_something_that_the_contract_allows(kind, shape):
    if shape == "two ranks" and kind in NEEDS_MORE:
        with pytest.raises(ScenarioError):
            injected(kind, shape, "plain")
        return
    both = shape == "sixteen ranks" and (LONG or [*training.FAULTS].index(kind) % SOME == 0)
    for strength in ("plain", "weak") if both else ("plain",):
        found = recording.simulate(injected(kind, shape, strength), 3)
        assert found.truth is not None
        assert found.truth.fault == training.FAULTS[kind].id
        contract = fault_ids.catalogue()[Fault(found.truth.fault)]
        assert found.truth.entity.type in contract.entities
        assert found.truth.entity.ranks
        assert 0 <= found.truth.onset - EPOCH < SHAPES[shape].seconds
        vocabulary.hold_to_it(found)


@pytest.mark.parametrize(
    "kind",
    ["expert", *(pytest.param(k, marks=pytest.mark.long)
                 for k in ("gpu_leak", "deadlock", "bad_resume"))],
)  # fmt: skip
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(kind):
    def lines(seed):
        scenario = dataclasses.replace(injected(kind, "sixteen ranks", "plain", seed), seconds=90.0)
        return list(recording.simulate(scenario, seed).lines())

    first = lines(3)
    assert first == lines(3)
    assert first != lines(4)


def test_every_fault_id_of_the_training_side_has_a_fault():
    wanted = {name for name in fault_ids.catalogue() if not name.startswith(OF_MACHINES)}
    assert wanted == {kind.id for kind in training.FAULTS.values()}


@pytest.mark.parametrize("kind", training.FAULTS)
def test_a_fault_says_how_strong_it_is_drawn(kind):
    settings = injected(kind, "sixteen ranks", "weak").fault
    fields = {field.name for field in dataclasses.fields(training.FAULTS[kind])}
    assert set(settings) - {"kind"} <= fields


def test_nothing_is_said_of_a_fault_before_it_acts():
    """Until the onset a recording with a fault equals the one of its job without it."""
    scenario = injected("job_slowdown", "sixteen ranks", "plain")
    broken = recording.simulate(scenario, 3)
    sound = recording.simulate(dataclasses.replace(scenario, fault=None), 3)
    onset = scenario.fault["onset"]
    for metric in ("training.compute.duration", "training.loss"):
        for one, other in zip(
            (row for row in broken.series if row.metric == metric),
            (row for row in sound.series if row.metric == metric),
            strict=True,
        ):
            # The place of a fault is drawn, too, so the lottery of devices is another one.
            early = one.at < onset
            assert one.attributes == other.attributes
            assert np.median(one.value[early]) == pytest.approx(
                np.median(other.value[: early.sum()]), rel=0.1
            )
