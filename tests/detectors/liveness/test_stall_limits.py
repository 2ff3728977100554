"""When a stall is reported, an incident, a warning, certain: by what the ranks do meanwhile."""

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings

CPU = "process.cpu.utilization"


def processes(now, *levels):
    """Return the CPUs that each rank uses, the same all the time."""
    return {CPU: readings(START + np.arange(0.0, now + 1, 5), np.array(levels)[:, None])}


def scores(found):
    return [finding.score for finding in found if finding.kind == "job.stalled"]


@pytest.mark.parametrize(
    ("now", "score"),
    [(70, 1.0), (149, 1.0), (150, 1.5), (239, 1.5), (240, 2.0), (659, 2.0), (660, 3.0)],
)
def test_without_a_sign_it_accuses_nobody_for_long_and_certainty_waits_for_the_collective_time_out(
    evaluated, now, score
):
    """An unannounced evaluation of 40 s, and of 90 s, is normal life."""
    assert score == evaluated(now)[0].score


@pytest.mark.parametrize(("now", "score"), [(70, 1.5), (90, 2.0), (115, 2.0), (120, 3.0)])
def test_a_collective_that_everybody_waits_in_is_certain_after_a_minute(
    evaluated, group, now, score
):
    pending = group([100] * 4, [99] * 4, at=now)
    assert score == evaluated(now, groups=(pending,))[0].score


@pytest.mark.parametrize(
    ("rows", "cpu", "score"),
    [
        pytest.param(4, None, 2.0, id="all ranks wait"),
        pytest.param(2, None, 1.0, id="of the others nothing is known: they may evaluate"),
        pytest.param(2, 1.0, 2.0, id="their processes spin"),
    ],
)
def test_a_collective_of_some_is_a_hang_where_something_is_known_of_the_others(
    evaluated, group, rows, cpu, score
):
    pending = group([100] * rows, [99] * rows, at=95)
    busy = {} if cpu is None else processes(95, *([cpu] * 4))
    assert score == evaluated(95, groups=(pending,), readings=busy)[0].score


def test_counters_that_are_all_complete_say_that_nobody_waits_in_a_collective(evaluated, group):
    idle = group([100] * 4, [100] * 4, at=149)
    assert 1.0 == evaluated(149, groups=(idle,))[0].score


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


@pytest.mark.parametrize(("now", "score"), [(70, 1.5), (75, 2.0), (90, 3.0)])
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


@pytest.mark.parametrize(("now", "score"), [(70, 1.5), (75, 2.0), (85, 2.0), (90, 3.0)])
def test_where_counters_agree_it_is_certain_sooner(evaluated, group, now, score):
    behind = group([100, 100, 100, 99], [99] * 4, at=now)
    assert score == evaluated(now, groups=(behind,))[0].score


def test_a_wait_that_the_job_has_shown_before_is_not_certain(evaluated):
    """It evaluated for 100 s once: half as long again is no such pause."""
    first = [evaluated(60 + 100 + more, gaps={30: 100.0}) for more in (140, 160, 190)]
    assert [[], [1.5], [2.0]] == [[f.score for f in found] for found in first]


@pytest.mark.parametrize("phase", ["eval", "checkpoint", "init"])
def test_a_phase_that_takes_its_time_is_normal_life(evaluated, event, phase):
    begun = event("training.phase", 62, rank=0, phase=phase)
    assert [] == evaluated(200, events=(begun,))
    assert 1 == len(scores(evaluated(300, events=(begun,))))


def test_a_phase_takes_no_longer_where_hosts_report_rarely(evaluated, event):
    begun = event("training.phase", 62, rank=0, phase="eval")
    rare = {"host_interval": np.full(2, 25.0), "steps_interval": 25.0}
    assert [] == evaluated(200, events=(begun,), **rare)
    assert 1 == len(scores(evaluated(300, events=(begun,), **rare)))


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
    assert ["rank.behind_enqueued"] == [sign.kind for sign in signs]


