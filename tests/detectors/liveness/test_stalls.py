"""Jobs that stopped stepping, and the ranks that the others wait for."""

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import Stalls
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import Group

AGE = "training.progress.age"


def ages(until, ranks=4, rows=None):
    """Return what the probes of some ranks say every 5 s until a second."""
    at = START + np.arange(0.0, until + 1, 5)
    found = readings(at, np.zeros((ranks, 1)))
    if rows is not None:
        found.at[[row for row in range(ranks) if row not in rows]] = np.nan
    return found


@pytest.fixture
def evaluated(steady):
    """Return a function that evaluates a job whose last step ended 60 s after START."""

    def evaluate(now, *, spoken=None, ranks=4, last_step=None, **fields):
        own = steady(ranks=ranks, spread=0.0)
        valid = {AGE: ages(now if spoken is None else spoken, ranks), **fields.pop("readings", {})}
        window = sketch(own, now=START + now, rank_readings=valid, **fields)
        for row, column in (last_step or {}).items():
            window.steps.at[row, column + 1 :] = np.nan
        return Stalls().evaluate(window)

    return evaluate


@pytest.fixture
def group():
    """Return a function that makes a group of all ranks by their counters, reported at a second."""

    def make(enqueued, completed, at=90.0, changed=61.0, kind="dp"):
        size = len(enqueued)
        return Group(
            name=f"{kind}:1",
            kind=kind,
            rows=np.arange(size),
            enqueued=np.array(enqueued, float),
            completed=np.array(completed, float),
            at=START + np.broadcast_to(np.array(at, float), size),
            changed_at=START + np.broadcast_to(np.array(changed, float), size),
        )

    return make


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


def test_a_slow_job_is_given_two_and_a_half_steps(steady):
    own = steady(seconds=19.8)
    end = 60 * 20
    early, late = (
        Stalls().evaluate(sketch(own, now=START + end + s, rank_readings={AGE: ages(end + s)}))
        for s in (45, 65)
    )
    assert ([], ["job.stalled"]) == (early, kinds(late))


@pytest.mark.parametrize(
    ("now", "score"), [(70, 1.0), (150, 1.0), (239, 1.0), (240, 2.0), (659, 2.0), (660, 3.0)]
)
def test_without_a_sign_it_stays_a_first_word_and_certainty_waits_for_the_collective_time_out(
    evaluated, now, score
):
    """An unannounced evaluation of 40 s, and of 90 s, is normal life."""
    assert score == evaluated(now)[0].score


@pytest.mark.parametrize(("now", "score"), [(70, 1.0), (90, 2.0), (115, 2.0), (120, 3.0)])
def test_a_collective_that_everybody_waits_in_is_certain_after_a_minute(
    evaluated, group, now, score
):
    pending = group([100] * 4, [99] * 4, at=now)
    assert score == evaluated(now, groups=(pending,))[0].score


def test_counters_that_are_all_complete_say_that_nobody_waits_in_a_collective(evaluated, group):
    idle = group([100] * 4, [100] * 4, at=150)
    assert 1.0 == evaluated(150, groups=(idle,))[0].score


@pytest.mark.parametrize(
    ("metric", "usual", "during"),
    [
        pytest.param("hw.gpu.tensor.activity", 0.4, 0.3, id="tensor cores"),
        pytest.param("hw.gpu.sm.activity", 0.8, 0.7, id="multiprocessors"),
        pytest.param("hw.power", 600.0, 550.0, id="power"),
        pytest.param(
            "process.cpu.utilization", 0.6, 0.6, id="processes that neither sleep nor spin"
        ),
    ],
)
def test_a_pause_in_which_the_ranks_work_is_no_hang(evaluated, metric, usual, during):
    at = START + np.arange(0.0, 151, 5)
    level = np.where(at > START + 60, during, usual)
    works = readings(at, np.tile(level, (4, 1)))
    assert [] == evaluated(150, readings={metric: works})


@pytest.mark.parametrize(
    ("metric", "usual", "during"),
    [("hw.gpu.tensor.activity", 0.4, 0.0), ("hw.power", 600.0, 165.0)],
)
def test_devices_that_spin_without_arithmetic_do_not_work(evaluated, group, metric, usual, during):
    at = START + np.arange(0.0, 151, 5)
    spins = readings(at, np.tile(np.where(at > START + 60, during, usual), (4, 1)))
    full = {"hw.gpu.utilization": readings(at, np.ones((4, 1))), metric: spins}
    pending = group([100] * 4, [99] * 4, at=150)
    assert 3.0 == evaluated(150, readings=full, groups=(pending,))[0].score


