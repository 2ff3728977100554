"""Hosts that fell silent while others of their job go on speaking."""

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.liveness.silent_hosts import SilentHostsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import GroupProgress


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates a job whose hosts were last received so many seconds ago.

    Its steps of about a second end when the first of them falls silent.
    """

    def evaluate(*silence, cadence=1.0, **fields):
        hosts = len(silence)
        steps = int(120 - max((s for s in silence if np.isfinite(s) and s < 110), default=0.0))
        window = sketch(
            steady(ranks=2 * hosts, steps=steps),
            hosts=hosts,
            now=START + 120,
            host_last_received=START + 120 - np.array(silence),
            host_interval=np.broadcast_to(cadence, hosts).astype(float),
            **fields,
        )
        return SilentHostsDetector().evaluate(window)

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


@pytest.mark.parametrize(
    ("silence", "rarer", "named"),
    [
        pytest.param(17.0, 30.0, [], id="exporters of each half-minute have missed nothing"),
        pytest.param(40.0, 15.0, ["host-1"], id="both sources were missed twice"),
        pytest.param(
            61.0, 300.0, ["host-1"], id="the rarest is waited for no longer than a minute"
        ),
        pytest.param(17.0, 5.0, ["host-1"], id="all that a host sends comes as often"),
        pytest.param(17.0, np.nan, ["host-1"], id="nobody knows how often the other source comes"),
    ],
)
def test_a_host_is_missed_when_each_of_its_sources_is(evaluated, silence, rarer, named):
    """Probes report each 5 s: three reports late are a queue's, or the host's."""
    found = evaluated(0.5, silence, cadence=5.0, host_rarer=np.full(2, rarer))
    assert named == [f.entity.id for f in found]


@pytest.mark.parametrize(
    ("silent", "completed", "changed", "named"),
    [
        pytest.param(1, 60, 104, ["host-1"], id="all others stand since then"),
        pytest.param(1, (60, 61, 60, 60, 60, 60), 104, [], id="another rank is elsewhere"),
        pytest.param(1, 60, (118, 104, 104, 104, 104, 104), [], id="collectives go on"),
        pytest.param(1, 61, 104, [], id="nobody is inside: they save, or evaluate"),
        pytest.param(0, 60, 104, [], id="the first rank may evaluate or save for all"),
        pytest.param(0, 60, 85, ["host-0"], id="and for twice as long, no more"),
    ],
)
def test_a_host_that_alone_is_waited_for_is_missed_before_its_exporters_are(
    evaluated, silent, completed, changed, named
):
    """Exporters are read each half-minute; collectives stand on the two other hosts for 15 s."""
    silence = np.where(np.arange(3) == silent, 121.0 - changed if changed == 85 else 17.0, 0.5)
    group = GroupProgress(
        "dp:1", "dp", np.arange(6), enqueued=np.full(6, 61.0),
        completed=np.broadcast_to(completed, 6).astype(float),
        at=START + 119 - np.repeat(silence, 2),
        changed_at=START + np.broadcast_to(changed, 6).astype(float),
    )  # fmt: skip
    found = evaluated(*silence, cadence=5.0, host_rarer=np.full(3, 30.0), groups=(group,))
    assert named == [f.entity.id for f in found]


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
        event("training.phase", 109, host="host-1", rank=2, phase="shutdown"),
        event("process.exit", 110, host="host-1", rank=3, exit_code=code),
    )
    assert [] == evaluated(0.5, 15.0, events=ended)


def test_a_host_of_which_one_rank_ended_in_order_is_missed(evaluated, event):
    ended = event("training.phase", 109, host="host-1", rank=2, phase="shutdown")
    nobodys = event("process.exit", 110, host="host-1", exit_code=0)
    findings = evaluated(0.5, 15.0, events=(ended, nobodys))
    assert ["host-1"] == [f.entity.id for f in findings]


def test_a_host_that_reported_the_exit_of_each_of_its_ranks_was_alive_then(evaluated, event):
    crashed = [event("process.exit", 110, host="host-1", rank=r, exit_code=1) for r in (2, 3)]
    assert [] == evaluated(0.5, 15.0, events=crashed)
    assert ["host-1"] == [f.entity.id for f in evaluated(0.5, 15.0, events=crashed[:1])]


def test_a_host_that_reported_after_a_crash_elsewhere_is_not_lost(steady, event):
    """The job is over, and an agent reports no job that has ended."""
    crashed = event("process.exit", 66, host="host-0", rank=0, exit_code=1)
    window = sketch(
        steady(),
        now=START + 100,
        host_last_received=START + np.array([99.5, 70.0]),
        events=(crashed,),
    )
    assert [] == SilentHostsDetector().evaluate(window)


def test_a_host_whose_peers_gave_up_after_it_fell_silent_is_lost(evaluated, event):
    gave_up = [event("process.exit", 110 + r, host="host-0", rank=r, exit_code=1) for r in (0, 1)]
    assert ["host-1"] == [f.entity.id for f in evaluated(0.5, 15.0, events=gave_up)]


def test_a_host_that_reported_on_long_after_the_last_step_did_not_stop_the_job(steady):
    """Another host was lost 40 s before it, and the job ended."""
    silent = np.array([0.5, 55.0, 15.0])
    window = sketch(
        steady(ranks=6, steps=64), hosts=3, now=START + 120, host_last_received=START + 120 - silent
    )
    assert ["host-1"] == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


def test_a_job_whose_processes_all_fell_silent_is_over(evaluated):
    """No exit is reported; the agent of one host only reports for longer than the other's."""
    over = np.full(4, START + 105.0)
    assert [] == evaluated(0.5, 15.0, last_received=over)
    waits = np.array([START + 119.0, START + 119, START + 105, START + 105])
    assert ["host-1"] == [f.entity.id for f in evaluated(0.5, 15.0, last_received=waits)]


