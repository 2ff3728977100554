"""Jobs that stopped stepping, and the ranks that the others wait for."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch

AGE = "training.progress.age"


def kinds(findings):
    return [finding.kind for finding in findings]


def test_a_job_whose_ranks_speak_and_step_no_more_is_stalled_since_its_last_step(evaluated):
    (finding,) = evaluated(90)
    assert "job.stalled" == finding.kind
    assert (START + 60, START + 61) == finding.onset
    assert 30.0 == finding.magnitude
    assert "no step has ended for 30 s; a step usually takes 1 s" == finding.text


@pytest.mark.parametrize(("now", "count"), [(60, 0), (69, 0), (70, 1)])
def test_the_first_word_comes_after_about_ten_seconds(evaluated, now, count):
    assert count == len(evaluated(now))


def test_a_slow_job_is_given_two_and_a_half_steps(steady, ages):
    own = steady(seconds=19.8)
    end = 60 * 20
    early, late = (
        StallsDetector().evaluate(
            sketch(own, now=START + end + s, rank_readings={AGE: ages(end + s)})
        )
        for s in (45, 65)
    )
    assert ([], ["job.stalled"]) == (early, kinds(late))


def test_slow_reporters_are_given_two_of_their_reports(evaluated):
    slow = np.full(2, 20.0)
    assert [] == evaluated(100, host_interval=slow)
    assert ["job.stalled"] == kinds(evaluated(110, host_interval=slow))


def test_time_alone_matters_when_the_next_probe_of_a_job_that_stands_would_be_silent(steady, ages):
    last_received = START + np.array([90, 85, 70.0, 90])
    window = sketch(
        steady(), now=START + 90, last_received=last_received, rank_readings={AGE: ages(90)}
    )
    assert START + 97 == StallsDetector().next_due(window)


def test_time_alone_changes_nothing_while_reports_show_that_steps_go_on(steady, ages):
    window = sketch(steady(), now=START + 90, rank_readings={AGE: ages(65)})
    assert np.isinf(StallsDetector().next_due(window))
    assert np.isinf(StallsDetector().next_due(sketch(steady(ranks=0, steps=0), now=START)))


def test_a_job_whose_sources_are_all_silent_is_over_and_not_stalled(evaluated):
    assert [] == evaluated(600, spoken=62)


def test_a_phase_that_ended_is_progress(evaluated, event):
    back = (
        event("training.phase", 62, rank=0, phase="eval"),
        event("training.phase", 130, rank=0, phase="train"),
    )
    assert [] == evaluated(139, events=back)
    assert [] == evaluated(185, events=back)  # somebody may be a minute behind with it
    (finding,) = evaluated(195, events=back)
    assert START + 130 == finding.onset[0]


def test_a_job_that_said_it_shuts_down_is_not_stalled(evaluated, event):
    events = [event("training.phase", 62, rank=rank, phase="shutdown") for rank in range(4)]
    assert [] == evaluated(200, events=tuple(events))
    partly = (events[0], event("training.phase", 62, rank=1, phase="train"))
    stalled, left = evaluated(200, events=partly)
    assert ("job.stalled", "rank.left_loop", "0") == (stalled.kind, left.kind, left.entity.id)


@pytest.mark.parametrize(
    ("rank", "others", "left"),
    [
        pytest.param(1, [0, 2], ["1"], id="nobody's work"),
        pytest.param(2, [0, 1], [], id="the first of its host may evaluate for all"),
        pytest.param(1, [], [], id="the only one that says phases speaks for all"),
    ],
)
def test_a_rank_that_goes_on_to_evaluate_while_its_peers_train_has_left_the_loop(
    evaluated, event, rank, others, left
):
    """It ran out of data, whatever its process does now."""
    said = [event("training.phase", 5, rank=other, phase="train") for other in others]
    said.append(event("training.phase", 61, rank=rank, phase="eval"))
    found = evaluated(500, events=tuple(said))
    assert left == [one.entity.id for one in found if one.kind == "rank.left_loop"]


def test_where_most_ranks_announce_an_evaluation_none_of_them_has_left_the_loop(evaluated, event):
    said = [event("training.phase", 61, rank=rank, phase="eval") for rank in range(4)]
    assert [] == [f for f in evaluated(500, events=tuple(said)) if f.kind == "rank.left_loop"]


def test_a_job_whose_processes_all_ended_is_not_stalled(evaluated, event):
    events = tuple(event("process.exit", 62, rank=rank, exit_code=1) for rank in range(4))
    assert [] == evaluated(200, events=events)


@pytest.mark.parametrize(
    ("how", "found"),
    [
        pytest.param({"exit_code": 0}, ["job.stalled"], id="in order: the others wait in vain"),
        pytest.param({"exit_code": 1}, [], id="a crash: its own detector says so"),
        pytest.param({"signal": 15}, ["job.stalled"], id="somebody ended it and nothing followed"),
    ],
)
def test_ranks_that_ended_and_left_the_others_waiting(evaluated, event, how, found):
    events = tuple(event("process.exit", 62, rank=rank, **how) for rank in range(3))
    assert found == kinds(evaluated(200, events=events))


@pytest.mark.parametrize(
    "how", [pytest.param({"signal": 15}, id="by a signal"), pytest.param({}, id="nobody saw how")]
)
def test_a_job_that_is_being_ended_is_not_stalled_within_the_grace_period(evaluated, event, how):
    asked = event("process.exit", 62, rank=1, **how)
    assert [] == evaluated(130, events=(asked,))
    assert ["job.stalled"] == kinds(evaluated(140, events=(asked,)))


def test_collectives_that_go_on_are_an_evaluation(evaluated, group):
    going_on = group([140] * 4, [140] * 4, at=100, changed=98)
    assert [] == evaluated(100, groups=(going_on,))


def test_after_a_collective_in_the_middle_of_a_step_the_whole_wait_does_not_begin_again(
    steady, ages, group
):
    own, end = steady(seconds=19.8, spread=0.0), 60 * 20

    def found(seconds, *, moved):
        waiting = group([31, 31, 31, 30], [30] * 4, at=end + seconds, changed=end + moved)
        now = end + seconds
        probes = {AGE: ages(now)}
        window = sketch(own, now=START + now, rank_readings=probes, groups=(waiting,))
        return bool(StallsDetector().evaluate(window))

    assert (False, True) == (found(45, moved=15), found(55, moved=15))
    assert (False, True) == (found(55, moved=30), found(65, moved=30))


def test_one_step_or_none_is_start_up_and_another_detectors(steady, ages):
    for steps in (0, 1):
        window = sketch(steady(steps=steps), now=START + 300, rank_readings={AGE: ages(300)})
        assert [] == StallsDetector().evaluate(window)


def test_two_steps_are_enough_to_know_what_is_usual(steady, ages):
    window = sketch(steady(steps=2), now=START + 300, rank_readings={AGE: ages(300)})
    assert ["job.stalled"] == kinds(StallsDetector().evaluate(window))


@pytest.mark.parametrize(
    ("enqueued", "completed", "kind", "who"),
    [
        ([100, 100, 99, 100], [99, 99, 99, 99], "rank.behind_enqueued", ["2"]),
        ([100, 100, 100, 100], [100, 99, 100, 100], "rank.behind_completed", ["1"]),
        ([101, 100, 99, 100], [99, 98, 99, 99], "rank.behind_completed", ["1"]),
        ([100, 100, 100, 100], [99, 99, 99, 99], "rank.behind_enqueued", []),
        ([100, 99, 99, 99], [99, 99, 99, 99], "rank.behind_enqueued", []),
        ([100, 100, np.nan, 100], [99, 99, 99, 99], "rank.behind_enqueued", []),
        ([100, 99, np.nan, np.nan], [np.nan, np.nan, 98, np.nan], "rank.behind_enqueued", ["1"]),
    ],
    ids=[
        "who has not launched stopped in the process",
        "who has launched and not completed stopped on the device",
        "completed goes before enqueued",
        "equal counters accuse nobody",
        "most cannot be behind",
        "who tells nothing is not behind",
        "one who tells alone is compared with nobody",
    ],
)
def test_counters_of_a_group_say_who_is_behind(evaluated, group, enqueued, completed, kind, who):
    findings = evaluated(90, groups=(group(enqueued, completed),))
    assert who == [f.entity.id for f in findings if f.kind == kind]
    others = set(kinds(findings)) - {"job.stalled", "job.inside"}
    assert ({kind} if who else set()) == others


def test_pipeline_groups_are_left_out(evaluated, group):
    behind = group([100, 100, 99, 100], [99] * 4, kind="pp")
    assert ["job.stalled"] == kinds(evaluated(90, groups=(behind,)))


def test_counters_told_before_the_stall_began_say_nothing(evaluated, group):
    behind = group([100, 100, 99, 100], [99] * 4, at=[60, 60, 60, 90])
    assert ["job.stalled"] == kinds(evaluated(90, groups=(behind,)))


def test_a_rank_behind_in_two_groups_is_told_once(evaluated, group):
    groups = (group([9, 9, 8, 9], [8] * 4), group([100, 100, 99, 100], [99] * 4, kind="tp"))
    findings = evaluated(90, groups=groups)
    assert 1 == kinds(findings).count("rank.behind_enqueued")


def test_a_rank_whose_last_step_is_older_is_behind(evaluated, ages):
    told = {AGE: ages(90, ended=[60, 60, 60, 58])}
    findings = evaluated(90, last_step={3: 57}, readings=told)
    (behind,) = [f for f in findings if f.kind == "rank.behind_step"]
    assert ("3", 57.0, 59.0) == (behind.entity.id, behind.observed, behind.expected)


def test_a_rank_that_says_when_its_last_step_ended_is_not_behind_for_a_report_that_was_lost(
    evaluated, ages
):
    told = {AGE: ages(90, ended=60)}
    assert ["job.stalled"] == kinds(evaluated(90, last_step={3: 58}, readings=told))


@pytest.mark.parametrize(("lost", "named"), [((), ["3"]), ((7,), ["3"]), ((7, 21, 40), [])])
def test_where_nobody_says_that_one_of_many_losses_is_no_rank_behind(lost, named, steady):
    """Their agents alone say that they live."""
    alive = readings(START + np.arange(0.0, 91, 5), np.ones((4, 1)))
    window = sketch(steady(spread=0.0), now=START + 90,
                    rank_readings={"training.rank.info": alive})  # fmt: skip
    window.steps.at[np.arange(len(lost)), list(lost)] = np.nan
    window.steps.at[3, 59] = np.nan
    found = [f for f in StallsDetector().evaluate(window) if f.kind == "rank.behind_step"]
    assert named == [f.entity.id for f in found]


def test_a_probe_that_never_sends_its_age_is_not_silent_while_no_step_ends(steady):
    alive = readings(START + np.arange(0.0, 91, 5), np.ones((4, 1)))
    window = sketch(steady(spread=0.0), now=START + 90,
                    last_received=np.array([90.0, 90.0, 63.0, 90.0]) + START,
                    rank_readings={"training.rank.info": alive})  # fmt: skip
    assert ["job.stalled"] == kinds(StallsDetector().evaluate(window))


@pytest.mark.parametrize(("returned", "named"), [(88.0, []), (30.0, ["3"]), (-np.inf, ["3"])])
def test_steps_that_a_host_s_agent_was_too_far_away_to_report_are_not_lacking(
    evaluated, ages, returned, named
):
    back = np.array([-np.inf, returned]) + START
    told = {AGE: ages(90, ended=[60, 60, 60, 58])}
    findings = evaluated(90, last_step={3: 57}, host_returned=back, readings=told)
    assert named == [f.entity.id for f in findings if f.kind == "rank.behind_step"]


def test_most_ranks_cannot_be_behind_the_few(evaluated):
    findings = evaluated(90, last_step={0: 58, 1: 58, 2: 58})
    assert ["job.stalled"] == kinds(findings)


def test_a_stack_outside_any_collective_names_the_stuck_rank(evaluated, event):
    stacks = [
        event("process.stack", 80, rank=rank, text="main\n  train\n  backward\n  all_reduce")
        for rank in (0, 1, 3)
    ]
    stuck = event("process.stack", 80, rank=2, text="main\n  train\n  load\n  time.sleep")

    findings = evaluated(90, events=(*stacks, stuck))

    (outside,) = [f for f in findings if f.kind == "rank.outside_collective"]
    assert "2" == outside.entity.id
    assert "time.sleep" in str(outside.observed)


def test_stacks_may_be_written_innermost_first(evaluated, event):
    head = "Thread 1 (most recent call first):\n"
    waits = head + "wait (torch/c10d.py)\n" + "main.py\n" * 5
    sleeps = head + "sleep (lock.py)\n" + "main.py\n" * 4 + "all_reduce (c10d.py)"
    stacks = [event("process.stack", 80, rank=rank, text=waits) for rank in (0, 1, 3)]
    findings = evaluated(90, events=(*stacks, event("process.stack", 80, rank=2, text=sleeps)))
    assert ["2"] == [f.entity.id for f in findings if f.kind == "rank.outside_collective"]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({2: "sleep"}, id="one stack alone"),
        pytest.param(dict.fromkeys(range(4), "sleep"), id="everybody outside"),
        pytest.param(dict.fromkeys(range(4), "all_gather"), id="everybody inside"),
        pytest.param({9: "sleep", 0: "all_gather"}, id="a rank that is not there"),
    ],
)
def test_stacks_that_do_not_differ_accuse_nobody(evaluated, event, texts):
    stacks = tuple(event("process.stack", 80, rank=r, text=text) for r, text in texts.items())
    assert ["job.stalled"] == kinds(evaluated(90, events=stacks))


def test_a_stack_from_before_the_stall_says_nothing(evaluated, event):
    stacks = tuple(
        event("process.stack", 30, rank=r, text="sleep" if r == 2 else "recv") for r in range(4)
    )
    assert ["job.stalled"] == kinds(evaluated(90, events=stacks))


def test_a_silent_probe_on_a_host_that_speaks_is_a_sign(evaluated):
    last_received = np.array([90.0, 90.0, 63.0, 90.0]) + START
    findings = evaluated(90, last_received=last_received)
    (silent,) = [f for f in findings if f.kind == "rank.probe_silent"]
    assert ("2", 27.0) == (silent.entity.id, silent.observed)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"host_last_received": np.array([90.0, 63.0]) + START}, id="its host is silent too"
        ),
        pytest.param({"hosts": 0, "host_of": np.full(4, -1)}, id="no host is known"),
        pytest.param({"host_of": np.array([0, 0, -1, 1])}, id="its own host is not known"),
    ],
)
def test_a_silent_probe_without_a_speaking_host_is_no_sign(evaluated, fields):
    last_received = np.array([90.0, 90.0, 63.0, 90.0]) + START
    assert ["job.stalled"] == kinds(evaluated(90, last_received=last_received, **fields))


@pytest.mark.parametrize(
    ("others", "named"),
    [
        pytest.param(83.0, [], id="all ended together, and reported every five seconds"),
        pytest.param(86.0, ["2"], id="they reported on for eight seconds"),
    ],
)
def test_a_probe_is_silent_where_others_reported_on(evaluated, others, named):
    last_received = np.array([others, 80.0, 78.0, 80.0]) + START
    findings = evaluated(90.5, last_received=last_received)
    assert named == [f.entity.id for f in findings if f.kind == "rank.probe_silent"]


@pytest.mark.parametrize(("silent", "named"), [(75.0, []), (55.0, ["2"])])
def test_a_probe_that_reports_every_fifteen_seconds_is_silent_after_two_of_them(
    evaluated, silent, named
):
    """In an evaluation nothing but ages comes, each rank's at a moment of its own."""
    held = {AGE: readings(START + np.arange(0.0, 91, 15), np.zeros((4, 1)))}
    last_received = np.array([90.0, 94.0, silent, 86.0]) + START
    findings = evaluated(94.5, last_received=last_received, readings=held)
    assert named == [f.entity.id for f in findings if f.kind == "rank.probe_silent"]


