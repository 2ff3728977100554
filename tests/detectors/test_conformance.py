"""What the contract of contract.py promises of every detector in the list."""

import math
import pickle
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.detectors.troubled import (
    ended_by_its_logs,
    ended_from_outside,
    hardware,
    laid_out,
    moved_clock,
    never_started,
    scaled,
    scraped_only,
    troubled,
    turned,
    unstarted,
)

from rankscope.detectors import conformance
from rankscope.detectors.catalogue import detectors
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import Readings, Steps, no_processes
from rankscope.vocabulary import findings as vocabulary

EVERY = pytest.mark.parametrize("detector", detectors(), ids=lambda detector: detector.name)
SEEDS = st.integers(0, 2**32 - 1)
DURATIONS = ("slow_collectives", "slow_steps", "stragglers", "data_wait", "extra_work")
"""Detectors that look at durations alone, whose unit must not matter to them."""


def accused(findings) -> set[tuple[str, str]]:
    return {(finding.kind, finding.entity.id) for finding in findings}


@EVERY
def test_something_is_found_in_a_troubled_job(detector, long_jobs, diverging):
    """The other tests of this file would prove nothing without it.

    What none of these jobs shows, the example of the detector's docstring does: then that window is
    tried instead, in the ways of `rankscope.detectors.conformance`.
    """
    windows = (
        troubled(),
        troubled(stalled=40.0),
        unstarted(),
        moved_clock(),
        never_started(),
        ended_from_outside(),
        ended_by_its_logs(),
        scraped_only(),
    )
    if any(detector.evaluate(window) for window in (*windows, *long_jobs().values(), *diverging)):
        return
    tried = conformance.trial(detector)
    assert {} == tried.problems
    assert conformance.EXAMPLE in tried.found


@EVERY
def test_ranks_in_another_order_have_the_same_troubles_of_training(detector, diverging):
    for window in diverging:
        ranks = len(window.ranks)
        turned_round = turned(window, np.arange(ranks)[::-1], laid_out(window.ranks[::-1]))
        assert accused(detector.evaluate(window)) == accused(detector.evaluate(turned_round))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_the_same_window_gives_equal_findings(detector, stalled):
    window = troubled(stalled=stalled)
    assert list(detector.evaluate(window)) == list(detector.evaluate(window))
    assert list(detector.evaluate(window)) == list(
        type(detector)().evaluate(troubled(stalled=stalled))
    )


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_the_window_is_left_as_it_was(detector, stalled):
    window, before = troubled(stalled=stalled), troubled(stalled=stalled)
    for matrix in (window.steps.at, *window.steps.planes.values()):
        matrix.setflags(write=False)
    detector.evaluate(replace(window, rank_readings=MappingProxyType(dict(window.rank_readings))))
    # A topology is immutable and does not write itself out.
    assert str(replace(before, placed=None)) == str(replace(window, placed=None))


@EVERY
@given(order=st.permutations(range(8)), stalled=st.sampled_from([0.0, 40.0]))
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_ranks_rows_changes_only_the_order_of_findings(detector, order, stalled):
    window = troubled(stalled=stalled)
    turned_round = turned(window, np.array(order), laid_out(order))

    def valid(findings):
        return sorted(
            (f.kind, f.entity.id, f.onset, round(f.magnitude, 9), round(f.score, 9), f.text)
            for f in findings
        )

    assert valid(detector.evaluate(window)) == valid(detector.evaluate(turned_round))


@pytest.mark.parametrize(
    "detector", [d for d in detectors() if d.name in DURATIONS], ids=lambda detector: detector.name
)
@given(factor=st.floats(0.5, 60.0))
@settings(max_examples=25, deadline=None)
def test_a_constant_factor_on_every_duration_accuses_the_same(detector, factor):
    assert accused(detector.evaluate(troubled())) == accused(
        detector.evaluate(scaled(troubled(), factor))
    )


@EVERY
@pytest.mark.parametrize("ranks", [0, 1, 2])
@pytest.mark.parametrize("steps", [0, 1, 2, 60])
def test_small_and_empty_jobs_are_judged_without_complaint(detector, ranks, steps):
    hosts = min(ranks, 2)
    for now in (None, START + 200):
        window = sketch(np.full((ranks, steps), 0.8), hosts=hosts, now=now)
        assert set() == accused(detector.evaluate(window)) - {("job.stalled", "example")}
    valid = {"training.progress.age": readings(START + np.arange(0, 201.0), np.zeros((ranks, 1)))}
    detector.evaluate(
        sketch(np.full((ranks, steps), 0.8), hosts=hosts, now=now, rank_readings=valid)
    )