def test_an_agent_is_given_a_minute_to_restart_before_the_first_step():
    def evaluate(seconds):
        window = sketch(
            np.zeros((4, 0)),
            now=START + 120,
            host_last_received=START + 120 - np.array([0.5, seconds]),
        )
        return [f.entity.id for f in SilentHostsDetector().evaluate(window)]

    assert ([], ["host-1"]) == (evaluate(40.0), evaluate(61.0))


def test_a_host_without_which_the_job_goes_on_stepping_is_alive(steady):
    """Its agent or its network is not; a synchronous job cannot step without all its ranks."""
    window = sketch(steady(), host_last_received=np.array([START + 60.0, START + 30.0]))
    window.steps.at[2:, 40:] = np.nan
    assert [] == SilentHostsDetector().evaluate(window)


def test_the_step_in_flight_may_still_end_without_the_silent_host(steady):
    window = sketch(steady(), now=START + 80, host_last_received=np.array([START + 80, START + 62]))
    window.steps.at[2:, 58:] = np.nan
    assert ["host-1"] == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("silent_since", "now", "named"),
    [
        pytest.param(344, 375, [], id="long before it began"),
        pytest.param(344, 410, [], id="and for over a minute"),
        pytest.param(349, 375, [], id="just before it began"),
        pytest.param(349, 410, ["host-1"], id="and for over a minute: reports may be late"),
        pytest.param(353, 380, ["host-1"], id="after it began"),
    ],
)
def test_a_step_that_began_after_the_host_s_next_report_was_due_shows_it_alive(
    steady, silent_since, now, named
):
    """Steps of six seconds: the last one elsewhere ended at 363 s."""
    window = sketch(
        steady(seconds=5.8), now=START + now, host_interval=np.full(2, 7.0),
        host_last_received=np.array([START + now, START + silent_since]),
    )  # fmt: skip
    window.steps.at[2:, 56:] = np.nan
    assert 363 == pytest.approx(float(np.nanmax(window.steps.at)) - START, abs=1)
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


def test_a_host_that_never_reported_a_step_is_not_missed_while_others_step_on(steady):
    """A job that was resized does without it; the agent of another may be away."""
    window = sketch(steady(), host_last_received=np.array([START + 60.0, START + 30.0]))
    window.steps.at[2:] = np.nan
    assert [] == SilentHostsDetector().evaluate(window)


def test_a_host_that_never_reported_a_step_is_missed_when_the_others_stop_soon_after_it(steady):
    window = sketch(steady(), now=START + 80, host_last_received=np.array([START + 80, START + 62]))
    window.steps.at[2:] = np.nan
    assert ["host-1"] == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


