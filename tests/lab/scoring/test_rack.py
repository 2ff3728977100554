"""A rack whose cooling fails: its hosts are named as what they are."""

import pytest

from rankscope.lab.scoring import matching, running
from rankscope.lab.simulator import recording, scenarios


@pytest.fixture(scope="module")
def made():
    return recording.simulate(scenarios.named("rack_cooling"), 5)


@pytest.fixture(scope="module")
def played(made):
    run = running.RecordingRun()
    run.play(made)
    return run


def test_every_host_of_the_rack_names_the_fault(made):
    truth = running.truth_of(made)
    assert truth is not None
    assert {truth.entity.host, *(entity.host for entity in truth.accepted)} == hosts(made)


def test_a_rack_is_one_incident_that_names_one_of_its_hosts(made, played):
    truth = running.truth_of(made)
    outcome = matching.outcome(truth, list(played.seen.values()), step_seconds=1.0)
    assert outcome.found is not None
    assert (True, True) == (outcome.right_cause, outcome.exact_entity)
    assert ((), (), ()) == (outcome.duplicates, outcome.false, outcome.wrong_accusations)


def hosts(made):
    """Return the names of the hosts behind the leaf switch of the fault."""
    ranks = {rank for entity in (made.truth.entity, *made.truth.accepted) for rank in entity.ranks}
    assert 2 * made.scenario.cluster.slots == len(ranks)
    switch = int(made.truth.entity.host.removeprefix("gpu-")) // 2
    return {f"gpu-{2 * switch:02d}", f"gpu-{2 * switch + 1:02d}"}
