"""What the contract promises of every detector, held in jobs that last long enough to leak."""

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.detectors.troubled import read_only, turned
from tests.examples import told

from rankscope.detectors.catalogue import detectors
from rankscope.detectors.window import JobWindow, PeriodicReadings, no_processes
from rankscope.vocabulary import findings as vocabulary
from rankscope.vocabulary.topology import JobTopology, RankPlacement

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
JOBS = ("leaking", "uneven", "idle")


def sound(detector, findings):
    for finding in findings:
        assert finding.kind in detector.kinds
        assert finding.entity.type in vocabulary.catalogue()[finding.kind].entities
        assert finding.onset[0] <= finding.onset[1]
        numbers = (*finding.onset, *finding.window, finding.score, finding.magnitude)
        assert all(math.isfinite(number) for number in numbers), finding
        assert finding.score >= 0
        assert finding.text.strip() == finding.text != ""


def short(findings):
    return sorted((f.kind, f.entity.id, f.onset, round(f.magnitude, 6), f.text) for f in findings)


def placed_in(window: JobWindow, order) -> JobTopology | None:
    """Return where the ranks of a job run, with their rows in another order."""
    old = window.placed
    if old is None:
        return None
    rows = [
        RankPlacement(old.ranks[row], old.hosts[old.host_of[row]], pp=old.pp[row]) for row in order
    ]
    return JobTopology(old.job, world_size=8, placements=rows, groups=old.groups)


@EVERY
def test_the_same_window_gives_equal_findings_of_the_vocabulary(detector, long_jobs):
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    for job, window in long_jobs.items():
        with told(job=job):
            findings = list(detector.evaluate(window))
            sound(detector, findings)
            assert findings == list(again.evaluate(replace(window)))


@pytest.fixture(scope="session")
def in_another_order(long_jobs) -> dict[str, JobWindow]:
    """Return the jobs with their ranks' rows in another order."""
    order = np.array([5, 2, 7, 0, 1, 6, 3, 4])
    return {
        job: read_only(turned(window, order, placed_in(window, order)))
        for job, window in long_jobs.items()
    }


@EVERY
def test_the_order_of_the_ranks_rows_changes_nothing(detector, long_jobs, in_another_order):
    for job, window in long_jobs.items():
        with told(job=job):
            other = in_another_order[job]
            assert short(detector.evaluate(window)) == short(detector.evaluate(other))


@pytest.fixture(scope="session")
def poorer(long_jobs) -> list[tuple[str, str, JobWindow]]:
    """Return the jobs without this or that: the job, what is missing, and the window."""
    return [
        (job, missing, window)
        for job, whole in long_jobs.items()
        for missing, window in _without_each(whole)
    ]


def _without_each(window: JobWindow) -> list[tuple[str, JobWindow]]:
    steps = window.steps

    def blank(held):
        return {name: PeriodicReadings(one.at, one.value * np.nan) for name, one in held.items()}

    def without(held, name):
        return {other: one for other, one in held.items() if other != name}

    planes, by_rank, by_host = steps.planes, window.rank_readings, window.host_readings
    empty = {name: plane * np.nan for name, plane in planes.items()}
    return [
        ("processes", replace(window, processes=no_processes())),
        ("readings of hosts", replace(window, host_readings={})),
        ("devices", replace(window, hw_ids=(None,) * 8, pids=np.full(8, -1))),
        ("hosts", replace(window, hosts=(), host_of=np.full(8, -1), host_readings={},
                          host_last_received=np.zeros(0), host_interval=np.zeros(0),
                          processes=no_processes())),
        ("values of hosts", replace(window, host_readings=blank(by_host))),
        ("values of ranks", replace(window, rank_readings=blank(by_rank))),
        ("values of steps", replace(window, steps=replace(steps, planes=empty))),
        *((name, replace(window, steps=replace(steps, planes=without(planes, name))))
          for name in planes),
        *((name, replace(window, rank_readings=without(by_rank, name))) for name in by_rank),
    ]  # fmt: skip


@EVERY
def test_any_metric_may_be_missing_or_without_a_value(detector, poorer):
    for job, missing, window in poorer:
        with told(job=job, missing=missing):
            sound(detector, detector.evaluate(window))


@pytest.fixture(scope="session")
def torn(long_jobs) -> Callable[[str, int], JobWindow]:
    """Return a function that returns a job in which a third of all points is missing, by a seed."""
    return cache(lambda job, seed: read_only(_torn(long_jobs[job], seed)))


def _torn(window: JobWindow, seed: int) -> JobWindow:
    random = np.random.default_rng(seed)
    odd = [0.0, -1.0, 1e300, np.inf, np.nan]

    def spoilt(values):
        values = np.where(random.random(values.shape) < 0.3, np.nan, values)
        return np.where(
            random.random(values.shape) < 0.01, random.choice(odd, values.shape), values
        )

    def of(held: PeriodicReadings) -> PeriodicReadings:
        return PeriodicReadings(np.where(random.random(held.at.shape) < 0.1, np.nan, held.at),
                        spoilt(held.value))  # fmt: skip

    processes = window.processes
    return replace(
        window,
        steps=replace(window.steps, planes={n: spoilt(p) for n, p in window.steps.planes.items()}),
        rank_readings={name: of(held) for name, held in window.rank_readings.items()},
        host_readings={name: of(held) for name, held in window.host_readings.items()},
        processes=replace(
            processes, readings={n: of(held) for n, held in processes.readings.items()}
        ),
    )


@EVERY
def test_a_third_of_all_points_may_be_missing_and_some_absurd(detector, torn):
    for job in JOBS:
        for seed in (1, 2, 3):
            with told(job=job, seed=seed):
                sound(detector, detector.evaluate(torn(job, seed)))