def test_a_rank_that_saves_while_the_others_wait_for_it_is_no_hang(evaluated, group, event):
    """Rank 0 writes the checkpoint: behind in launches, its process busy, or its stack says so."""
    at = START + np.arange(0.0, 151, 5)
    behind = group([99, 100, 100, 100], [99] * 4, at=150)
    busy = readings(at, np.array([[0.6], [0.02], [0.02], [0.02]]))
    assert [] == evaluated(150, groups=(behind,), readings={"process.cpu.utilization": busy})
    stacks = tuple(
        event(
            "process.stack", 80, rank=r, text="torch.save (serialization.py)" if r == 0 else "recv"
        )
        for r in range(4)
    )
    assert [] == evaluated(150, groups=(behind,), events=stacks)


def test_a_rank_that_burns_its_cpu_outside_the_collective_is_named_once_no_pause_explains_it(
    evaluated, group
):
    at = START + np.arange(0.0, 301, 5)
    behind = group([99, 100, 100, 100], [99] * 4, at=250)
    busy = readings(at, np.array([[1.0], [0.02], [0.02], [0.02]]))
    stalled, *_ = evaluated(300, groups=(behind,), readings={"process.cpu.utilization": busy})
    assert (2.0, [0]) == (stalled.score, list(stalled.ranks))


@pytest.mark.parametrize(("now", "score"), [(70, 1.0), (75, 2.0), (90, 3.0)])
def test_a_stopped_process_is_certain_as_soon_as_ever(evaluated, group, now, score):
    """SIGSTOP of one rank: behind in launches, its process idle."""
    at = START + np.arange(0.0, now + 1, 5)
    behind = group([100, 100, 99, 100], [99] * 4, at=now)
    cpu = readings(at, np.array([[1.0], [1.0], [0.0], [1.0]]))
    stalled, *_ = evaluated(now, groups=(behind,), readings={"process.cpu.utilization": cpu})
    assert (score, [2]) == (stalled.score, list(stalled.ranks))


def test_a_silent_probe_is_stuck_however_long_the_job_paused_before(evaluated):
    last_received = np.array([230.0, 230.0, 163.0, 230.0]) + START
    stalled, *_ = evaluated(230, gaps={30: 100.0}, last_received=last_received)
    assert 3.0 == stalled.score


def test_slow_reporters_are_given_two_of_their_reports(evaluated):
    slow = np.full(2, 20.0)
    assert [] == evaluated(100, host_interval=slow)
    assert ["job.stalled"] == kinds(evaluated(110, host_interval=slow))


def test_time_alone_matters_when_the_next_probe_of_a_job_that_stands_would_be_silent(steady):
    last_received = START + np.array([90, 85, 70.0, 90])
    window = sketch(
        steady(), now=START + 90, last_received=last_received, rank_readings={AGE: ages(90)}
    )
    assert START + 97 == Stalls().next_due(window)


def test_time_alone_changes_nothing_while_reports_show_that_steps_go_on(steady):
    window = sketch(steady(), now=START + 90, rank_readings={AGE: ages(65)})
    assert np.isinf(Stalls().next_due(window))
    assert np.isinf(Stalls().next_due(sketch(steady(ranks=0, steps=0), now=START)))


@pytest.mark.parametrize(("now", "score"), [(70, 1.0), (75, 2.0), (85, 2.0), (90, 3.0)])
def test_where_counters_agree_it_is_certain_sooner(evaluated, group, now, score):
    behind = group([100, 100, 99, 100], [99] * 4, at=now)
    assert score == evaluated(now, groups=(behind,))[0].score


def test_a_wait_that_the_job_has_shown_before_is_not_certain(evaluated):
    """It evaluated for 100 s once."""
    first = [evaluated(60 + 100 + more, gaps={30: 100.0}) for more in (140, 160, 190)]
    assert [[], [1.0], [2.0]] == [[f.score for f in found] for found in first]


def test_a_job_whose_sources_are_all_silent_is_over_and_not_stalled(evaluated):
    assert [] == evaluated(600, spoken=62)


@pytest.mark.parametrize("phase", ["eval", "checkpoint", "init"])
def test_a_phase_that_takes_its_time_is_normal_life(evaluated, event, phase):
    begun = event("training.phase", 62, rank=0, phase=phase)
    assert [] == evaluated(200, events=(begun,))
    assert ["job.stalled"] == kinds(evaluated(300, events=(begun,)))


