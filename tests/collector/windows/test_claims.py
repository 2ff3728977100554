"""What is only claimed of a job: beside ranks that are checked, and where nobody is."""

import numpy as np
import pytest

from rankscope.detectors import claims
from rankscope.detectors.findings import report
from rankscope.vocabulary import operations
from rankscope.vocabulary.samples import CLAIMED

AGE = "training.progress.age"


def steps(window):
    return window.steps.index.tolist()


@pytest.fixture
def checked(two_by_two):
    """Return a job of four ranks on two hosts, all of them checked."""
    return two_by_two


@pytest.fixture
def unseen(valid):
    """Return a job of two ranks, below an agent that sees nothing of their processes."""
    for rank in range(2):
        valid.info(rank, world_size=2, **CLAIMED)
        for index in range(5):
            claim_step(valid, rank, index, index + 1.0)
    return valid


def claim_step(valid, rank, index, at, **more):
    pairs = {"rank": rank, **CLAIMED}
    valid.metrics(("training.step", index, at, pairs), ("training.loss", 9.0, at, pairs), **more)


def test_a_claim_moves_nothing_of_a_rank_that_is_checked(checked):
    before = checked.window()
    claim_step(checked, 1, 900, 8.0, host="elsewhere")
    checked.info(1, 8.0, host="elsewhere", pid=9, **{"hw.id": "GPU-9"}, **CLAIMED)
    checked.metrics((AGE, 700.0, 8.0, {"rank": 1, **CLAIMED}), host="elsewhere")
    after = checked.window()
    assert (before.hosts, before.hw_ids) == (after.hosts, after.hw_ids)
    assert before.pids.tolist() == after.pids.tolist()
    assert steps(before) == steps(after)
    assert AGE not in after.rank_readings
    assert before.last_received.tolist() == after.last_received.tolist()


@pytest.mark.parametrize("rank", [4, 99, None])
def test_a_job_gets_no_further_rank_nor_word_of_its_own_by_a_claim(checked, rank):
    named = {} if rank is None else {"rank": rank}
    checked.metrics(
        ("training.loss", 9.0, 8.0, {**named, **CLAIMED}),
        ("hw.temperature", 99.0, 8.0, {**named, "hw.id": "GPU-1", **CLAIMED}),
        ("collective.group.info", 1.0, 8.0, {**named, "group": "dp:1", "ranks": "0", **CLAIMED}),
    )
    checked.event("log.fault", 8.0, **named, **CLAIMED)
    window = checked.window()
    assert [0, 1, 2, 3] == window.ranks.tolist()
    assert {"training.rank.info"} == set(window.rank_readings)
    assert () == window.topology.groups
    assert ["log.fault"] == [event.name for event in window.events], "it is kept all the same"


def test_a_rank_that_is_checked_later_takes_its_place(valid):
    valid.info(0, world_size=2)
    valid.step(0, 0, 1.0)
    valid.info(1, host="elsewhere", world_size=2, **CLAIMED)
    claim_step(valid, 1, 0, 1.0, host="elsewhere")
    window = valid.window()
    assert ([0, 1], {1}) == (window.ranks.tolist(), set(window.claimed_ranks))
    assert [100, -1] == window.pids.tolist(), "a claim names no process of the node"
    valid.info(1, 2.0, world_size=2)
    for index in (1, 2):
        claim_step(valid, 1, index + 500, index + 1.0, host="elsewhere")
        valid.step(1, index, index + 1.0)
    window = valid.window()
    assert set() == set(window.claimed_ranks)
    assert [100, 101] == window.pids.tolist()
    assert ["host-a", "host-a"] == [window.host_name(row) for row in range(2)]
    assert [0, 1, 2] == steps(window)


def test_with_the_first_rank_that_is_checked_an_attempt_begins_anew(unseen):
    """Whoever claims ranks of a job before it starts leaves none behind."""
    unseen.event("log.fault", 8.0, rank=1, **CLAIMED)
    for second in (9.0, 14.0):
        unseen.info(0, second, world_size=1)
        claim_step(unseen, 1, 5, second)
    unseen.step(0, 0, 15.0)
    window = unseen.window()
    assert (1, [0], [100], [0]) == (
        window.world_size, window.ranks.tolist(), window.pids.tolist(), steps(window)
    )  # fmt: skip
    assert ["log.fault"] == names(window)


def test_where_nobody_is_checked_claims_are_taken_as_they_are(unseen):
    window = unseen.window()
    assert [0, 1, 2, 3, 4] == steps(window)
    assert (2, [100, 101]) == (window.world_size, window.pids.tolist())
    assert set() == set(window.claimed_ranks)


