"""What the contract of contract.py promises of every detector in the list.

A test goes through all sizes, orders or seeds with one detector. The windows are drawn once, and
nobody can write into them.
"""

import math
import pickle
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import numpy as np
import pytest
from tests.detectors.troubled import (
    ended_by_its_logs,
    ended_from_outside,
    hardware,
    laid_out,
    moved_clock,
    never_started,
    read_only,
    scaled,
    scraped_only,
    troubled,
    turned,
    unstarted,
)
from tests.examples import told

from rankscope.detectors import conformance
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.conformance import writes
from rankscope.detectors.hardware.occupied_devices import OccupiedDevicesDetector
from rankscope.detectors.liveness.logged_faults import LoggedFaultsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import JobWindow, PeriodicReadings, StepValues, no_processes
from rankscope.vocabulary import findings as vocabulary

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
STALLED = (0.0, 40.0)
"""Seconds since the last step of the job in trouble."""
DURATIONS = ("slow_collectives", "slow_steps", "stragglers", "data_wait", "extra_work")
"""Detectors that look at durations alone, whose unit must not matter to them."""
BY_MINUTES = {("slow_collectives", "job.slow")}
"""What minutes of steps show together: as many steps, each longer, are more of them."""


def accused(findings) -> set[tuple[str, str]]:
    return {(finding.kind, finding.entity.id) for finding in findings}


@cache
def in_trouble(stalled: float = 0.0) -> JobWindow:
    return read_only(troubled(stalled=stalled))


@cache
def troubles() -> tuple[JobWindow, ...]:
    kinds = (unstarted, moved_clock, never_started, ended_from_outside, ended_by_its_logs)
    drawn = [read_only(kind()) for kind in (*kinds, scraped_only)]
    return (*map(in_trouble, STALLED), *drawn)


@EVERY
def test_something_is_found_in_a_troubled_job(detector, long_jobs, diverging):
    """The other tests of this file would prove nothing without it.

    What none of these jobs shows, the example of the detector's docstring does: then that window is
    tried instead, in the ways of `rankscope.detectors.conformance`.
    """
    windows = (*troubles(), *long_jobs.values(), *diverging)
    if any(detector.evaluate(window) for window in windows):
        return
    tried = conformance.trial(detector)
    assert {} == tried.problems
    assert conformance.EXAMPLE in tried.found


@pytest.fixture(scope="session")
def turned_round(diverging) -> list[JobWindow]:
    """Return the jobs that diverge with their ranks' rows the other way round."""
    drawn = []
    for window in diverging:
        order = np.arange(len(window.ranks))[::-1]
        drawn.append(read_only(turned(window, order, laid_out(window.ranks[::-1]))))
    return drawn


@EVERY
def test_ranks_in_another_order_have_the_same_troubles_of_training(
    detector, diverging, turned_round
):
    for number, (window, other) in enumerate(zip(diverging, turned_round, strict=True)):
        with told(job=number):
            assert accused(detector.evaluate(window)) == accused(detector.evaluate(other))


@EVERY
def test_the_same_window_gives_equal_findings(detector):
    for stalled in STALLED:
        with told(stalled=stalled):
            window = in_trouble(stalled)
            found = list(detector.evaluate(window))
            assert found == list(detector.evaluate(window))
            assert found == list(type(detector)().evaluate(replace(window)))


@cache
def contents(stalled: float) -> dict[str, object]:
    return dict(writes.contents(troubled(stalled=stalled)))


@EVERY
def test_the_window_is_left_as_it_was(detector):
    for stalled in STALLED:
        with told(stalled=stalled):
            window = in_trouble(stalled)
            by_rank = MappingProxyType(dict(window.rank_readings))
            detector.evaluate(replace(window, rank_readings=by_rank))
            assert contents(stalled) == dict(writes.contents(window))


@cache
def in_order(seed: int, stalled: float) -> JobWindow:
    order = np.random.default_rng(seed).permutation(8)
    return read_only(turned(in_trouble(stalled), order, laid_out(order)))


@EVERY
def test_the_order_of_the_ranks_rows_changes_only_the_order_of_findings(detector):
    def valid(findings):
        return sorted(
            (f.kind, f.entity.id, f.onset, round(f.magnitude, 9), round(f.score, 9), f.text)
            for f in findings
        )

    for stalled in STALLED:
        found = valid(detector.evaluate(in_trouble(stalled)))
        for seed in range(15):
            with told(stalled=stalled, seed=seed):
                assert found == valid(detector.evaluate(in_order(seed, stalled)))


@cache
def in_other_units(factor: float) -> JobWindow:
    return read_only(scaled(in_trouble(), factor))


