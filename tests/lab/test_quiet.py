"""Healthy hours, each with its own shape: what the pipeline says that it should not."""

import json

import pytest

from rankscope.lab import quiet
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
    reporting = hour.reporting.__class__(agent_restarts=((1, 100.0, 140.0),))
    made = recording.simulate(
        hour.__class__(hour.name, hour.text, 300.0, hour.cluster, hour.jobs, reporting), 0
    )
    sent = [d.at for d in made._deliveries() if d.host == 1 and d.push is not None]
    assert not [at for at in sent if 100.1 <= at < 140.0]
    assert [at for at in sent if at < 100.0]
    assert [at for at in sent if at > 140.0]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3, 7, 103, 104])
def test_nothing_above_info_is_said_of_a_healthy_job(seed):
    """An hour in six shapes; each of them was paged about once (the last 30 s: no data at all)."""
    found = quiet.incidents(seed, seconds=600.0)
    assert [] == [i.summary for i in found if i.severity != "info"]
    assert len(found) <= 1


def test_the_command_prints_one_line_of_json_about_the_hours(capsys):
    assert 0 == quiet.main(["--hours", "0.05", "--piece", "0.05", "--seed", "5"])
    result = json.loads(capsys.readouterr().out)
    assert (0.05, 0, 0, []) == tuple(
        result[key] for key in ("hours", "above_info", "info", "incidents")
    )


def test_hours_are_cut_into_pieces_with_a_seed_each():
    assert [(4, 3600.0), (5, 1800.0)] == list(quiet.hours(1.5, first=4))
