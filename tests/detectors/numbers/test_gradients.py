"""Exploding gradients."""

import numpy as np
import pytest

from rankscope.detectors.numbers.gradients import GradientExplosionDetector

NORM = "training.grad_norm"


@pytest.fixture
def norms():
    """Return a function that draws [steps] norms around one."""

    def draw(steps, spread=0.3):
        return np.random.default_rng(7).lognormal(0.0, spread, steps)

    return draw


def test_a_norm_that_grows_by_factors_explodes(reported, norms):
    norm = norms(200)
    norm[190:] *= np.geomspace(2, 500, 10)
    (rise,) = GradientExplosionDetector().evaluate(reported(norm, plane=NORM))
    assert rise.magnitude > 10


@pytest.mark.parametrize(("usual", "found"), [(18, 1), (12, 0)])
def test_of_a_log_of_every_tenth_step_few_points_are_many_steps(reported, norms, usual, found):
    """A level of 16 points is asked for: what goes before may be a warm-up."""
    printed = norms(usual + 7, 0.12)
    printed[usual:] *= [2, 5, 9, 14, 14, 12, 15]
    norm = np.full(10 * len(printed), np.nan)
    norm[::10] = printed
    assert found == len(GradientExplosionDetector().evaluate(reported(norm, plane=NORM)))


def test_a_norm_that_climbs_slowly_from_where_it_stood_still_explodes(reported, norms):
    norm = norms(90, 0.12)
    norm[30:] *= np.exp(0.04 * np.arange(60))
    assert [] == list(GradientExplosionDetector().evaluate(reported(norm[:45], plane=NORM)))
    (rise,) = GradientExplosionDetector().evaluate(reported(norm, plane=NORM))
    assert rise.magnitude > 5
    assert 1 <= rise.score < 2


def test_a_norm_that_climbs_all_the_while_explodes_before_it_has_lasted(reported, norms):
    """Of a job with long steps there are no fifty points."""
    norm = norms(48, 0.12)
    norm[26:] *= np.exp(0.15 * np.arange(22))
    (rise,) = GradientExplosionDetector().evaluate(reported(norm, plane=NORM))
    assert rise.magnitude > 5
    stays = norms(48, 0.12)
    stays[26:] *= 8
    assert [] == list(GradientExplosionDetector().evaluate(reported(stays, plane=NORM)))


def test_in_the_first_points_a_norm_explodes_that_climbs_far_beyond_any_warm_up(reported, norms):
    """Fifteen steps of a healthy job, and two dozen in which each norm is a third larger."""
    norm = norms(39, 0.12)
    norm[15:] *= np.exp(0.3 * np.arange(24))
    (rise,) = GradientExplosionDetector().evaluate(reported(norm, plane=NORM))
    assert rise.magnitude > 30
    warm = norms(39, 0.12)
    warm[15:] *= np.exp(0.12 * np.arange(24))
    assert [] == list(GradientExplosionDetector().evaluate(reported(warm, plane=NORM)))


def test_one_large_norm_and_the_growth_of_warm_up_are_no_explosion(reported, norms):
    norm = norms(200)
    norm[199] *= 100
    assert [] == list(GradientExplosionDetector().evaluate(reported(norm, plane=NORM)))
    norm = norms(300) * np.geomspace(0.05, 3.0, 300)
    assert [] == [
        found
        for end in range(50, 300, 5)
        for found in GradientExplosionDetector().evaluate(reported(norm[:end], plane=NORM))
    ]


def test_a_norm_that_falls_back_after_a_jump_of_the_loss_is_no_explosion(reported, norms):
    norm = norms(240, spread=0.1)
    norm[200:] *= 1 + 30 * np.exp(-np.arange(40) / 3)
    assert [] == [
        found
        for end in range(200, 240)
        for found in GradientExplosionDetector().evaluate(reported(norm[:end], plane=NORM))
    ]


def test_a_norm_that_stays_where_it_exploded_to_is_reported_throughout(reported, norms):
    norm = norms(260)
    norm[200:] *= 200
    found = [
        bool(GradientExplosionDetector().evaluate(reported(norm[:end], plane=NORM)))
        for end in range(206, 260)
    ]
    assert all(found)


def test_clipped_norms_are_quiet(reported, norms):
    norm = np.minimum(norms(300), 1.0)
    assert [] == list(GradientExplosionDetector().evaluate(reported(norm, plane=NORM)))


def test_at_the_end_of_a_log_norms_that_grow_at_every_line_run_away(reported):
    norm = 3.8e12 * 1.5 ** np.arange(10)
    over = GradientExplosionDetector(over_at=0.0)
    (found,) = over.evaluate(reported(norm, plane="training.grad_norm"))
    assert "since step 0" in found.text
    assert [] == GradientExplosionDetector().evaluate(reported(norm, plane="training.grad_norm"))
    for healthy in (norm[:7], 1.05 ** np.arange(12.0), np.append(norm, norm[-2])):
        assert [] == over.evaluate(reported(healthy, plane="training.grad_norm"))
