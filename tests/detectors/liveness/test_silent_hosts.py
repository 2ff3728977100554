"""Hosts that fell silent while others of their job go on speaking."""

import numpy as np
import pytest

from rankscope.detectors.liveness.silent_hosts import SilentHosts
from rankscope.detectors.sketch import START, readings, sketch


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates a job whose hosts were last received so many seconds ago."""

    def evaluate(*silence, cadence=1.0, **fields):
        hosts = len(silence)
        window = sketch(
            steady(ranks=2 * hosts),
            hosts=hosts,
            now=START + 120,
            host_last_received=START + 120 - np.array(silence),
            host_interval=np.broadcast_to(cadence, hosts).astype(float),
            **fields,
        )
        return SilentHosts().evaluate(window)

    return evaluate


def test_a_host_silent_for_longer_than_its_habit_is_named(evaluated):
    (finding,) = evaluated(0.5, 15.0)
    assert ("host.silent", "host-1", (2, 3)) == (
        finding.kind, finding.entity.id, tuple(finding.entity.ranks),
    )  # fmt: skip
    assert (START + 105, START + 106) == finding.onset
    assert "host host-1 has sent nothing for 15 s" == finding.text
    assert finding.score == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("silence", "cadence", "named"),
    [
        pytest.param((0.5, 9.0), 1.0, [], id="nine seconds are too short"),
        pytest.param((0.5, 25.0), (1.0, 10.0), [], id="a slow reporter is given three periods"),
        pytest.param((0.5, 31.0), (1.0, 10.0), ["host-1"], id="and no more"),
        pytest.param((0.5, 59.0), (1.0, np.nan), [], id="an unknown interval is given a minute"),
        pytest.param((0.5, 61.0), (1.0, np.nan), ["host-1"], id="and no more than that"),
        pytest.param((7.0, 40.0), (1.0, 1.0), ["host-1"], id="stalled peers speak every 5 s only"),
        pytest.param((0.5, 15.0, 20.0), 1.0, ["host-1", "host-2"], id="two hosts at once"),
    ],
)
def test_silence_is_measured_against_the_hosts_own_habit(evaluated, silence, cadence, named):
    assert named == [f.entity.id for f in evaluated(*silence, cadence=cadence)]


def test_everybody_silent_together_is_the_end_of_the_data(evaluated):
    assert [] == evaluated(60.0, 60.0)
    assert [] == evaluated(60.0, 59.0, 58.0)


def test_a_job_on_one_host_has_nobody_to_compare_with(evaluated):
    assert [] == evaluated(600.0)


def test_a_host_that_was_never_heard_is_not_called_silent(evaluated):
    assert [] == evaluated(0.5, np.inf)


@pytest.mark.parametrize("code", [0, "0"])
def test_a_host_whose_ranks_all_ended_in_order_is_not_missed(evaluated, event, code):
    ended = (
        event("training.phase", 59, host="host-1", rank=2, phase="shutdown"),
        event("process.exit", 60, host="host-1", rank=3, exit_code=code),
    )
    assert [] == evaluated(0.5, 15.0, events=ended)


def test_a_host_of_which_one_rank_ended_in_order_is_missed(evaluated, event):
    ended = event("training.phase", 59, host="host-1", rank=2, phase="shutdown")
    nobodys = event("process.exit", 60, host="host-1", exit_code=0)
    crashed = event("process.exit", 60, host="host-1", rank=3, exit_code=1)
    findings = evaluated(0.5, 15.0, events=(ended, nobodys, crashed))
    assert ["host-1"] == [f.entity.id for f in findings]


def test_a_host_without_which_the_job_goes_on_stepping_is_alive(steady):
    """Its agent or its network is not; a synchronous job cannot step without all its ranks."""
    window = sketch(steady(), host_last_received=np.array([START + 60.0, START + 30.0]))
    window.steps.at[2:, 40:] = np.nan
    assert [] == SilentHosts().evaluate(window)


def test_the_step_in_flight_may_still_end_without_the_silent_host(steady):
    window = sketch(steady(), now=START + 80, host_last_received=np.array([START + 80, START + 55]))
    window.steps.at[2:, 58:] = np.nan
    assert ["host-1"] == [f.entity.id for f in SilentHosts().evaluate(window)]


def test_a_silent_host_that_never_told_a_step_is_named_while_others_step(steady):
    """Nothing of it is missed by the steps: agents may be on hosts that the probe is not."""
    window = sketch(steady(), now=START + 80, host_last_received=np.array([START + 80, START + 55]))
    window.steps.at[2:] = np.nan
    assert ["host-1"] == [f.entity.id for f in SilentHosts().evaluate(window)]


def test_a_host_whose_agent_announced_its_shutdown_is_not_lost(evaluated):
    """Its ranks step on, or the scheduler ended them together with it."""
    assert [] == evaluated(0.5, 45.0, host_announced=np.array([False, True]))
    assert ["host-1"] == [
        f.entity.id for f in evaluated(0.5, 45.0, host_announced=np.array([True, False]))
    ]


def test_an_agent_that_restarts_within_a_slow_job_s_step_is_not_missed(steady):
    """Steps take 60 s: nothing says within 25 s that the job stands still."""
    own = steady(seconds=59.8)
    end = sketch(own).now
    early, late = (
        SilentHosts().evaluate(
            sketch(own, now=end + s, host_last_received=np.array([end + s, end - 5.0]))
        )
        for s in (25.0, 130.0)
    )
    assert ([], ["host-1"]) == (early, [f.entity.id for f in late])


def test_time_alone_matters_when_a_host_would_count_as_silent(evaluated, steady):
    window = sketch(steady(), now=START + 120, host_last_received=START + np.array([119.0, 118.0]))
    assert START + 128 == SilentHosts().next_due(window)
    alone = sketch(steady(), hosts=1, now=START + 120)
    assert np.inf == SilentHosts().next_due(alone)


def test_a_host_whose_agent_is_away_while_the_others_evaluate_is_not_lost(steady):
    """Devices elsewhere calculate; without a peer they would wait in a collective."""
    at = START + np.arange(0.0, 101, 5)
    now = START + 100

    def evaluate(during):
        level = np.where(at > START + 60, during, 0.4)
        math = readings(at, np.tile(level, (4, 1)))
        window = sketch(
            steady(),
            now=now,
            host_last_received=np.array([now, now - 30]),
            rank_readings={"hw.gpu.tensor.activity": math},
        )
        return [f.entity.id for f in SilentHosts().evaluate(window)]

    assert [] == evaluate(0.3)
    assert ["host-1"] == evaluate(0.0)


def test_hosts_whose_last_reports_lie_an_interval_apart_are_the_end_of_the_data(evaluated):
    assert [] == evaluated(7.0, 15.5, cadence=5.0)
    assert ["host-1"] == [f.entity.id for f in evaluated(3.0, 15.5, cadence=5.0)]
