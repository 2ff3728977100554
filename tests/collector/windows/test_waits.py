"""Who waits for whom: the last member of each group, and what it costs the others."""

import pytest

from rankscope.collector.windows.waits import WaitReader

COMM = "training.comm.duration"
GROUP = "collective.group.info"
PAIR = {"group": "tp:1", "kind": "tp", "desc": "", "size": 2, "ranks": "0,1"}
ALL = {"group": "dp:1", "kind": "dp", "desc": "", "size": 4, "ranks": "0-3"}


def waits(valid, seconds, *groups, steps=3):
    """Report how long each rank waits in each step, and which groups there are."""
    for rank, long in enumerate(seconds):
        valid.info(rank)
        for step in range(steps):
            valid.metrics(("training.step", step, step, {"rank": rank}))
            if long is not None:
                valid.metrics((COMM, long, step, {"rank": rank}))
    for group in groups:
        valid.metrics((GROUP, 1, 0, group))


def read(valid, *, since=0.0, most=20):
    found = WaitReader().read(valid.windows, since=since, most=most)
    return [(row.group, row.kind, row.rank, pytest.approx(row.seconds)) for row in found]


def test_the_last_of_a_group_waits_least_and_the_others_wait_for_it(valid):
    waits(valid, [0.5, 0.1, 0.4, 0.6], PAIR, ALL)
    assert read(valid) == [("dp:1", "dp", 1, 1.2), ("tp:1", "tp", 1, 0.4)]


def test_only_the_longest_are_returned(valid):
    waits(valid, [0.5, 0.1, 0.4, 0.6], PAIR, ALL)
    assert read(valid, most=1) == [("dp:1", "dp", 1, 1.2)]


def test_a_group_with_a_member_that_reports_no_waits_is_left_out(valid):
    waits(valid, [0.5, 0.1, None, 0.6], PAIR, ALL)
    assert read(valid) == [("tp:1", "tp", 1, 0.4)]


def test_nobody_waits_for_nobody(valid):
    waits(valid, [0.5, 0.5], PAIR)
    assert read(valid) == []


def test_a_job_without_groups_or_steps_has_none(valid):
    valid.info(0)
    assert read(valid) == []
    waits(valid, [0.5, 0.1])
    assert read(valid) == []


def test_jobs_that_no_longer_report_are_left_out(valid):
    waits(valid, [0.5, 0.1], PAIR)
    assert read(valid, since=float("inf")) == []


def test_what_is_kept_of_a_job_follows_its_groups(valid):
    waits(valid, [0.5, 0.1, 0.4, 0.6], PAIR)
    one = WaitReader()
    assert [row.group for row in one.read(valid.windows, since=0.0, most=20)] == ["tp:1"]
    valid.metrics((GROUP, 1, 0, ALL))
    again = one.read(valid.windows, since=0.0, most=20)
    assert [row.group for row in again] == ["dp:1", "tp:1"]
    assert again[0].host is not None