@pytest.mark.parametrize(
    "detector", [d for d in detectors() if d.name in DURATIONS], ids=lambda detector: detector.name
)
def test_a_constant_factor_on_every_duration_accuses_the_same(detector):
    found = accused(detector.evaluate(in_trouble()))
    by_minutes = {one for one in found if (detector.name, one[0]) in BY_MINUTES}
    for factor in np.geomspace(0.5, 60.0, 25):
        seen = accused(detector.evaluate(in_other_units(float(factor))))
        with told(factor=factor):
            assert found - by_minutes == {
                one for one in seen if (detector.name, one[0]) not in BY_MINUTES
            }


@cache
def small_jobs() -> list[tuple[str, JobWindow, bool]]:
    """Return jobs by name, and whether a stall is all that may be found in them."""
    drawn = []
    for ranks in (0, 1, 2):
        for steps in (0, 1, 2, 60):
            own, hosts, later = np.full((ranks, steps), 0.8), min(ranks, 2), START + 200
            at = START + np.arange(0, 201.0)
            alive = {"training.progress.age": readings(at, np.zeros((ranks, 1)))}
            size = f"{ranks} ranks, {steps} steps"
            drawn += [
                (size, sketch(own, hosts=hosts), True),
                (f"{size}, later", sketch(own, hosts=hosts, now=later), True),
                (f"{size}, later and alive",
                 sketch(own, hosts=hosts, now=later, rank_readings=alive), False),
            ]  # fmt: skip
    return [(name, read_only(window), quiet) for name, window, quiet in drawn]


@EVERY
def test_small_and_empty_jobs_are_judged_without_complaint(detector):
    for name, window, quiet in small_jobs():
        with told(job=name):
            found = accused(detector.evaluate(window))
            assert not quiet or set() == found - {("job.stalled", "example")}


@cache
def without_values() -> JobWindow:
    window = in_trouble()
    nothing = np.full(window.steps.at.shape, np.nan)
    return replace(
        window,
        steps=StepValues(window.steps.index, nothing, dict.fromkeys(window.steps.planes, nothing)),
        rank_readings={
            name: PeriodicReadings(held.at * np.nan, held.value * np.nan)
            for name, held in window.rank_readings.items()
        },
        host_readings={
            name: PeriodicReadings(held.at * np.nan, held.value * np.nan)
            for name, held in window.host_readings.items()
        },
        groups=(),
        events=(),
        processes=no_processes(),
        last_received=np.full(8, -np.inf),
        host_last_received=np.full(4, -np.inf),
        host_interval=np.full(4, np.nan),
    )


@EVERY
def test_matrices_without_a_single_value_are_no_finding(detector):
    assert [] == list(detector.evaluate(read_only(without_values())))


@cache
def poorer(stalled: float) -> list[tuple[str, JobWindow]]:
    """Return the job in trouble without this or that, by what is missing."""
    window = in_trouble(stalled)
    steps, by_rank = window.steps, window.rank_readings
    return [
        *((name, replace(window, steps=replace(steps, planes=without(steps.planes, name))))
          for name in steps.planes),
        *((name, replace(window, rank_readings=without(by_rank, name))) for name in by_rank),
        ("readings of hosts", replace(window, host_readings={})),
        ("groups", replace(window, groups=())),
        ("events", replace(window, events=())),
        ("devices", replace(window, hw_ids=(None,) * 8, pids=np.full(8, -1))),
        ("hosts", replace(window, hosts=(), host_of=np.full(8, -1), host_readings={},
                          host_last_received=np.zeros(0), host_interval=np.zeros(0))),
    ]  # fmt: skip


@cache
def bare(stalled: float) -> JobWindow:
    window = in_trouble(stalled)
    return replace(
        window, steps=replace(window.steps, planes={}), rank_readings={}, host_readings={},
        groups=(), events=(), processes=no_processes(),
        last_received=np.full(8, window.now), host_last_received=np.full(4, window.now),
    )  # fmt: skip


@EVERY
def test_any_metric_may_be_missing(detector):
    """What a detector finds without a metric is still sound, and accuses nobody new by itself."""
    for stalled in STALLED:
        for missing, window in poorer(stalled):
            with told(stalled=stalled, missing=missing):
                sound(detector, detector.evaluate(window))
                assert detector.next_due(window) > window.now
        with told(stalled=stalled, missing="everything"):
            found = detector.evaluate(bare(stalled))
            assert {"job.slow"} >= {finding.kind for finding in found}


def without(held, name):
    """Return a mapping less one name."""
    return {other: value for other, value in held.items() if other != name}


@EVERY
def test_time_alone_matters_later_than_now(detector):
    for stalled in STALLED:
        with told(stalled=stalled):
            window = in_trouble(stalled)
            assert detector.next_due(window) > window.now
    assert detector.cadence_seconds >= 0


@cache
def waited(seconds: int) -> JobWindow:
    return replace(in_trouble(), now=in_trouble().now + seconds)


