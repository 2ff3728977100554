"""Attempts where nobody names them, and hosts that announce what they do."""

import pickle

import numpy as np
import pytest

AGE = "training.progress.age"
START_TIME = "process.start_time"
DAY = 1_700_000_000


@pytest.fixture
def unnamed(valid):
    """Return windows of a job of four ranks that names no attempt, at its fifth step."""
    for rank in range(4):
        valid.info(rank, attempt=None, **{START_TIME: DAY - 100 + rank})
    for index in range(5):
        for rank in range(4):
            valid.step(rank, index, 10.0 + index, attempt=None)
    return valid


def restarted(told, *ranks, at=100.0, first=0):
    for rank in ranks:
        pid = {START_TIME: DAY + int(at) + rank, "pid": 900 + rank}
        told.info(rank, at + 10, attempt=None, **pid)
    for index in range(first, first + 3):
        for rank in ranks:
            told.step(rank, index, at + 20 + index - first, attempt=None)


def test_a_staggered_restart_of_all_ranks_is_one_new_attempt(unnamed):
    restarted(unnamed, 0, 1, 2, 3)
    window = unnamed.window(now=130.0)
    assert [("run-1", 0), ("run-1", 1)] == sorted(unnamed.windows.attempts)
    assert (1, [0, 1, 2]) == (window.attempt, window.steps.index.tolist())
    assert [900, 901, 902, 903] == window.pids.tolist()
    assert DAY + 100 == window.attempt_started_at


def test_a_restart_that_goes_on_from_a_checkpoint_is_a_new_attempt_too(unnamed):
    restarted(unnamed, 0, 1, 2, 3, first=5)
    assert (1, [5, 6, 7]) == (
        unnamed.window(now=130.0).attempt,
        unnamed.window(now=130.0).steps.index.tolist(),
    )


def test_the_old_processes_last_words_do_not_move_the_new_attempt(unnamed):
    restarted(unnamed, 0)
    unnamed.info(1, 112.0, attempt=None, **{START_TIME: DAY - 99})
    restarted(unnamed, 1, 2, 3)
    window = unnamed.window(now=130.0)
    assert (1, [900, 901, 902, 903]) == (window.attempt, window.pids.tolist())


def test_the_same_start_said_less_precisely_is_no_restart(unnamed):
    unnamed.info(0, 20.0, attempt=None, **{START_TIME: DAY - 98})
    assert 0 == unnamed.window().attempt


def test_without_start_times_other_pids_and_steps_that_begin_again_are_a_restart(valid):
    for rank in range(2):
        valid.info(rank, attempt=None)
    for index in range(5):
        for rank in range(2):
            valid.step(rank, index, 10.0 + index, attempt=None)
    valid.info(0, 50.0, attempt=None, pid=900)
    assert 0 == valid.window().attempt, "a process alone may be reported under two numbers"
    for index in range(3):
        for rank in range(2):
            valid.step(rank, index, 60.0 + index, attempt=None)
    window = valid.window(now=70.0)
    assert (1, 2) == (window.attempt, int(window.steps.index[-1]))


def test_named_attempts_stay_what_they_are(two_by_two):
    two_by_two.info(0, 60.0, pid=900, **{START_TIME: DAY + 50})
    two_by_two.info(0, 70.0, pid=901, **{START_TIME: DAY + 69})
    assert [("run-1", 0)] == list(two_by_two.windows.attempts)


def test_telemetry_that_names_no_attempt_belongs_to_the_newest(two_by_two):
    two_by_two.info(0, 100.0, attempt=3)
    two_by_two.metrics((AGE, 2.0, 101, {"rank": 0}), attempt=None)
    assert 3 == two_by_two.window().attempt
    assert 2.0 == two_by_two.window().of_ranks(AGE).latest()[0][0]