def test_most_probes_cannot_be_silent(evaluated):
    last_received = np.array([90.0, 63.0, 63.0, 63.0]) + START
    assert ["job.stalled"] == kinds(evaluated(90, last_received=last_received))


@pytest.mark.parametrize("metric", ["process.cpu.utilization", "hw.gpu.utilization"])
def test_the_one_idle_process_among_busy_waiters_is_a_sign(evaluated, metric):
    at = START + np.arange(0.0, 91, 5)
    busy = readings(at, np.array([[1.0], [0.98], [0.01], [1.0]]))
    findings = evaluated(90, readings={metric: busy})
    (idle,) = [f for f in findings if f.kind == "rank.idle_process"]
    assert ("2", metric) == (idle.entity.id, idle.signal)


def test_the_one_busy_process_among_sleeping_waiters_is_a_sign(evaluated):
    at = START + np.arange(0.0, 91, 5)
    busy = readings(at, np.array([[0.01], [0.02], [1.0], [0.01]]))
    findings = evaluated(90, readings={"process.cpu.utilization": busy})
    assert ["2"] == [f.entity.id for f in findings if f.kind == "rank.idle_process"]


@pytest.mark.parametrize(
    "levels",
    [
        pytest.param([1.0, 0.9, 0.95, 1.0], id="all alike"),
        pytest.param([1.0, 1.0, 0.0, 0.0], id="half and half"),
        pytest.param([1.0, np.nan, 0.0, np.nan], id="two that tell are too few"),
    ],
)
def test_activity_that_singles_nobody_out_is_no_sign(evaluated, levels):
    at = START + np.arange(0.0, 91, 5)
    busy = readings(at, np.array(levels)[:, None])
    findings = evaluated(90, readings={"process.cpu.utilization": busy})
    assert ["job.stalled"] == kinds(findings)


