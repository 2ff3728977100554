"""How bad an incident is: as its first cause usually is, within what the symptoms make certain."""

from dataclasses import replace

import pytest

from rankscope.alerts.causes import engine
from rankscope.alerts.severity import severity
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.counterfactuals import StepComparison, StepTimeWithout

EVERYTHING = frozenset(s for kind in kinds.catalogue().values() for s in kind.signals)


@pytest.mark.parametrize(
    ("kind", "score", "level"),
    [
        ("gpu.row_remap_pending", 1.0, "info"),
        ("gpu.row_remap_failed", 2.0, "warning"),
        ("host.clock_off", 1.0, "info"),
        ("gpu.pcie_slow", 3.0, "warning"),
        ("gpu.lost", 3.0, "critical"),
        ("nic.down", 3.0, "warning"),
        ("gpu.nvlink_down", 3.0, "warning"),
        ("host.disk_full", 3.0, "critical"),
    ],
)
def test_what_costs_nothing_yet_is_worth_knowing_and_what_will_cost_pages(
    topology, found, entity_of, kind, score, level
):
    symptom = found(kind, entity_of(kind, 1), score=score)
    (row,) = engine.explanations([symptom], topology, observed=EVERYTHING)
    assert level == severity([symptom], row.cause, 30.0)


@pytest.mark.parametrize(("score", "level"), [(0.9, "info"), (1.5, "warning"), (3.0, "critical")])
def test_values_that_differ_page_by_how_certain_their_detector_is(topology, found, score, level):
    differ = found("job.values_differ", topology.job_entity, score=score)
    evidence = found("rank.value_off", topology.rank_entity(1), score=score)
    (row,) = engine.explanations([differ, evidence], topology, observed=EVERYTHING)
    assert level == severity([differ], row.cause, 30.0)


@pytest.mark.parametrize(("known", "level"), [(True, "critical"), (False, "info")])
def test_a_driver_that_hangs_makes_a_stall_certain(topology, found, entity_of, known, level):
    stalled = found("job.stalled", topology.job_entity, score=1.0)
    evidence = [
        found("host.driver_stuck", topology.host_entity("host-a")),
        found("gpu.call_hung", topology.gpu_entity(0)),
    ]
    rows = engine.explanations(
        [stalled, *(evidence if known else ())], topology, observed=EVERYTHING
    )
    assert level == severity([stalled], rows[0].cause, 30.0)


def test_a_port_that_is_down_is_no_less_severe_because_the_job_stalled(topology, found, entity_of):
    down = found("nic.down", entity_of("nic.down", 1), score=3.0)
    stalled = found("job.stalled", topology.job_entity, score=1.0)
    (row,) = engine.explanations([down, stalled], topology, observed=EVERYTHING)
    assert ["job.stalled", "nic.down"] == sorted(symptom.kind for symptom in row.symptoms)
    assert "critical" == severity([down, stalled], row.cause, 5.0)


def test_a_job_that_crashed_is_never_news_of_little_weight(topology, found):
    crashed = found("job.crashed", topology.job_entity, score=3.0)
    evidence = found("host.version_refused", topology.host_entity("host-a"))
    (row,) = engine.explanations([crashed, evidence], topology, observed=EVERYTHING)
    assert "host.config_drift" == row.cause.hypotheses[0].fault
    assert "critical" == severity([crashed], row.cause, 30.0)


@pytest.mark.parametrize(
    ("confidence", "level"), [("high", "critical"), ("medium", "critical"), ("low", "warning")]
)
def test_where_nothing_has_stopped_only_what_is_certain_pages(
    topology, found, entity_of, confidence, level
):
    full = found("host.disk_full", entity_of("host.disk_full", 1), score=3.0)
    (row,) = engine.explanations([full], topology, observed=EVERYTHING)
    first, *rest = row.cause.hypotheses
    cause = replace(row.cause, hypotheses=(replace(first, confidence=confidence), *rest))
    assert level == severity([full], cause, 30.0)


@pytest.mark.parametrize(("slowdown", "level"), [(1.15, "warning"), (1.6, "critical")])
def test_a_port_that_is_down_pages_by_what_it_costs(topology, found, entity_of, slowdown, level):
    down = found("nic.down", entity_of("nic.down", 1), score=3.0, magnitude=1.0)
    slow = found("job.slow", topology.job_entity, score=3.0, magnitude=slowdown)
    (row,) = engine.explanations([down, slow], topology, observed=EVERYTHING)
    assert "network.nic_down" == row.cause.hypotheses[0].fault
    assert level == severity([down, slow], row.cause, 30.0)


@pytest.mark.parametrize(
    ("without", "basis", "beside", "level"),
    [
        (0.995, "phases", None, "info"),
        (0.9, "phases", None, "warning"),
        (0.995, "durations", None, "warning"),
        (0.995, "phases", "job.slow", "warning"),
    ],
    ids=["no gain", "a gain", "by durations alone", "the job is slow"],
)
def test_a_device_that_holds_nobody_up_is_news_of_little_weight(
    topology, found, entity_of, without, basis, beside, level
):
    """Slowness by itself: where the job's steps are long all the same, something else is wrong."""
    symptoms = [found("gpu.behind_peers", entity_of("gpu.behind_peers", 1), score=3.0)]
    if beside is not None:
        symptoms.append(found(beside, topology.job_entity, score=3.0, magnitude=1.3))
    (row, *_) = engine.explanations(symptoms, topology, observed=EVERYTHING)
    time = StepTimeWithout(without, without - 0.005, 1.0)
    steps = StepComparison(1.0, time, basis, 60, 99, 100.0)
    assert "warning" == severity(symptoms, row.cause, 90.0)
    assert level == severity(symptoms, row.cause, 90.0, steps=steps)


def test_a_job_that_stopped_pages_whoever_is_to_blame(topology, found, entity_of):
    lost = found("gpu.lost", entity_of("gpu.lost", 1), score=3.0)
    (row,) = engine.explanations([lost], topology, observed=EVERYTHING)
    first, *rest = row.cause.hypotheses
    cause = replace(row.cause, hypotheses=(replace(first, confidence="low"), *rest))
    assert "critical" == severity([lost], cause, 30.0)


@pytest.mark.parametrize(("score", "level"), [(0.5, "info"), (1.5, "warning")])
def test_a_clock_that_is_off_makes_uneven_batches_no_worse(topology, found, score, level):
    uneven = found("job.token_imbalance", topology.job_entity, score=score)
    clock = found("host.clock_off", topology.host_entity("host-a"), score=1.0)
    rows = engine.explanations([uneven, clock], topology, observed=EVERYTHING)
    (row,) = [row for row in rows if uneven in row.symptoms]
    assert "balance.sequence_length" == row.cause.hypotheses[0].fault
    assert level == severity([uneven, clock], row.cause, 90.0)


def test_what_is_only_claimed_is_info_and_makes_nothing_worse(topology, found):
    crashed = replace(found("job.crashed", topology.job_entity, score=3.0), claimed=True)
    slow = found("job.slow", topology.job_entity, score=3.0, magnitude=1.2)
    (row,) = engine.explanations([crashed], topology, observed=EVERYTHING)
    assert "info" == severity([crashed], row.cause, 3600.0)
    (row,) = engine.explanations([slow], topology, observed=EVERYTHING)
    assert "warning" == severity([crashed, slow], row.cause, 3600.0)
