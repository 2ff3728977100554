"""Features kept beside the steps: what is computed piece by piece is what is computed at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.collector.windows.attempts import AttemptRegister
from rankscope.collector.windows.kept import KeptFeatures
from rankscope.collector.windows.steps import StepGrid
from rankscope.detectors import compute_time
from rankscope.detectors.healthy_time import HealthyPace
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector
from rankscope.detectors.window import StepValues
from rankscope.vocabulary.ids import Job

RANKS = 4
ROLES = np.array([0, 0, 1, 1])


@given(
    order=st.permutations([(rank, step) for rank in range(RANKS) for step in range(8)]),
    looks=st.sets(st.integers(0, 31)),
    silent=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=6),
)
@settings(max_examples=examples(40), deadline=None)
def test_features_computed_as_steps_arrive_are_those_of_all_steps(order, looks, silent):
    rng = np.random.default_rng(3)
    own = rng.normal(0.8, 0.05, (RANKS, 8)).astype(np.float32)
    grid, kept = StepGrid(), KeptFeatures()
    grid.add(RANKS)
    names = ("training.step", compute_time.COMPUTE, compute_time.STEP)
    planes = np.array([grid.plane(name) for name in names])
    for number, (rank, step) in enumerate(order):
        values = np.array([step, own[rank, step], 1.0])
        told = slice(0, 1 if (rank, step) in silent else 3)
        at = np.full(3, 1000.0 + step + rank / 10)
        grid.append(planes[told], np.full(3, rank)[told], at[told], values[told], 1010.0)
        if number in looks:
            kept.refresh(grid, ROLES)
    steps = kept.refresh(grid, ROLES)
    plain = StepValues(steps.index, steps.at, steps.planes)
    expected_own = compute_time.compute_time(plain)
    if expected_own is None:
        assert steps.kept is not None
        assert steps.kept.own is None
        return
    assert steps.kept is not None
    assert steps.kept.own is not None
    assert steps.kept.ratio is not None
    np.testing.assert_array_equal(expected_own, steps.kept.own)
    expected = compute_time.against_peers(expected_own.astype(np.float64), ROLES)
    np.testing.assert_allclose(steps.kept.ratio.astype(np.float64), expected, rtol=1e-6)
    np.testing.assert_array_equal(compute_time.step_ends(plain), steps.ends)


def test_batches_that_become_uneven_are_accounted_for_from_their_first_steps():
    """A rank that is given more tokens than ever before works longer, and is no slower."""
    rng = np.random.default_rng(5)
    tokens = np.full((2, 196), 8192.0)
    tokens[0, 190:], tokens[1, 190:] = [9000, 9300, 8900, 9100, 8800, 9200], 7400.0
    own = tokens / 8192 * rng.normal(0.8, 0.004, tokens.shape)
    grid, kept = StepGrid(), KeptFeatures()
    grid.add(2)
    names = (compute_time.COMPUTE, compute_time.STEP, compute_time.TOKENS)
    planes = np.array([grid.plane(name) for name in ("training.step", *names)])
    for step in range(tokens.shape[1]):
        for rank in range(2):
            values = np.array([step, own[rank, step], 1.0, tokens[rank, step]])
            grid.append(planes, np.full(4, rank), np.full(4, 1000.0 + step), values, 2000.0)
        if step > 150:
            kept.refresh(grid, np.zeros(2, np.int64))
    steps = kept.refresh(grid, np.zeros(2, np.int64))
    assert steps.kept is not None
    assert steps.kept.ratio is not None
    assert steps.kept.ratio[0, -6:].max() < 1.03


@pytest.mark.parametrize(("factor", "named"), [(1.3, ["1"]), (1.03, [])])
def test_a_rank_slow_from_the_first_step_is_no_habit(factor, named):
    own = np.random.default_rng(7).normal(0.8, 0.008, (8, 150))
    own[1] *= factor
    findings = StragglersDetector().evaluate(sketch(own))
    assert named == [one.entity.id for one in findings if one.kind == "rank.slow_compute"]


def test_nothing_is_learnt_while_an_incident_is_open(two_by_two, after):
    for index in range(5, 40):
        for rank in range(4):
            host = "host-a" if rank < 2 else "host-b"
            compute = {"training__compute__duration": 0.5}
            two_by_two.step(rank, index, index + 1.0, host=host, **compute)
    (attempt,) = two_by_two.windows.current()
    two_by_two.windows.window(attempt, after(50), incident_open=True)
    assert (0, 0.0) == (len(attempt.baselines.habit), attempt.baselines.longest_gap)
    window = two_by_two.windows.window(attempt, after(51))
    assert [1.0] * 4 == window.baselines.habit.tolist()
    assert 1.0 == window.baselines.longest_gap


def test_an_attempt_knows_the_healthy_pace_of_the_one_before_it():
    attempts = AttemptRegister()
    job = Job("example")
    paces = []
    for number in range(3):
        attempt = attempts.of(job, number, None)
        assert attempt is not None
        paces.append(attempt.baselines.before)
        if number == 0:
            attempt.baselines.pace = HealthyPace(1.0, 0.01, 0.01, ranks=4)
    assert [
        None,
        HealthyPace(1.0, 0.01, 0.01, ranks=4),
        HealthyPace(1.0, 0.01, 0.01, ranks=4),
    ] == paces
