"""Attempts and jobs that are forgotten, and such that come back."""

from rankscope.collector.windows import queries
from rankscope.collector.windows.retention import FORGET_SECONDS

AGE = "training.progress.age"


def test_attempts_beyond_the_newest_three_are_forgotten(valid, after):
    for attempt in range(5):
        valid.info(0, 10.0 * attempt, attempt=attempt)
        valid.step(0, 1, 10.0 * attempt + 1, attempt=attempt)
    valid.windows.forget(after(100))
    assert [2, 3, 4] == [number for _, number in valid.windows.attempts]
    assert 4 == valid.window().attempt


def test_a_job_that_was_silent_for_half_a_day_is_forgotten(two_by_two, after):
    live = two_by_two.windows.table.live
    two_by_two.windows.forget(after(FORGET_SECONDS - 10))
    assert 1 == len(queries.jobs(two_by_two.windows))
    two_by_two.windows.forget(after(FORGET_SECONDS + 10))
    assert [] == queries.jobs(two_by_two.windows)
    two_by_two.info(0, FORGET_SECONDS + 20, job="run-2")
    assert (1, live) == (two_by_two.windows.table.live, two_by_two.windows.expired)


def test_a_forgotten_job_that_speaks_again_is_known_again(two_by_two, after):
    later = FORGET_SECONDS + 10
    two_by_two.windows.forget(after(later))
    for rank in range(4):
        host = "host-a" if rank < 2 else "host-b"
        two_by_two.info(rank, later + 1, host=host, world_size=4, local_rank=rank % 2)
        two_by_two.step(rank, 7, later + 2, host=host)
        two_by_two.step(rank, 8, later + 3, host=host)
    window = two_by_two.window(now=later + 3)
    assert [7, 8] == window.steps.index.tolist()
    assert [0, 0, 1, 1] == window.host_of.tolist()
    assert [100, 101, 102, 103] == window.pids.tolist()


def test_more_series_than_planned_for_are_placed(valid):
    for rank in range(0, 1200, 300):
        valid.metrics(*((AGE, 1.0, 1, {"rank": rank + n}) for n in range(300)))
    assert 1200 == len(valid.window().ranks)
    assert (valid.window().of_ranks(AGE).latest()[0] == 1.0).all()