@pytest.mark.parametrize(
    ("state", "score"),
    [
        ("process is stopped by a signal (state T)", 3.0),
        ("process is stopped by a debugger (state t)", 3.0),
        ("process waits uninterruptibly in folio_wait_bit (state D)", 1.0),
    ],
)
def test_who_was_stopped_writes_no_checkpoint_and_who_waits_for_the_disk_may(
    evaluated, group, event, state, score
):
    """Half a minute after a checkpoint: the kernel knows what counters do not."""
    events = (
        event("training.phase", 61, rank=0, phase="checkpoint"),
        event("training.phase", 62, rank=0, phase="train"),
        event("process.stack", 75, rank=2, text=state),
    )
    behind = group([100, 100, 99, 100], [99] * 4, at=95)
    stalled, *_ = evaluated(95, groups=(behind,), events=events)
    assert score == stalled.score


def test_a_rank_that_is_stopped_speaks_for_itself_alone(evaluated, group, event):
    """Another one that is behind as well may go on writing."""
    events = (
        event("training.phase", 61, rank=0, phase="checkpoint"),
        event("training.phase", 62, rank=0, phase="train"),
        event("process.stack", 75, rank=2, text="process is stopped by a signal (state T)"),
    )
    behind = group([100, 99, 99, 100], [99] * 4, at=95)
    assert 1.0 == evaluated(95, groups=(behind,), events=events)[0].score


@pytest.mark.parametrize("waiters", [0.9, 0.02])
def test_a_rank_that_uses_a_second_cpu_while_the_others_wait_writes_a_checkpoint(
    evaluated, waiters
):
    at = START + np.arange(0.0, 151, 5)
    busy = readings(at, np.array([[1.5], *[[waiters]] * 3]))
    assert [] == evaluated(150, readings={"process.cpu.utilization": busy})


@pytest.mark.parametrize(
    ("now", "score"), [(70, 1.5), (89, 1.5), (90, 2.0), (119, 2.0), (120, 3.0)]
)
def test_a_circle_of_waits_counts_even_while_its_ranks_burn_their_cpus(
    evaluated, group, now, score
):
    """Ranks 0 and 1 wait for each other in two groups, at the CPU of somebody at work."""
    first = group([10, 9, 10, 10], [9] * 4, at=now)
    second = group([19, 20, 20, 20], [19] * 4, at=now, kind="tp")
    busy = processes(now, 0.6, 0.6, 0.02, 0.02)
    assert [score] == scores(evaluated(now, groups=(first, second), readings=busy))
    assert [] == evaluated(now, groups=(first,), readings=busy)


@pytest.mark.parametrize(
    ("row", "now", "found"),
    [
        pytest.param(1, 149, [], id="the second of its host may be at work for a while"),
        pytest.param(1, 150, [2.0], id="but nobody gives it work that is for all"),
        pytest.param(2, 239, [], id="the first of a host may load or save for the others"),
        pytest.param(2, 240, [2.0], id="and not for ever"),
    ],
)
def test_a_lone_rank_at_work_is_given_less_time_where_it_is_not_the_first_of_its_host(
    evaluated, group, row, now, found
):
    counters, busy = np.full(4, 100), np.full(4, 0.02)
    counters[row], busy[row] = 99, 1.0
    behind = group(counters, [99] * 4, at=now)
    assert found == scores(evaluated(now, groups=(behind,), readings=processes(now, *busy)))


@pytest.mark.parametrize(("now", "score"), [(95, 2.0), (115, 2.0), (125, 3.0)])
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(("training.phase", {"phase": "shutdown"}), id="said that training is over"),
        pytest.param(("training.phase", {"phase": "eval"}), id="says it evaluates, and sleeps"),
        pytest.param(("process.exit", {"exit_code": 0}), id="ended in order"),
    ],
)
def test_who_waits_for_a_rank_that_left_the_loop_and_sleeps_waits_in_vain(
    evaluated, event, how, now, score
):
    name, pairs = how
    asleep = processes(now, 0.02, 0.02, 0.02, 0.02)
    gone = event(name, 61, rank=1, **pairs)
    assert [score] == scores(evaluated(now, events=(gone,), readings=asleep))


def test_a_rank_that_evaluates_for_the_others_did_not_leave_the_loop(evaluated, event):
    evaluates = event("training.phase", 61, rank=1, phase="eval")
    busy = processes(150, 0.02, 0.6, 0.02, 0.02)
    assert [] == evaluated(150, events=(evaluates,), readings=busy)


IO = "system.pressure|some|io"


def idle_devices(now):
    """Return devices of which none calculates since the stall began."""
    at = START + np.arange(0.0, now + 1, 5)
    return {"hw.power": readings(at, np.tile(np.where(at > START + 60, 165.0, 600.0), (4, 1)))}


