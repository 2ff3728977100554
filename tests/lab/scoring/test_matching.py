"""Which incident answers a fault, and which are false."""

import pytest

from rankscope.lab.scoring import matching
from rankscope.lab.scoring.matching import outcome
from rankscope.vocabulary import entities

GPU = entities.gpu("GPU-3", "gpu-00", (3,))
ONSET = 1000.0


def test_the_first_incident_after_the_onset_is_the_answer_and_others_are_duplicates(
    incident, truth
):
    first, second = incident(5.0, GPU), incident(9.0, GPU)
    made = outcome(truth(), [second, first], step_seconds=1.0)
    assert (first, (second,), ()) == (made.found, made.duplicates, made.false)
    assert (5.0, 5.0) == (made.delay, made.first_report)
    assert made.exact_entity
    assert made.right_entity
    assert made.right_cause


def test_an_incident_that_was_reported_before_the_onset_is_false(incident, truth):
    made = outcome(truth(), [incident(-1.0, GPU)], step_seconds=1.0)
    assert made.found is None
    assert 1 == len(made.false)


def test_info_from_before_the_onset_that_rises_after_it_has_taken_the_fault_in(incident, truth):
    made = outcome(truth(), [incident(-90.0, GPU, above_info_at=ONSET + 12)], step_seconds=1.0)
    assert (12.0, 0.0) == (made.delay, made.first_report)
    assert () == made.false


def test_so_has_one_of_a_fault_that_is_information_itself(incident, truth):
    host = entities.host("gpu-00")
    risen = incident(-90.0, host, fault="host.config_drift", above_info_at=ONSET + 12)
    made = outcome(truth("host.config_drift", host), [risen], step_seconds=1.0)
    assert 12.0 == made.delay
    assert () == made.false


@pytest.mark.parametrize(("early", "step", "found"), [(9.0, 1.0, True), (11.0, 1.0, False),
                                                      (11.0, 6.0, True)])  # fmt: skip
def test_an_incident_may_open_a_little_early(incident, truth, early, step, found):
    """10 s or two steps, whichever is longer: onsets are estimates."""
    made = outcome(truth(), [incident(3.0, GPU, opened_at=ONSET - early)], step_seconds=step)
    assert found == (made.found is not None)


@pytest.mark.parametrize(("early", "fault", "found"), [(49.0, "gpu.slow", True),
                                                       (51.0, "gpu.slow", False),
                                                       (49.0, "host.lost", False)])  # fmt: skip
def test_what_took_long_to_find_and_is_named_right_may_open_earlier(
    incident, truth, early, fault, found
):
    """By a quarter of the delay: when a slow change in noise began is known no better."""
    late = incident(200.0, GPU, opened_at=ONSET - early, fault=fault)
    assert found == (outcome(truth(), [late], step_seconds=1.0).found is not None)


@pytest.mark.parametrize(("fault", "found"), [("gpu.slow", True), ("host.lost", False)])
def test_what_is_named_right_may_open_a_reporting_interval_early(incident, truth, fault, found):
    """What a report shows began at any time since the one before it."""
    early = incident(20.0, GPU, opened_at=ONSET - 16, fault=fault)
    made = outcome(truth(), [early], step_seconds=1.0, report_seconds=17.0)
    assert found == (made.found is not None)


@pytest.mark.parametrize(("at", "step", "found"), [(159.0, 1.0, True), (161.0, 1.0, False),
                                                   (161.0, 30.0, True)])  # fmt: skip
def test_a_fault_that_ended_may_be_found_a_little_late(incident, truth, at, step, found):
    """A minute or three steps, whichever is longer."""
    made = outcome(truth(until=100.0), [incident(at, GPU)], step_seconds=step)
    assert found == (made.found is not None)


def test_an_incident_of_another_job_is_false(incident, truth):
    made = outcome(truth(), [incident(5.0, GPU, jobs=("other",))], step_seconds=1.0)
    assert made.found is None
    assert 1 == len(made.false)


def test_info_that_names_another_cause_is_not_enough_and_not_false_either(incident, truth):
    vague = incident(5.0, GPU, severity="info", fault="unknown")
    made = outcome(truth(), [vague], step_seconds=1.0)
    assert (None, ()) == (made.found, made.false)


def test_info_that_names_the_true_cause_and_entity_is_enough(incident, truth):
    named = incident(5.0, GPU, severity="info")
    made = outcome(truth(), [named], step_seconds=1.0)
    assert (named, 5.0) == (made.found, made.delay)


def test_info_that_names_the_true_cause_elsewhere_is_not_enough(incident, truth):
    elsewhere = incident(5.0, entities.gpu("GPU-9", "gpu-07", (57,)), severity="info")
    assert outcome(truth(), [elsewhere], step_seconds=1.0).found is None


def test_info_is_enough_for_a_fault_whose_severity_is_info(incident, truth):
    assert matching.info_counts("host.clock_skew")
    clock = truth("host.clock_skew", entities.host("gpu-00"))
    told = incident(5.0, entities.host("gpu-00"), severity="info", fault="host.clock_skew")
    made = outcome(clock, [told], step_seconds=1.0)
    assert told is made.found
    assert made.right_cause


def test_info_about_another_fault_is_no_answer_to_a_fault_whose_severity_is_info(incident, truth):
    idle = truth("efficiency.low_utilization", entities.job("train", (0, 1)))
    clock = incident(5.0, entities.host("gpu-00"), severity="info", fault="host.clock_skew")
    right = incident(50.0, idle.entity, severity="info", fault=idle.fault)
    made = outcome(idle, [clock, right], step_seconds=1.0)
    assert (right, 50.0, ()) == (made.found, made.delay, made.false)


def test_the_delay_counts_until_it_is_above_info(incident, truth):
    raised = incident(5.0, GPU, severity="critical", above_info_at=ONSET + 20)
    made = outcome(truth(), [raised], step_seconds=1.0)
    assert (20.0, 5.0) == (made.delay, made.first_report)


def test_the_right_cause_at_the_wrong_entity_is_not_right(incident, truth):
    other = entities.gpu("GPU-4", "gpu-00", (4,))
    made = outcome(truth(), [incident(5.0, other)], step_seconds=1.0)
    assert made.found is not None
    assert not made.right_cause
    assert 1 == len(made.wrong_accusations)


def test_everything_above_info_in_a_healthy_case_is_false(incident):
    noise = [incident(5.0, GPU), incident(6.0, severity="info"), incident(7.0)]
    made = outcome(None, noise, step_seconds=1.0)
    assert [noise[0], noise[2]] == list(made.false)
    assert (noise[0],) == made.wrong_accusations
