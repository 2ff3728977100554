"""What an incident loses by its steps without the cause: measured seldom, added up once."""

import pytest

from rankscope.alerts.counterfactuals import EVERY_SECONDS, MeasuredLoss, total
from rankscope.vocabulary.counterfactuals import StepComparison, StepTimeWithout

START = 1_700_000_000.0


def comparison(step=1.5, without=1.0, until=100.0, error=0.1):
    interval = StepTimeWithout(without, (1 - error) * without, (1 + error) * without)
    return StepComparison(step, interval, "phases", 60, 99, START + until)


def test_the_first_measurement_stands_for_the_time_since_the_onset():
    loss = MeasuredLoss()
    loss.take(comparison(), onset=START + 40, gpus=8, now=START + 101)
    assert loss.lost.gpu_hours == pytest.approx(8 * (1 / 3) * 60 / 3600)
    assert loss.gpu_hours_an_hour == pytest.approx(8 / 3)


def test_later_ones_stand_for_the_time_since_the_one_before():
    loss = MeasuredLoss()
    loss.take(comparison(), onset=START + 40, gpus=8, now=START + 101)
    loss.take(comparison(step=2.0, until=160.0), onset=START + 40, gpus=8, now=START + 161)
    assert loss.lost.gpu_hours == pytest.approx(8 * (60 / 3 + 60 / 2) / 3600)


def test_a_measurement_that_was_not_possible_leaves_the_last_one():
    loss = MeasuredLoss()
    loss.take(comparison(), onset=START, gpus=8, now=START + 101)
    before = total([loss])
    loss.take(None, onset=START, gpus=8, now=START + 131)
    assert total([loss]) == before


def test_a_cause_that_costs_nothing_gains_nothing():
    loss = MeasuredLoss()
    loss.take(comparison(step=1.0, without=1.001), onset=START, gpus=8, now=START + 101)
    assert (loss.lost.gpu_hours, loss.gpu_hours_an_hour) == (0.0, 0.0)


def test_hours_of_several_jobs_add_up_and_step_times_are_those_of_the_first_measured():
    first, second = MeasuredLoss(), MeasuredLoss()
    first.take(comparison(), onset=START + 40, gpus=8, now=START + 101)
    second.take(comparison(step=3.0), onset=START + 40, gpus=4, now=START + 101)
    found = total([MeasuredLoss(), first, second])
    assert found is not None
    assert found.step_seconds == 1.5
    assert found.gpu_hours_lost == pytest.approx(first.lost.gpu_hours + second.lost.gpu_hours)
    assert found.gpu_hours_an_hour == pytest.approx(8 / 3 + 4 * 2 / 3)
    assert total([MeasuredLoss()]) is None


@pytest.fixture
def metered(evaluated, tracker):
    """Return a function that evaluates a second with a meter, and the questions that it got."""
    asked = []

    def meter(fault, ranks, onset):
        asked.append((fault, list(ranks), onset - START))
        return comparison()

    def evaluate(now, *findings, **more):
        evaluated(now, *findings, meter=meter, **more)
        return next(iter(tracker.incidents.values())).impact.counterfactual

    return evaluate, asked


def test_the_first_document_has_it_and_it_is_of_the_first_cause_and_its_ranks(metered, contended):
    evaluate, asked = metered
    found = evaluate(60, *contended())
    assert found.without.step_seconds == 1.0
    assert asked == [("host.cpu_contention", [2, 3], 40.0)]


def test_it_is_measured_where_a_document_is_made_and_not_each_second(metered, contended):
    evaluate, asked = metered
    for now in range(60, 180):
        evaluate(now, *contended())
    assert 3 <= len(asked) <= 120 / EVERY_SECONDS


def test_a_device_that_holds_nobody_up_is_info_until_it_does(evaluated, tracker, found, entity_of):
    behind = found("gpu.behind_peers", entity_of("gpu.behind_peers", 1), 40.0, score=3.0)
    holds_up: list[bool] = []

    def meter(*_asked):
        return comparison(step=1.0, without=0.8 if holds_up else 1.0, error=0.01)

    def level():
        return next(iter(tracker.incidents.values())).severity

    for now in range(60, 200):
        evaluated(now, behind, meter=meter)
    assert "info" == level()
    holds_up.append(True)
    for now in range(200, 260):
        evaluated(now, behind, meter=meter)
    assert "warning" == level()


def test_a_job_that_stands_still_has_none(metered, topology, found):
    evaluate, asked = metered
    crash = [
        found("job.crashed", topology.job_entity, 55.0),
        found("rank.first_exit", topology.rank_entity(3), 55.0),
    ]
    assert evaluate(56, *crash, stepped=54.0) is None
    assert asked == []


def test_once_its_symptoms_are_gone_nothing_is_measured(metered, contended):
    evaluate, asked = metered
    evaluate(60, *contended())
    for now in range(61, 120):
        evaluate(now)
    assert len(asked) == 1