def test_a_host_that_announced_its_agents_end_is_marked_until_it_reports_again(two_by_two):
    two_by_two.event("agent.lifecycle", 6, job=None, phase="shutdown")
    two_by_two.metrics((AGE, 1.0, 6, {"rank": 0}), now=7)
    assert [True, False] == two_by_two.window().host_announced.tolist(), "sent before the end"
    two_by_two.metrics((AGE, 1.0, 60, {"rank": 0}), now=60)
    assert [False, False] == two_by_two.window().host_announced.tolist()
    two_by_two.event("agent.lifecycle", 61, job=None, phase="shutdown")
    two_by_two.event("agent.lifecycle", 63, job=None, phase="start", interval_seconds=20)
    window = two_by_two.window()
    assert [False, False] == window.host_announced.tolist()
    assert 20.0 == window.host_interval[0], "it says so itself"


def test_a_hosts_interval_is_known_after_three_gaps(valid):
    for number, at in enumerate((0, 1, 21, 41)):
        valid.step(0, number, at, now=at)
        assert (number < 3) == np.isnan(valid.window().host_interval[0])
    assert 20.0 == pytest.approx(valid.window().host_interval[0], rel=0.1)


def test_a_group_with_unreadable_ranks_has_none(two_by_two):
    group = {"rank": 0, "group": "dp:1", "kind": "dp"}
    two_by_two.metrics(("collective.group.info", 1, 5, {**group, "ranks": "0-2:2"}))
    two_by_two.metrics(("collective.group.info", 1, 5, {**group, "group": "x", "ranks": "9-1"}))
    groups = {group.name: group.ranks for group in two_by_two.window().topology.groups}
    assert [0, 2] == list(groups["dp:1"])
    assert [] == list(groups["x"])


def test_the_topology_is_one_value_until_something_moves(two_by_two):
    before = two_by_two.window().topology
    two_by_two.step(0, 5, 6.0)
    assert before is two_by_two.window().topology
    labels = {"network_switch": "leaf-1"}
    two_by_two.metrics(("system.cpu.utilization", 0.5, 7, {}), job=None, **labels)
    port = {"device": "mlx5_0", "port": "1", "rail": "0", "switch": "leaf-1", "gpu": "GPU-0"}
    two_by_two.metrics(("hw.network.info", 1, 7, port), job=None)
    after = two_by_two.window().topology
    assert ({"host-a": "leaf-1"}, before.version + 1) == (after.switches, after.version)
    assert ["host-a/mlx5_0:1"] == [nic.id for nic in after.nics]
    assert [0] == list(after.nic_entity(after.nics[0]).ranks)


def test_windows_are_pickled_with_everything_they_hold(two_by_two):
    two_by_two.metrics((AGE, 2.0, 6, {"rank": 0}))
    two_by_two.event("training.phase", 6, rank=0, phase="eval")
    two_by_two.window()
    again = type(two_by_two)()
    again.windows = pickle.loads(pickle.dumps(two_by_two.windows, 5))  # noqa: S301  our own bytes
    for told in (two_by_two, again):
        told.step(0, 5, 7.0)
        told.metrics((AGE, 3.0, 8, {"rank": 1}))
    first, second = two_by_two.window(), again.window()
    assert repr(first.steps) == repr(second.steps)
    assert first.of_ranks(AGE).latest()[0].tolist()[:2] == [2.0, 3.0]
    np.testing.assert_array_equal(first.of_ranks(AGE).latest()[0], second.of_ranks(AGE).latest()[0])
    assert first.events == second.events


def test_what_was_changed_between_two_attempts_is_known_to_the_later_one(valid):
    """Whoever reports it knows of no new attempt yet."""
    for attempt, first in ((0, 0), (1, 100)):
        valid.event("change", first + 2, attempt=attempt, kind="driver", text="early")
        for second in range(first, first + 60, 5):
            valid.step(0, second, second, attempt=attempt)
        if not attempt:
            valid.event("change", 70, attempt=0, kind="driver", text="550 -> 535")
    texts = [event.attributes["text"] for event in valid.window(now=160).events]
    assert ["550 -> 535", "early"] == texts
