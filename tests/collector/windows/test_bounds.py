"""Bounds on what is held of jobs and hosts: harmless input, small bounds, what is left out."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.collector.windows.bounds import WindowBounds
from rankscope.collector.windows.placements import PlacementColumns
from rankscope.collector.windows.retention import FORGET_SECONDS
from rankscope.formats.otlp.series import SeriesTable
from rankscope.vocabulary import operations

AGE = "training.progress.age"


@pytest.fixture
def bounded(valid):
    """Return a function that gives windows with some small bounds."""

    def of(**bounds):
        valid.windows.bounds = replace(WindowBounds(), **bounds)
        return valid

    return of


def jobs(told):
    return sorted({job for job, _ in told.windows.attempts})


def test_a_job_too_many_is_left_out_and_noted_whether_samples_or_logs_name_it(bounded):
    told = bounded(jobs=2)
    told.info(0, job="a")
    told.event("log.fault", 1, job="b", text="x")
    told.info(0, 2, job="c")
    told.event("log.fault", 2, job="d", text="x")
    told.info(0, 3, job="a")
    assert ["a", "b"] == jobs(told)
    assert {"jobs": (2, "d")} == told.windows.notes.take()
    assert {} == told.windows.notes.take()


def test_there_is_room_again_once_a_job_was_forgotten(bounded, after):
    told = bounded(jobs=1)
    told.info(0, job="a")
    told.info(0, 1, job="b")
    told.windows.forget(after(FORGET_SECONDS + 1))
    told.info(0, FORGET_SECONDS + 2, job="b")
    assert ["b"] == jobs(told)


def test_a_job_keeps_its_newest_attempts_however_many_there_are(bounded):
    told = bounded(attempts=5)
    for attempt in range(40):
        told.info(0, 10.0 * attempt, attempt=attempt)
        told.event("log.fault", 10.0 * attempt, attempt=attempt, text="x")
    numbers = [number for _, number in told.windows.attempts]
    assert 39 == max(numbers)
    assert len(numbers) <= 5
    assert 39 == told.window(now=400).attempt
    assert told.windows.table.live <= 5 * 1 + 1


def test_attempts_of_one_payload_are_bounded_too(bounded):
    told = bounded(attempts=4)
    points = [(AGE, 1.0, 1.0, {"rank": 0})]
    for attempt in range(20):
        told.windows._attempts.of("run-1", attempt, None)
    assert 7 == len(told.windows.attempts)
    assert 13 == told.windows.notes.take()["attempts"][0]
    told.metrics(*points, attempt=6)
    assert [4, 5, 6] == [number for _, number in told.windows.attempts]


def test_ranks_too_many_are_left_out_and_known_ones_live_on(bounded):
    told = bounded(ranks=3)
    told.metrics(*((AGE, 1.0, 1.0, {"rank": rank}) for rank in (5, 7, 9, 11)))
    told.metrics(*((AGE, 2.0, 2.0, {"rank": rank}) for rank in (11, 5)))
    told.event("log.fault", 3, rank=12, text="x")
    window = told.window()
    assert [5, 7, 9] == window.ranks.tolist()
    assert [2.0, 1.0, 1.0] == window.of_ranks(AGE).latest()[0].tolist()
    count, job = told.windows.notes.take()["ranks"]
    assert (2, "run-1") == (count, job)


def test_a_group_of_too_many_ranks_keeps_the_members_that_are_known(bounded):
    told = bounded(ranks=100)
    info = ("collective.group.info", 1.0, 1.0)
    told.metrics((*info, {"group": "dp:1", "ranks": "0-99", "kind": "dp", "rank": 0}))
    told.metrics((*info, {"group": "dp:1", "ranks": "0-100", "kind": "dp", "rank": 0}))
    groups = told.windows.attempt("run-1").groups
    assert "0-99" == str(groups["dp:1"].ranks)


def test_hosts_too_many_are_left_out_and_numbers_of_silent_ones_are_used_again(bounded, after):
    told = bounded(hosts=3)
    for host in "abcd":
        told.metrics(("system.cpu.utilization", 0.5, 1.0, {}), host=host, job=None)
        told.event("gpu.fault", 1.0, host=host, job=None, text="x")
    assert ["a", "b", "c"] == told.windows.host_names
    assert (2, "d") == told.windows.notes.take()["hosts"]
    later = FORGET_SECONDS + 10
    told.metrics(("system.cpu.utilization", 0.5, later, {}), host="b", job=None)
    told.windows.forget(after(later))
    told.metrics(("system.cpu.utilization", 0.7, later + 1, {}), host="d", job=None)
    assert {"b", "d"} == {*told.windows.host_names} - {""}
    held = told.windows.of_node("d", lambda _job: True)
    assert [0.7] == [plane.last_value[row] for plane, row, _ in held]
    assert {"b"} | {"d"} == set(told.windows.known_hosts.numbers)


def test_the_oldest_events_of_a_job_go_where_its_texts_are_long(bounded):
    told = bounded(events_of_one=5000)
    for second in range(10):
        told.event("log.fault", second, text=f"{second}" * 1000)
    events = told.window().events
    assert ["7" * 1000, "8" * 1000, "9" * 1000] == [one.attributes["text"] for one in events]
    assert (7, "run-1") == told.windows.notes.take()["event_bytes"]


def test_where_all_events_are_too_many_those_go_of_whoever_has_most(bounded):
    told = bounded(events=20_000)
    told.event("log.fault", 0, job="quiet", text="q" * 1000)
    told.event("gpu.fault", 0, job=None, host="host-b", text="h" * 1000)
    for second in range(30):
        told.event("log.fault", second, text="l" * 1000)
    assert 1 == len(told.windows.attempt("quiet").events)
    assert 1 == len(told.windows.known_hosts.events["host-b"])
    loud = told.windows.attempt("run-1").events
    assert 0 < len(loud) < 15
    assert {"event_bytes"} == told.windows.notes.take().keys()


def test_events_that_are_not_held_take_no_room_of_those_that_are(bounded):
    told = bounded(events=20_000)
    for second in range(12):
        told.event("log.fault", second, text="l" * 1000)
    for second in range(40):
        told.event(operations.EVENT, second, rank=0, group="dp:1", text="[" + 5000 * " " + "]")
    assert 12 == len(told.windows.attempt("run-1").events)
    assert {} == told.windows.notes.take()


def test_events_that_went_make_room_for_as_many(bounded):
    told = bounded(events=20_000, events_of_one=10_000)
    for second in range(40):
        told.event("log.fault", second, job="quiet" if second < 6 else "run-1", text="l" * 1000)
    held = [len(told.windows.attempt(job).events) for job in ("quiet", "run-1")]
    assert [6, 6] == held
    assert 28 == told.windows.notes.take()["event_bytes"][0]


def test_the_room_that_a_high_rank_takes_is_that_of_one(valid):
    placements = PlacementColumns()
    high = np.array([9_999_999, 3, 9_999_999, 5_000_000], np.int64)
    assert [0, 1, 0, 2] == placements.rows(high).tolist()
    assert len(placements._near) <= 1024
    assert (0, 1, 2, None) == tuple(map(placements.row, (9_999_999, 3, 5_000_000, 4)))
    assert [2, -1, -1] == placements.known_rows(np.array([5_000_000, 7, -1])).tolist()


def test_rows_stay_the_same_while_the_array_of_ranks_grows_beyond_them():
    placements = PlacementColumns()
    random = np.random.default_rng(5)
    expected: dict[int, int] = {}
    for most in (50, 40_000, 3000, 20_000, 20_000):
        ranks = random.integers(0, most, 400)
        rows = placements.rows(ranks)
        for rank in ranks.tolist():
            expected.setdefault(rank, len(expected))
        assert [expected[rank] for rank in ranks.tolist()] == rows.tolist()
    assert expected == {rank: placements.row(rank) for rank in expected}
    placements.rows(np.arange(20_000))
    assert all(placements.row(rank) == row for rank, row in expected.items())


def test_series_without_room_give_their_numbers_back(bounded, after):
    told = bounded(jobs=1)
    told.info(0, job="a")
    told.info(0, 1, job="b")
    assert 2 == told.windows.table.live
    told.windows.forget(after(10))
    told.info(1, 11, job="a")
    assert isinstance(told.windows.table, SeriesTable)
    assert 2 == told.windows.table.live
