"""Healthy hours, each with its own shape: what the pipeline reports that it should not."""

import dataclasses

import pytest

from rankscope.lab import suites
from rankscope.lab.scoring import running
from rankscope.lab.simulator import days, recording


def test_a_seed_gives_the_same_hour_every_time():
    assert days.healthy(3) == days.healthy(3)
    assert days.healthy(3) != days.healthy(4)


def test_no_healthy_hour_has_a_fault_in_it():
    for seed in range(40):
        assert days.healthy(seed).fault is None


def test_healthy_hours_differ_in_what_detectors_could_stumble_over():
    hours = [days.healthy(seed) for seed in range(60)]
    jobs = [hour.jobs[0] for hour in hours]
    assert {True, False} == {job.announces for job in jobs} == {hour.cluster.gpus for hour in hours}
    assert {"term", "term_kill", "kill"} == {job.stopped_by for job in jobs}
    assert any(len(hour.cluster.models) > 1 for hour in hours)
    assert any(job.loss_scale for job in jobs)
    assert any(job.stage_load for job in jobs)
    assert any(hour.reporting.agent_restarts for hour in hours)
    assert {1.0, 5.0, 10.0, 20.0, 30.0} == {hour.reporting.push for hour in hours}
    seconds = sorted(job.step_seconds for job in jobs)
    assert seconds[0] < 2
    assert seconds[-1] > 30


def test_an_agent_that_is_away_sends_nothing_meanwhile():
    hour = days.healthy(0, seconds=300.0)
    reporting = dataclasses.replace(hour.reporting, agent_restarts=((1, 100.0, 140.0),))
    made = recording.simulate(dataclasses.replace(hour, reporting=reporting), 0)
    sent = [d.at for d in made.deliveries() if d.host == 1 and d.push is not None]
    assert not [at for at in sent if 100.1 <= at < 140.0]
    assert [at for at in sent if at < 100.0]
    assert [at for at in sent if at > 140.0]


def test_hours_are_cut_into_pieces_with_a_seed_each():
    cases = suites.draw(suites.suite("quiet"), seed=4, hours=1.5)
    assert [(4, 3600.0), (5, 1800.0)] == [(case.seed, case.scenario.seconds) for case in cases]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 7, 103, 104))]
)
def test_nothing_above_info_is_reported_of_a_healthy_job(seed):
    """Ten minutes in six shapes; each of them was paged about once."""
    played = running.RecordingRun()
    played.play(recording.simulate(days.healthy(seed, seconds=600.0), seed))
    assert [] == [row.summary for row in played.seen.values() if row.severity != "info"]
    assert len(played.seen) <= 1