@EVERY
def test_matrices_without_a_single_value_are_no_finding(detector):
    window = troubled()
    nothing = np.full(window.steps.at.shape, np.nan)
    empty = replace(
        window,
        steps=Steps(window.steps.index, nothing, dict.fromkeys(window.steps.planes, nothing)),
        rank_readings={
            name: Readings(held.at * np.nan, held.value * np.nan)
            for name, held in window.rank_readings.items()
        },
        host_readings={
            name: Readings(held.at * np.nan, held.value * np.nan)
            for name, held in window.host_readings.items()
        },
        groups=(),
        events=(),
        processes=no_processes(),
        last_received=np.full(8, -np.inf),
        host_last_received=np.full(4, -np.inf),
        host_interval=np.full(4, np.nan),
    )
    assert [] == list(detector.evaluate(empty))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_any_metric_may_be_missing(detector, stalled):
    """What a detector finds without a metric is still sound, and accuses nobody new by itself."""
    window = troubled(stalled=stalled)
    steps, by_rank = window.steps, window.rank_readings
    poorer = [
        *(replace(window, steps=replace(steps, planes=without(steps.planes, name)))
          for name in steps.planes),
        *(replace(window, rank_readings=without(by_rank, name)) for name in by_rank),
        replace(window, host_readings={}),
        replace(window, groups=()),
        replace(window, events=()),
        replace(window, hw_ids=(None,) * 8, pids=np.full(8, -1)),
        replace(window, hosts=(), host_of=np.full(8, -1), host_readings={},
                host_last_received=np.zeros(0), host_interval=np.zeros(0)),
    ]  # fmt: skip
    for without_it in poorer:
        sound(detector, detector.evaluate(without_it))
        assert detector.next_due(without_it) > without_it.now
    bare = replace(
        window, steps=replace(steps, planes={}), rank_readings={}, host_readings={}, groups=(),
        events=(), processes=no_processes(),
        last_received=np.full(8, window.now), host_last_received=np.full(4, window.now),
    )  # fmt: skip
    assert {"job.slow"} >= {finding.kind for finding in detector.evaluate(bare)}


def without(held, name):
    """Return a mapping less one name."""
    return {other: value for other, value in held.items() if other != name}


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_time_alone_matters_later_than_now(detector, stalled):
    window = troubled(stalled=stalled)
    assert detector.next_due(window) > window.now
    assert detector.cadence_seconds >= 0


@EVERY
def test_what_time_alone_changes_is_announced(detector):
    """Between now and the announced second nothing changes while nothing arrives."""
    window = troubled()
    due = min(detector.next_due(window), window.now + 60)
    accused_now = accused(detector.evaluate(window))
    for second in np.arange(window.now, due, 1.0):
        assert accused_now == accused(detector.evaluate(replace(window, now=second)))


@EVERY
def test_a_detector_and_its_findings_survive_pickling(detector):
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301  our own bytes
    window = troubled(stalled=40.0)
    assert list(detector.evaluate(window)) == list(again.evaluate(window))
    assert vars(detector) == vars(again)


@EVERY
@given(seed=SEEDS, stalled=st.sampled_from([0.0, 40.0]))
@example(seed=195, stalled=0.0)
@settings(max_examples=20, deadline=None)
def test_any_metric_may_vanish_midway_on_any_rank(detector, seed, stalled):
    rng = np.random.default_rng(seed)
    window = troubled(stalled=stalled)
    for matrix in (window.steps.at[1:], *window.steps.planes.values()):  # a step ends somewhere
        matrix[rng.random(len(matrix)) < 0.5, rng.integers(0, 81) :] = np.nan
    for plane in window.steps.planes.values():
        plane[np.isnan(window.steps.at)] = np.nan  # and a value only where one ended
    for held in window.rank_readings.values():
        rows, first = rng.random(8) < 0.5, rng.integers(0, held.at.shape[1] + 1)
        held.at[rows, first:] = held.value[rows, first:] = np.nan
    sound(detector, detector.evaluate(window))


@EVERY
@given(seed=SEEDS)
@example(seed=13868)
@settings(max_examples=40, deadline=None)
def test_absurd_values_are_judged_without_complaint(detector, seed):
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
    sound(detector, detector.evaluate(window))


@EVERY
@pytest.mark.parametrize("stalled", [0.0, 40.0])
def test_findings_follow_the_vocabulary(detector, stalled):
    sound(detector, detector.evaluate(troubled(stalled=stalled)))


def test_names_are_unique_and_kinds_are_in_the_vocabulary():
    names = [detector.name for detector in detectors()]
    assert sorted(set(names)) == sorted(names)
    for detector in detectors():
        assert set(detector.kinds) <= set(vocabulary.catalogue())


def test_every_kind_of_the_vocabulary_has_a_detector():
    assert set(vocabulary.catalogue()) == {kind for d in detectors() for kind in d.kinds}


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


def _signals() -> set[str]:
    return {signal for kind in vocabulary.catalogue().values() for signal in kind.signals}
