"""Divergence: a loss that has left what it had reached, and what looks alike for a while."""

import numpy as np
import pytest

from rankscope.detectors.numbers.divergence import DivergenceDetector
from rankscope.detectors.sketch import sketch


@pytest.fixture
def found(reported):
    """Return a function that evaluates losses, and returns what is found."""
    return lambda *args, **more: list(DivergenceDetector().evaluate(reported(*args, **more)))


@pytest.mark.parametrize("nth", [1, 5, 100])
def test_a_jump_that_lasts_is_found_and_certain(found, losses, nth):
    loss = losses(200)
    loss[170:] += 2.0
    (rise,) = found(loss, nth=nth)
    assert rise.score >= 2
    assert f"since step {170 * nth}," in rise.text


def test_a_slow_climb_is_found(found, losses):
    loss = losses(600)
    loss[300:] += np.linspace(0, 0.8, 300)
    assert ["job.loss_diverged"] == [rise.kind for rise in found(loss)]


def test_a_climb_is_found_although_the_window_has_lost_the_lowest_point(found, reported, losses):
    """The attempt's memory holds what the ring of steps no longer does."""
    loss = losses(1200)
    loss[600:] += 1.6
    whole = reported(loss)
    late = reported(loss[900:], first=900, held_baselines=whole.baselines)
    assert ["job.loss_diverged"] == [rise.kind for rise in DivergenceDetector().evaluate(late)]


def test_a_spike_that_takes_thirty_steps_to_come_back_is_none(found, losses):
    loss = losses(260)
    loss[200:230] += 1.5 * np.exp(-np.arange(30) / 8)
    assert [] == [rise for end in range(195, 260) for rise in found(loss[:end])]


def test_another_mixture_of_data_is_none(found, losses):
    loss = losses(400)
    loss[200:] *= 1.06
    assert [] == found(loss)


def test_losses_that_never_fell_or_are_missing_are_none(found, losses):
    assert [] == found(losses(300))
    assert [] == found(np.full(300, np.nan))
    assert [] == found(np.zeros(300))


def test_a_third_of_the_points_missing_changes_nothing(found, losses):
    loss = losses(300)
    loss[220:] += 1.6
    loss[np.random.default_rng(2).random(300) < 0.3] = np.nan
    assert ["job.loss_diverged"] == [rise.kind for rise in found(loss)]


def test_a_loss_that_rises_from_the_first_steps_on_is_quiet(reported, losses):
    loss = losses(200, level=0.0) + 5.0 + np.minimum(np.arange(200) / 75.0, 2.0)
    assert [] == list(DivergenceDetector().evaluate(reported(loss)))


@pytest.mark.parametrize(("times", "kinds"), [(2.5, ["job.loss_diverged"]), (1.5, [])])
def test_a_steady_loss_that_was_seen_for_few_points_has_diverged_where_it_becomes_another_one(
    found, losses, times, kinds
):
    loss = losses(74)
    loss[35:] *= np.minimum(times, 1 + np.arange(39) / 8)
    assert kinds == [rise.kind for rise in found(loss, nth=10)]


def test_a_loss_that_has_fallen_for_few_steps_may_diverge(reported, losses):
    steps = np.arange(90)
    loss = losses(90, level=0.0) + 10.0 - 0.1 * np.minimum(steps, 25)
    loss[25:] += np.linspace(0, 4.0, 65)
    assert 1 == len(DivergenceDetector().evaluate(reported(loss)))


def _young(losses):
    """Return a loss that falls for twenty points, and then climbs by three percent a point."""
    loss = losses(44, level=0.0) + 10.0 - 0.06 * np.minimum(np.arange(44), 20)
    loss[20:] *= 1.03 ** np.arange(24)
    return loss


def test_a_young_loss_that_climbs_above_where_it_began_has_lost_all_it_learnt(found, losses):
    (rise,) = found(_young(losses))
    assert "since step 24," in rise.text


