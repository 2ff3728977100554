"""The faults of training values: each is the first cause of what shows it, and of nothing else."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes import engine

OF_THE_JOB = {
    "job.loss_spike": "numerics.loss_spike",
    "job.loss_diverged": "numerics.divergence",
    "job.loss_plateau": "numerics.plateau",
    "job.gradient_exploded": "numerics.gradient_explosion",
    "job.gradient_vanished": "numerics.gradient_vanishing",
    "job.loss_high_after_resume": "numerics.bad_resume",
}


@pytest.fixture
def first(topology):
    """Return a function that explains findings: (fault, entity) of the first cause."""

    def explain(*findings):
        cause = engine.explain(findings, topology, observed=EVERYTHING)
        return cause.hypotheses[0].fault, cause.hypotheses[0].entity.id

    return explain


@pytest.mark.parametrize(("symptom", "fault"), OF_THE_JOB.items(), ids=OF_THE_JOB)
def test_each_symptom_of_the_job_alone_has_its_fault(first, found, topology, symptom, fault):
    assert (fault, "run-1") == first(found(symptom, topology.job_entity))


def test_a_loss_that_follows_an_explosion_is_the_explosions(first, found, topology):
    job = topology.job_entity
    assert "numerics.gradient_explosion" == first(
        found("job.gradient_exploded", job), found("job.loss_diverged", job)
    )[0]  # fmt: skip


def test_a_loss_that_never_came_back_after_a_resume_is_the_resumes(first, found, topology):
    job = topology.job_entity
    assert "numerics.bad_resume" == first(
        found("job.loss_high_after_resume", job), found("job.loss_diverged", job)
    )[0]  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        ("rank.value_offset", ("gpu.silent_corruption", "GPU-2")),
        ("rank.value_drift", ("numerics.replica_divergence", "2")),
        ("rank.replica_differs", ("numerics.replica_divergence", "2")),
    ],
)
def test_values_that_differ_are_placed_by_how_they_do(first, found, topology, evidence, cause):
    symptom = found("job.values_differ", topology.job_entity, ranks=[2])
    assert cause == first(symptom, found(evidence, topology.rank_entity(2)))


def test_an_offset_is_second_of_a_replica_whose_weights_changed_at_once(found, topology):
    symptom = found("job.values_differ", topology.job_entity, ranks=[2])
    offset = found("rank.value_offset", topology.rank_entity(2))
    cause = engine.explain([symptom, offset], topology, observed=EVERYTHING)
    faults = [hypothesis.fault for hypothesis in cause.hypotheses]
    assert ["gpu.silent_corruption", "numerics.replica_divergence"] == faults[:2]


def test_values_that_are_off_are_a_devices_first_and_a_replicas_second(found, topology):
    symptom = found("job.values_differ", topology.job_entity, ranks=[2])
    off = found("rank.value_off", topology.rank_entity(2))
    cause = engine.explain([symptom, off], topology, observed=EVERYTHING)
    faults = [hypothesis.fault for hypothesis in cause.hypotheses]
    assert ["gpu.silent_corruption", "numerics.replica_divergence"] == faults[:2]


def test_an_offset_that_turned_out_to_grow_is_a_replicas(first, found, topology):
    symptom = found("job.values_differ", topology.job_entity, ranks=[2])
    early = found("rank.value_offset", topology.rank_entity(2))
    later = found("rank.value_drift", topology.rank_entity(2))
    assert ("numerics.replica_divergence", "2") == first(symptom, early, later)


def test_values_that_differ_without_a_rank_are_of_unknown_cause(first, found, topology):
    assert "unknown" == first(found("job.values_differ", topology.job_entity))[0]
