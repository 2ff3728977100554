"""Attempts and jobs that are forgotten, and such that come back."""

from rankscope.collector.windows import queries, retention
from rankscope.collector.windows.retention import BRIEF_SILENCE_SECONDS, FORGET_SECONDS

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


def test_of_many_jobs_that_were_heard_of_once_few_are_kept(two_by_two, after, monkeypatch):
    monkeypatch.setattr(retention, "MOST_BRIEF", 2)
    for number in range(5):
        two_by_two.info(0, 5.0 + number, job=f"once-{number}")
    silent = BRIEF_SILENCE_SECONDS + 11
    two_by_two.windows.forget(after(silent - 20))
    assert 6 == len(two_by_two.windows.attempts)
    two_by_two.windows.forget(after(silent), watched=lambda job: job == "once-0")
    kept = {job for job, _ in two_by_two.windows.attempts}
    assert {"once-0", "once-3", "once-4"} == {job for job in kept if job.startswith("once")}
    assert 4 == len(kept)
