"""The job's curve of a metric, and its memory that outlives the window."""

import numpy as np

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.curves import MOST_POINTS, CurveMemory, curve
from rankscope.detectors.sketch import sketch


def job(loss, *, plane="training.loss", first=0, **fields):
    """Return a job with one plane of losses, [ranks, steps]."""
    return sketch(np.full(loss.shape, 0.8), planes={plane: loss}, first=first, **fields)


def test_a_curve_is_the_median_of_the_ranks_that_report_and_leaves_out_what_is_not_finite():
    loss = np.array([[1.0, np.nan, 3.0, np.inf], [2.0, np.nan, 3.0, -np.inf], [9.0, 4.0, 3.0, 5.0]])
    found = job(loss).features.loss
    assert [0, 1, 2, 3] == found.index.tolist()
    assert [2.0, 4.0, 3.0, 5.0] == found.value.tolist()
    assert not found.reduced


def test_reduced_values_come_first_and_the_plane_with_most_points_wins():
    local, shared = np.ones((4, 20)), np.full((4, 20), 2.0)
    window = sketch(local, planes={"training.loss|local": local, "training.loss|global": shared})
    assert "training.loss|global" == window.features.loss.plane
    shared[:, 1:] = np.nan
    assert "training.loss|local" == curve(window.steps, window.ranks, "training.loss").plane


def test_the_memory_holds_a_run_of_any_length_evenly():
    memory = CurveMemory()
    for first in range(0, 20_000, 250):
        memory.learn(job(np.full((1, 500), 2.0), first=first).features.loss)
    held = memory.curve
    assert MOST_POINTS / 2 <= len(held) <= MOST_POINTS
    assert held.index[0] == 0
    assert len(set(np.diff(held.index).tolist())) == 1


def test_what_was_seen_before_is_not_taken_in_twice():
    memory, window = CurveMemory(), job(np.ones((1, 50)))
    memory.learn(window.features.loss)
    memory.learn(window.features.loss)
    assert list(range(50)) == memory.curve.index.tolist()


def test_the_next_attempt_has_the_curve_of_the_one_before():
    before, now = JobBaselines(), JobBaselines()
    before.record(job(np.ones((1, 50))).features)
    now.follow(before)
    assert (50, 0) == (len(now.loss.earlier), len(now.loss.curve))


def test_an_attempt_that_reported_no_loss_passes_on_what_it_was_given():
    first, second, third = JobBaselines(), JobBaselines(), JobBaselines()
    first.record(job(np.ones((1, 50))).features)
    second.follow(first)
    third.follow(second)
    assert 50 == len(third.loss.earlier)


def test_of_very_many_ranks_some_are_enough():
    loss = np.random.default_rng(3).normal(2.0, 0.1, (5_000, 8))
    assert np.allclose(2.0, job(loss).features.loss.value, atol=0.05)