@EVERY
def test_what_time_alone_changes_is_announced(detector):
    """Between now and the announced second nothing changes while nothing arrives."""
    window = in_trouble()
    due = min(detector.next_due(window) - window.now, 60)
    accused_now = accused(detector.evaluate(window))
    for second in range(math.ceil(due)):
        with told(seconds_later=second):
            assert accused_now == accused(detector.evaluate(waited(second)))


@EVERY
def test_a_detector_and_its_findings_survive_pickling(detector):
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    window = in_trouble(40.0)
    assert list(detector.evaluate(window)) == list(again.evaluate(window))
    assert vars(detector) == vars(again)


@cache
def vanishing(seed: int, stalled: float) -> JobWindow:
    """Return the job in trouble in which any metric vanishes midway on any rank."""
    rng = np.random.default_rng(seed)
    window = troubled(stalled=stalled)
    for matrix in (window.steps.at[1:], *window.steps.planes.values()):  # a step ends somewhere
        matrix[rng.random(len(matrix)) < 0.5, rng.integers(0, 81) :] = np.nan
    for plane in window.steps.planes.values():
        plane[np.isnan(window.steps.at)] = np.nan  # and a value only where one ended
    for held in window.rank_readings.values():
        rows, first = rng.random(8) < 0.5, rng.integers(0, held.at.shape[1] + 1)
        held.at[rows, first:] = held.value[rows, first:] = np.nan
    return read_only(window)


@EVERY
def test_any_metric_may_vanish_midway_on_any_rank(detector):
    for stalled in STALLED:
        for seed in (195, *range(20)):
            with told(stalled=stalled, seed=seed):
                sound(detector, detector.evaluate(vanishing(seed, stalled)))


@cache
def absurd(seed: int) -> JobWindow:
    """Return a job with values that cannot be."""
    rng = np.random.default_rng(seed)
    odd = [0.0, 1e-9, 0.5, 1.0, 1e9, 1e300, np.nan, np.inf, -1.0]
    usual = np.full(len(odd), 0.05)
    usual[3] = 0.6

    def matrix():
        return rng.choice(odd, (3, 14), p=usual)

    steps = ("training.step.duration", "training.compute.duration", "training.comm.duration",
             "training.data.duration", "training.tokens", "training.loss_scale",
             "training.grad_norm")  # fmt: skip
    sensors = ("process.cpu.wait", "hw.frequency|sm", "hw.gpu.throttle|thermal_hw",
               "hw.gpu.utilization", "training.progress.age",
               *hardware(START + np.zeros(1), 0)[0])  # fmt: skip
    at = START + 46 + np.arange(14.0)
    window = sketch(
        np.ones((3, 14)),
        now=START + 60,
        planes={name: matrix() for name in steps},
        rank_readings={name: readings(at, matrix()) for name in sensors},
        host_readings={
            name: readings(at, matrix()[:2])
            for name in ("system.cpu.utilization", *hardware(START + np.zeros(1), 0)[1])
        },
    )
    return read_only(window)


@EVERY
def test_absurd_values_are_judged_without_complaint(detector):
    for seed in (13868, *range(40)):
        with told(seed=seed):
            sound(detector, detector.evaluate(absurd(seed)))


@EVERY
def test_findings_follow_the_vocabulary(detector):
    for stalled in STALLED:
        with told(stalled=stalled):
            sound(detector, detector.evaluate(in_trouble(stalled)))


def test_names_are_unique_and_kinds_are_in_the_vocabulary():
    names = [detector.name for detector in detectors()]
    assert sorted(set(names)) == sorted(names)
    for detector in detectors():
        assert set(detector.kinds) <= set(vocabulary.catalogue())


def test_every_kind_of_the_vocabulary_has_a_detector():
    of_dead_jobs = LoggedFaultsDetector(), OccupiedDevicesDetector()
    every = (*detectors(), *of_dead_jobs)
    assert set(vocabulary.catalogue()) == {kind for d in every for kind in d.kinds}


def sound(detector, findings):
    """Hold every finding to the form that the other packages count on."""
    for finding in findings:
        assert finding.kind in detector.kinds
        assert finding.entity.type in vocabulary.catalogue()[finding.kind].entities
        assert ("example", 0, detector.name) == (finding.job, finding.attempt, finding.detector)
        assert finding.onset[0] <= finding.onset[1]
        assert all(math.isfinite(at) for at in (*finding.onset, *finding.window))
        assert math.isfinite(finding.score), finding
        assert finding.score >= 0
        assert math.isfinite(finding.magnitude), finding
        assert finding.signal.partition("|")[0] in _signals()
        assert finding.text.strip() == finding.text != ""


@cache
def _signals() -> frozenset[str]:
    kinds = vocabulary.catalogue().values()
    return frozenset(signal for kind in kinds for signal in kind.signals)