def test_counters_keep_a_job_without_ages_speaking(steady, group):
    valid = group([100, 100, 99, 100], [99] * 4, at=90)
    findings = StallsDetector().evaluate(sketch(steady(), now=START + 90, groups=(valid,)))
    assert "rank.behind_enqueued" in kinds(findings)


@pytest.mark.parametrize("metric", ["system.cpu.utilization", "system.memory.usage"])
def test_the_hosts_speak_for_a_job_that_tells_only_steps(steady, metric):
    at = START + np.arange(0.0, 91, 5)
    valid = {metric: readings(at, np.full((2, 1), 0.3))}
    findings = StallsDetector().evaluate(sketch(steady(), now=START + 90, host_readings=valid))
    assert ["job.stalled"] == kinds(findings)


def test_where_nothing_speaks_beside_the_steps_nothing_is_said(steady):
    assert [] == StallsDetector().evaluate(sketch(steady(), now=START + 300))


def test_without_counters_stacks_or_activity_nobody_is_named(evaluated):
    """The docstring's failure mode."""
    assert ["job.stalled"] == kinds(evaluated(300))


def test_a_stall_goes_on_where_ranks_end_because_a_collective_timed_out(evaluated, event):
    line = "Watchdog caught collective operation timeout"
    timed_out = event("log.fault", 80, rank=1, role="cascade", text=line)
    ends = [event("process.exit", 82 + rank, rank=rank, signal=6) for rank in range(4)]
    assert [] == evaluated(90, events=ends)
    assert ["job.stalled"] == kinds(evaluated(90, events=[timed_out, *ends]))