def test_a_young_loss_that_stays_high_or_climbs_no_further_than_it_began_may_come_back(
    found, losses
):
    jump = losses(44, level=0.0) + 10.0 - 0.06 * np.minimum(np.arange(44), 20)
    jump[20:] += 4.0
    assert [] == found(jump)
    low = losses(44, level=0.0) + 10.0 - 0.2 * np.minimum(np.arange(44), 20)
    low[20:] += 0.15 * np.arange(24)
    assert [] == found(low)


def test_a_young_loss_that_had_learnt_nothing_may_climb_while_its_learning_rate_does(found, losses):
    loss = losses(44, level=0.0) + 2.5
    loss[20:] *= 1.03 ** np.arange(24)
    assert [] == found(loss)


def test_tasks_in_turn_and_a_step_of_the_curriculum_are_none(found, losses):
    """The batches are others from one step to the next; the weights are not."""
    tasks = losses(400) + 1.0 * (np.arange(400) // 50 % 2)
    step = losses(400)
    step[200:] *= 1.25
    for loss in (tasks, step):
        assert [] == [rise for end in range(60, 400, 4) for rise in found(loss[:end])]


def test_a_climb_after_a_step_of_the_curriculum_is_found(found, losses):
    loss = losses(400)
    loss[200:] *= 1.25
    loss[300:] += np.linspace(0, 1.5, 100)
    assert found(loss)


def test_a_jump_with_a_gradient_norm_that_rose_before_it_is_no_other_data(losses):
    loss, norm = losses(200), np.random.default_rng(3).lognormal(0.0, 0.1, 200)
    loss[150:] += 0.5
    own = np.full((1, 200), 0.8)
    for factor, count in ((1.0, 0), (20.0, 1)):
        norm[149] *= factor
        planes = {"training.loss": loss[None], "training.grad_norm": norm[None]}
        assert count == len(DivergenceDetector().evaluate(sketch(own, hosts=1, planes=planes)))


def test_a_short_log_in_which_the_loss_grew_by_orders_of_magnitude_is_found(reported):
    loss = np.array([902.0, 871.0, 1210.0, 9120.0, 4.1e5, 5.1e7])
    assert [] == DivergenceDetector().evaluate(reported(loss))
    (rise,) = DivergenceDetector(orders=10).evaluate(reported(loss))
    assert "high since step 3" in rise.text


@pytest.mark.parametrize("loss", [
    [0.0, 0.0, 1e-4, 2e-3, 5e-2, 0.4], [-0.1, 0.2, 0.1, 3.0, 4.0, 5.0],
    [1.0, 9.0, 90.0, 95.0, 99.0],
    [9.0, 8.0, 7.0, 95.0, 7.0, 6.0], [2.0, 2.1, 2.0, 6.0, 7.0, 8.0],
])  # fmt: skip
def test_what_had_no_level_or_came_back_is_not_lost(reported, loss):
    assert [] == DivergenceDetector(orders=10).evaluate(reported(np.array(loss)))


def test_a_short_log_that_climbs_above_where_it_began_is_found(reported):
    loss = np.concatenate([8.0 - 0.1 * np.arange(25.0), 5.6 + 0.9 * np.arange(1.0, 13.0)])
    assert [] == DivergenceDetector().evaluate(reported(loss))
    (rise,) = DivergenceDetector(orders=10).evaluate(reported(loss))
    assert "after it had reached" in rise.text
    assert [] == DivergenceDetector(orders=10).evaluate(reported(loss[:28]))


def test_a_loss_that_swings_around_zero_has_no_level_that_it_had_reached(found):
    """That of a policy has either sign, and says nothing about how good the policy is."""
    steps = np.arange(260)
    loss = 0.02 * np.sin(steps / 9.0) + np.random.default_rng(5).normal(0.0, 0.001, 260)
    assert [] == [rise for end in range(50, 260, 3) for rise in found(loss[:end])]


def test_a_loss_of_either_sign_that_leaves_its_range_has_diverged(found):
    steps = np.arange(260)
    loss = 0.02 * np.sin(steps / 9.0) + np.random.default_rng(5).normal(0.0, 0.001, 260)
    loss[200:] += np.linspace(0.0, 2.0, 60)
    assert ["job.loss_diverged"] == [rise.kind for rise in found(loss)]