def test_hosts_that_fell_silent_together_come_back_one_by_one(evaluated):
    """All were away for a minute, as in a restart: the second is not lost as the first is back."""
    back = {"host_returned": np.array([START + 119.0, -np.inf])}
    assert [] == evaluated(0.5, 60.0, **back)
    stayed = {"host_returned": np.array([START + 100.0, -np.inf])}
    assert ["host-1"] == [f.entity.id for f in evaluated(0.5, 60.0, **stayed)]


@pytest.mark.parametrize(("heard", "named"), [(64.0, []), (90.0, ["host-2"])])
def test_of_hosts_stopped_together_one_may_be_heard_an_interval_later(steady, heard, named):
    """Of three, the first is back after half a minute and the second was last received `heard`."""
    window = sketch(
        steady(), hosts=4, now=START + 91, host_interval=np.full(4, 5.0),
        host_last_received=START + np.array([90.5, heard, 61.0, 90.8]),
        host_returned=np.array([START + 90.5, -np.inf, -np.inf, START + 90.8]),
    )  # fmt: skip
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


@pytest.mark.parametrize(("reported", "named"), [(6.0, []), (2.0, ["host-1"])])
def test_a_step_is_overdue_by_the_newest_report_of_the_others(steady, reported, named):
    """Steps of five seconds, reports every six: the next step has yet to be reported."""
    own = steady(seconds=4.8)
    end = sketch(own).now
    window = sketch(
        own, now=end + 13, host_interval=np.full(2, 3.0),
        host_last_received=end + 13 - np.array([reported, 16.0]),
    )  # fmt: skip
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


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
        SilentHostsDetector().evaluate(
            sketch(own, now=end + s, host_last_received=np.array([end + s, end - 5.0]))
        )
        for s in (25.0, 130.0)
    )
    assert ([], ["host-1"]) == (early, [f.entity.id for f in late])


def test_time_alone_matters_when_a_host_would_count_as_silent(evaluated, steady):
    window = sketch(steady(), now=START + 120, host_last_received=START + np.array([119.0, 118.0]))
    assert START + 128 == SilentHostsDetector().next_due(window)
    alone = sketch(steady(), hosts=1, now=START + 120)
    assert np.inf == SilentHostsDetector().next_due(alone)


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
        return [f.entity.id for f in SilentHostsDetector().evaluate(window)]

    assert [] == evaluate(0.3)
    assert ["host-1"] == evaluate(0.0)


def test_hosts_whose_last_reports_lie_an_interval_apart_are_the_end_of_the_data(evaluated):
    assert [] == evaluated(7.0, 15.5, cadence=5.0)
    assert ["host-1"] == [f.entity.id for f in evaluated(3.0, 15.5, cadence=5.0)]


def test_steps_that_ended_before_the_next_report_was_due_do_not_prove_that_a_host_lives(steady):
    """It reports every 20 s, and was lost 15 s after its last report."""
    now = START + 140
    window = sketch(
        steady(),
        now=now,
        host_last_received=np.array([now - 5, START + 45.0]),
        host_interval=np.full(2, 20.0),
    )
    window.steps.at[2:, 44:] = np.nan
    assert ["host-1"] == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


@pytest.mark.parametrize(("size", "named"), [(2, []), (4, ["host-1"]), (0, ["host-1"])])
def test_a_host_whose_ranks_are_beyond_the_newest_world_size_has_left(evaluated, size, named):
    assert named == [f.entity.id for f in evaluated(0.5, 15.0, newest_world_size=size)]


@pytest.mark.parametrize(("silence", "named"), [(20.0, []), (70.0, ["host-1"])])
def test_the_only_host_that_reports_steps_may_be_without_its_agent_for_a_minute(
    steady, silence, named
):
    now = START + 150
    window = sketch(
        steady(steps=int((150 - silence) / 1.05)),
        now=now,
        host_last_received=np.array([now - 0.5, now - silence]),
        host_interval=np.ones(2),
    )
    window.steps.at[:2] = np.nan
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


def since_121(before, during, *, rows):
    """Return readings of all rows that change when the last step has ended."""
    at = START + np.arange(0.0, 161, 5)
    return readings(at, np.tile(np.where(at > START + 121, during, before), (rows, 1)))