def test_a_collective_that_timed_out_makes_a_stall_certain(evaluated, event):
    line = event("log.fault", 80, rank=1, role="cascade", signature="nccl_watchdog_timeout")
    (before,), (after,) = evaluated(85), evaluated(85, events=[line])
    assert (1.0, 3.0) == (before.score, after.score)


def test_of_rare_reports_nothing_is_waited_for_once_a_collective_timed_out(evaluated, event):
    line = event("log.fault", 75, rank=1, role="cascade", signature="nccl_watchdog_timeout")
    rare = {"host_interval": np.full(2, 60.0)}
    assert [] == evaluated(80, **rare)
    assert ["job.stalled"] == kinds(evaluated(80, events=[line], **rare))


def test_where_steps_are_reported_rarely_collectives_tell_the_pace(steady, ages, group):
    """Each tenth step is reported, one in 100 s; the counters moved 10 s after the last one."""
    own = steady(steps=6, seconds=99.8)
    groups = [group([65, 65, 65, 64], [64] * 4, at=650.0, changed=610.0)]
    window = sketch(own, now=START + 650, rank_readings={AGE: ages(650)}, groups=groups)
    assert [] == kinds(StallsDetector().evaluate(window))
    rare = replace(window, steps=replace(window.steps, index=window.steps.index * 10))
    found = StallsDetector().evaluate(rare)
    assert ["job.stalled", "rank.behind_enqueued"] == kinds(found)
    assert START + 610 == found[0].onset[0]