def test_a_phase_that_ended_is_progress(evaluated, event):
    back = (
        event("training.phase", 62, rank=0, phase="eval"),
        event("training.phase", 130, rank=0, phase="train"),
    )
    assert [] == evaluated(139, events=back)
    assert [] == evaluated(185, events=back)  # somebody may be a minute behind with it
    (finding,) = evaluated(195, events=back)
    assert START + 130 == finding.onset[0]


@pytest.mark.parametrize(("now", "score"), [(75, 1.0), (120, 1.0), (126, 3.0)])
def test_after_a_checkpoint_counters_alone_accuse_nobody_for_a_minute(
    evaluated, group, event, now, score
):
    """One rank may go on writing what all of them said they had written."""
    saved = (
        event("training.phase", 61, rank=0, phase="checkpoint"),
        event("training.phase", 62, rank=0, phase="train"),
    )
    behind = group([100, 100, 99, 100], [99] * 4, at=now)
    stalled, *signs = evaluated(now, groups=(behind,), events=saved)
    assert score == stalled.score
    assert ["rank.behind_enqueued"] == kinds(signs)


def test_a_job_that_said_it_shuts_down_is_not_stalled(evaluated, event):
    events = [event("training.phase", 62, rank=rank, phase="shutdown") for rank in range(4)]
    assert [] == evaluated(200, events=tuple(events))
    partly = (events[0], event("training.phase", 62, rank=1, phase="train"))
    stalled, left = evaluated(200, events=partly)
    assert ("job.stalled", "rank.left_loop", "0") == (stalled.kind, left.kind, left.entity.id)


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


def test_a_job_that_is_being_ended_is_not_stalled_within_the_grace_period(evaluated, event):
    asked = event("process.exit", 62, rank=1, signal=15)
    assert [] == evaluated(130, events=(asked,))
    assert ["job.stalled"] == kinds(evaluated(140, events=(asked,)))


def test_collectives_that_go_on_are_an_evaluation(evaluated, group):
    going_on = group([140] * 4, [140] * 4, at=100, changed=98)
    assert [] == evaluated(100, groups=(going_on,))


def test_one_step_or_none_is_start_up_and_another_detectors(steady):
    for steps in (0, 1):
        window = sketch(steady(steps=steps), now=START + 300, rank_readings={AGE: ages(300)})
        assert [] == Stalls().evaluate(window)


def test_two_steps_are_enough_to_know_what_is_usual(steady):
    window = sketch(steady(steps=2), now=START + 300, rank_readings={AGE: ages(300)})
    assert ["job.stalled"] == kinds(Stalls().evaluate(window))


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


def test_a_rank_whose_last_step_is_older_is_behind(evaluated):
    findings = evaluated(90, last_step={3: 57})
    (behind,) = [f for f in findings if f.kind == "rank.behind_step"]
    assert ("3", 57.0, 59.0) == (behind.entity.id, behind.observed, behind.expected)


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


@pytest.mark.parametrize("waiters", [0.9, 0.02])
def test_a_rank_that_uses_a_second_cpu_while_the_others_wait_writes_a_checkpoint(
    evaluated, waiters
):
    at = START + np.arange(0.0, 151, 5)
    busy = readings(at, np.array([[1.5], *[[waiters]] * 3]))
    assert [] == evaluated(150, readings={"process.cpu.utilization": busy})


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
    findings = Stalls().evaluate(sketch(steady(), now=START + 90, groups=(valid,)))
    assert "rank.behind_enqueued" in kinds(findings)


@pytest.mark.parametrize("metric", ["system.cpu.utilization", "system.memory.usage"])
def test_the_hosts_speak_for_a_job_that_tells_only_steps(steady, metric):
    at = START + np.arange(0.0, 91, 5)
    valid = {metric: readings(at, np.full((2, 1), 0.3))}
    findings = Stalls().evaluate(sketch(steady(), now=START + 90, host_readings=valid))
    assert ["job.stalled"] == kinds(findings)


def test_where_nothing_speaks_beside_the_steps_nothing_is_said(steady):
    assert [] == Stalls().evaluate(sketch(steady(), now=START + 300))


def test_without_counters_stacks_or_activity_nobody_is_named(evaluated):
    """The docstring's failure mode."""
    assert ["job.stalled"] == kinds(evaluated(300))