def waits_for_io(now, during, *, until=None):
    """Return the shares of time that tasks of the hosts waited for I/O, `during` the stall."""
    at = START + np.arange(0.0, (now if until is None else until) + 1, 5)
    return {IO: readings(at, np.where(at > START + 60, np.array(during)[:, None], 0.003))}


@pytest.mark.parametrize(
    ("row", "during", "now", "found"),
    [
        pytest.param(0, (0.08, 0.002), 200, [], id="the first of the job writes"),
        pytest.param(0, (0.08, 0.002), 240, [2.0], id="and not for ever"),
        pytest.param(1, (0.08, 0.002), 90, [3.0], id="nobody gives its second work for all"),
        pytest.param(0, (0.002, 0.08), 90, [3.0], id="it is another host that writes"),
        pytest.param(0, (0.08, 0.07), 90, [], id="all hosts write, and it writes longest"),
        pytest.param(0, (0.97, 0.002), 90, [3.0], id="nothing is written: the storage hangs"),
        pytest.param(0, (0.002, 0.002), 90, [3.0], id="nobody writes"),
    ],
)
def test_where_no_cpu_is_reported_the_io_of_its_host_tells_that_the_first_rank_saves(
    evaluated, group, row, during, now, found
):
    counters = np.full(4, 100)
    counters[row] = 99
    behind = group(counters, [99] * 4, at=now)
    fields = {"readings": idle_devices(now), "host_readings": waits_for_io(now, during)}
    assert found == scores(evaluated(now, groups=(behind,), **fields))


@pytest.mark.parametrize(
    ("row", "now", "found"),
    [
        pytest.param(0, 90, [1.0], id="the first of the job may evaluate, and nothing shows it"),
        pytest.param(0, 149, [1.0], id="for as long as one rank alone may take"),
        pytest.param(0, 150, [1.5], id="longer than that it is worth an incident"),
        pytest.param(0, 239, [1.5], id="a first pause may take so long"),
        pytest.param(0, 240, [2.0], id="and not for ever"),
        pytest.param(2, 90, [1.0], id="the first of a host may as well"),
        pytest.param(1, 70, [1.5], id="nobody evaluates on its second alone"),
        pytest.param(1, 90, [3.0], id="which is soon certain"),
    ],
)
def test_where_neither_cpu_nor_device_is_reported_the_first_rank_is_stuck_for_certain_only_by_time(
    evaluated, group, row, now, found
):
    counters = np.full(4, 100)
    counters[row] = 99
    behind = group(counters, [99] * 4, at=now)
    assert found == scores(evaluated(now, groups=(behind,)))


def test_a_stack_shows_that_the_first_rank_is_stuck_where_nothing_else_is_reported(
    evaluated, group, event
):
    behind = group([99, 100, 100, 100], [99] * 4, at=100)
    stacks = tuple(
        event("process.stack", 80, rank=rank, text="acquire (lock.py)" if rank == 0 else "recv")
        for rank in range(4)
    )
    assert [3.0] == scores(evaluated(100, groups=(behind,), events=stacks))


def test_the_first_rank_is_not_called_stuck_before_the_io_of_its_host_is_known(evaluated, group):
    behind = group([99, 100, 100, 100], [99] * 4, at=80)
    waits = waits_for_io(80, (0.08, 0.002), until=60)
    assert [1.0] == scores(evaluated(80, groups=(behind,), host_readings=waits))
    behind = group([99, 100, 100, 100], [99] * 4, at=90)
    waits = waits_for_io(90, (0.08, 0.002), until=60)
    fields = {"readings": idle_devices(90), "host_readings": waits}
    assert [3.0] == scores(evaluated(90, groups=(behind,), **fields))


@pytest.mark.parametrize(("cpu", "found"), [(0.06, []), (0.0, [3.0])])
def test_a_process_that_uses_no_cpu_at_all_writes_nothing(evaluated, group, cpu, found):
    behind = group([99, 100, 100, 100], [99] * 4, at=120)
    known = processes(120, cpu, 0.02, 0.02, 0.02)
    waits = waits_for_io(120, (0.08, 0.002))
    fields = {"groups": (behind,), "readings": known, "host_readings": waits}
    assert found == scores(evaluated(120, **fields))
