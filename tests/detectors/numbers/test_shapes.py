"""How an offset came: at once or little by little, and nothing where nobody can tell."""

import numpy as np
import pytest

from rankscope.detectors.numbers import shapes


def distances(before, after, *, seed=7):
    """Return noise of one unit, with something added after some points."""
    added = np.concatenate((np.zeros(before), after))
    return np.random.default_rng(seed).normal(0.0, 1.0, len(added)) + added


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("count", [16, 60, 300])
def test_a_jump_came_at_once(sign, count):
    shape = shapes.of(distances(100, np.full(count, sign * 12.0)))
    assert shapes.OffsetShape("at once", 100) == shape


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("count", [16, 60, 300])
def test_a_ramp_came_little_by_little(sign, count):
    assert "gradually" == shapes.of(distances(100, sign * np.linspace(0, 12.0, count))).came


def test_a_ramp_that_stays_at_its_end_came_little_by_little():
    rise = np.minimum(np.arange(120) / 3.0, 12.0)
    assert "gradually" == shapes.of(distances(100, rise)).came


def test_a_jump_that_shrinks_as_the_loss_does_came_at_once():
    assert "at once" == shapes.of(distances(100, np.linspace(12.0, 7.0, 200))).came


@pytest.mark.parametrize("level", [0.0, 12.0])
def test_what_never_changed_is_unclear(level):
    assert "unclear" == shapes.of(distances(0, np.full(200, level))).came


def test_few_points_and_equal_ones_are_unclear():
    assert "unclear" == shapes.of(np.arange(8.0)).came
    assert "unclear" == shapes.of(np.zeros(100)).came


def test_the_place_counts_from_the_first_of_many_points():
    assert shapes.OffsetShape("at once", 900) == shapes.of(distances(900, np.full(100, 12.0)))