def paused(steady, silence, **fields):
    """Evaluate a job that survived a pause of 80 s once, and is in another half a minute long."""
    now = START + 160
    held = JobBaselines()
    held.longest_gap = 80.0
    window = sketch(
        steady(steps=120),
        now=now,
        host_last_received=np.array([now - 0.5, now - silence]),
        host_interval=np.ones(2),
        held_baselines=held,
        **fields,
    )
    return SilentHostsDetector().evaluate(window)


@pytest.mark.parametrize(("silence", "named"), [(20.0, []), (70.0, ["host-1"])])
@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param(0.02, id="the others sleep"),
        pytest.param(1.0, id="the others spin"),
        pytest.param(None, id="nothing says whether the others wait or evaluate"),
    ],
)
def test_in_what_may_be_a_pause_as_before_an_agent_may_be_away_for_a_minute(
    steady, cpu, silence, named
):
    """The others wait for the first rank, which evaluates alone, as they would for a lost host."""
    by_rank = {"hw.gpu.tensor.activity": since_121(0.4, 0.0, rows=4)}
    if cpu is not None:
        by_rank["process.cpu.utilization"] = since_121(1.0, cpu, rows=4)
    assert named == [f.entity.id for f in paused(steady, silence, rank_readings=by_rank)]


@pytest.mark.parametrize(
    ("phases", "named"),
    [
        pytest.param(["checkpoint"] * 3, [], id="a third checkpoint may take a minute"),
        pytest.param(["checkpoint"] * 7, ["host-1"], id="a seventh takes what the others took"),
        pytest.param(["checkpoint"] * 6 + ["eval"], [], id="an evaluation is the first one"),
    ],
)
def test_a_pause_that_the_job_has_often_made_takes_no_longer_than_before(
    steady, event, phases, named
):
    """Host 1 falls silent just after a pause of a second was announced."""
    now = START + 160
    announced = [
        event("training.phase", at, rank=0, phase=said)
        for number, phase in enumerate(reversed(phases))
        for at, said in ((119.0 - 15 * number, phase), (120.0 - 15 * number, "train"))
    ]
    window = sketch(
        steady(steps=115),
        now=now,
        host_last_received=np.array([now - 0.5, now - 38]),
        host_interval=np.ones(2),
        events=tuple(sorted(announced, key=lambda one: one.at)),
    )
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]


@pytest.mark.parametrize("silence", [20.0, 70.0])
def test_in_a_pause_in_which_the_others_work_no_host_is_lost(steady, silence):
    by_rank = {"process.cpu.utilization": since_121(1.0, 0.5, rows=4)}
    assert [] == paused(steady, silence, rank_readings=by_rank)


@pytest.mark.parametrize(
    ("host", "at", "named"),
    [
        pytest.param("host-0", 104.9, [], id="elsewhere, before the silence"),
        pytest.param("host-1", 104.9, ["host-1"], id="on the silent host"),
        pytest.param("host-0", 90.0, ["host-1"], id="while steps went on"),
        pytest.param("host-0", 110.0, ["host-1"], id="after the silence began"),
    ],
)
def test_silence_after_a_device_elsewhere_failed_may_be_the_agent_s(
    evaluated, event, host, at, named
):
    fault = event("gpu.fault", at, host=host)
    assert named == [f.entity.id for f in evaluated(0.5, 15.0, events=[fault])]


def test_after_a_minute_it_is_the_host_s_whatever_failed_elsewhere(evaluated, event):
    fault = event("gpu.fault", 57.0, host="host-0")
    (finding,) = evaluated(0.5, 62.0, events=[fault])
    assert "host-1" == finding.entity.id


@pytest.mark.parametrize(
    ("silence", "named"),
    [
        pytest.param([28.0, 0.5, 20.0], ["host-0"], id="an agent away later"),
        pytest.param([28.0, 0.5, 27.0], ["host-0", "host-2"], id="both together"),
        pytest.param([50.0, 0.5, 20.0], ["host-2"], id="an agent away for long while steps ended"),
    ],
)
def test_the_host_that_fell_silent_first_is_what_the_job_waits_for(steady, silence, named):
    now = START + 90
    window = sketch(
        steady(ranks=6, steps=int((now - START - 28) / 1.05)),
        hosts=3,
        now=now,
        host_last_received=now - np.array(silence),
        host_interval=np.ones(3),
    )
    assert named == [f.entity.id for f in SilentHostsDetector().evaluate(window)]