def test_a_claimed_attempt_replaces_none_that_goes_on(checked):
    claim_step(checked, 0, 0, 6.0, attempt=7)
    checked.event("log.fault", 6.0, attempt=7, **CLAIMED)
    assert 0 == checked.window().attempt
    checked.info(0, 7.0, attempt=1, world_size=4)
    assert 1 == checked.window().attempt
    claim_step(checked, 0, 0, 600.0, attempt=7)
    assert 7 == checked.window().attempt, "nothing else of the job reports any more"


def test_an_unnumbered_job_goes_on_beside_a_claimed_attempt(valid):
    valid.info(0, attempt=None, world_size=1)
    claim_step(valid, 0, 0, 1.0, attempt=7)
    valid.step(0, 0, 2.0, attempt=None)
    assert (0, [0]) == (valid.window().attempt, steps(valid.window()))


def test_a_claimed_start_of_a_process_begins_no_attempt(valid):
    started = {"process.start_time": 1_700_000_000}
    valid.info(0, attempt=None, world_size=1, **started)
    valid.info(0, 9.0, attempt=None, **CLAIMED, **{"process.start_time": 1_700_000_500})
    assert 0 == valid.window().attempt


EXCUSES = [
    ("training.phase", {"rank": 1, "phase": "eval"}),
    ("training.phase", {"phase": "checkpoint"}),
    ("process.exit", {"rank": 1, "exit_code": 0}),
]


def names(window):
    return [event.name for event in window.events]


@pytest.mark.parametrize(("name", "pairs"), EXCUSES)
def test_a_claim_excuses_no_rank_that_is_checked(checked, name, pairs):
    checked.event(name, 8.0, **pairs, **CLAIMED)
    assert [] == names(checked.window())
    checked.event(name, 9.0, **pairs)
    assert [name] == names(checked.window())


@pytest.mark.parametrize(("name", "pairs"), EXCUSES)
def test_where_nobody_is_checked_a_claim_excuses(unseen, name, pairs):
    unseen.event(name, 8.0, **pairs, **CLAIMED)
    assert [name] == names(unseen.window())


def test_an_end_that_is_no_excuse_stays_evidence(checked):
    checked.event("process.exit", 8.0, rank=1, exit_code=1, **CLAIMED)
    assert ["process.exit"] == names(checked.window())


def test_a_kill_of_a_process_that_is_only_claimed_to_be_a_rank_is_as_claimed(unseen):
    unseen.event("host.oom_kill", 8.0, job=None, pid=101)
    (event,) = unseen.window().events
    assert (1, "claimed") == (event.attributes["rank"], event.attributes["quality"])


def test_a_kill_of_one_that_is_checked_is_not(checked):
    checked.event("host.oom_kill", 8.0, job=None, pid=101)
    (event,) = checked.window().events
    assert {"rank": 1, "pid": 101} == dict(event.attributes)


def test_a_fault_of_a_device_stays_what_was_observed(unseen):
    """Only the rank that uses it is claimed."""
    unseen.event("gpu.fault", 8.0, job=None, code="79", **{"hw.id": "GPU-1"})
    (event,) = unseen.window().events
    assert (1, None) == (event.attributes["rank"], event.attributes.get("quality"))


@pytest.mark.parametrize(
    ("signal", "row", "claimed"),
    [
        ("training.progress.age", 1, True),
        ("training.progress.age", 0, False),
        ("system.memory.usage", 1, False),
        ("gpu.fault", 1, False),
    ],
)
def test_a_finding_on_ranks_that_are_only_claimed_is_claimed(valid, signal, row, claimed):
    """But what an agent reads of their node and devices is observed."""
    valid.info(0, world_size=2)
    valid.step(0, 0, 1.0)
    claim_step(valid, 1, 0, 1.0)
    window = valid.window()
    found = report(
        window, "example", "rank.silent", window.rank_entity(row), onset=(1.0, 2.0),
        magnitude=1.0, score=3.0, signal=signal, text="silent",
    )  # fmt: skip
    assert [claimed] == [one.claimed for one in claims.marked(window, [found])]


def test_placing_claims_keeps_to_the_bound_of_ranks(valid):
    valid.windows.bounds = valid.windows.bounds.__class__(ranks=2)
    for rank in range(4):
        claim_step(valid, rank, 0, 1.0)
    assert 2 == len(valid.window().ranks)
    assert np.all(valid.window().ranks < 2)


@pytest.mark.parametrize(("more", "members"), [(CLAIMED, []), ({}, [1])])
def test_claimed_operations_of_a_checked_rank_are_not_compared_with_those_of_others(
    checked, more, members
):
    row = operations.MemberOperation("AllReduce", 10, 1024, None, None, 0.5)
    pairs = {"rank": 1, "group": "dp:1", "text": operations.encode([row])}
    checked.event("collective.operations", 8.0, **pairs, **more)
    held = checked.windows.attempt("run-1").operations.numbers("dp:1")
    assert members == [rank for *_, by_rank in held for rank in by_rank]
