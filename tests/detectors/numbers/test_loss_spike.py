"""Loss spikes: which jumps are one, and which are the noise of batches."""

import numpy as np
import pytest

from rankscope.detectors.numbers.loss_spike import LossSpikeDetector


@pytest.fixture
def spikes(reported):
    """Return a function that evaluates losses, and returns what is found."""
    return lambda *args, **more: list(LossSpikeDetector().evaluate(reported(*args, **more)))


@pytest.mark.parametrize("nth", [1, 5, 10, 100])
def test_a_jump_that_comes_back_is_found_however_often_losses_are_reported(spikes, losses, nth):
    loss = losses(150)
    loss[140:142] += [0.8, 0.3]
    (spike,) = spikes(loss, nth=nth)
    assert "came back" in spike.text
    assert f"at step {140 * nth} " in spike.text


def test_one_ranks_odd_batch_is_no_spike(spikes, losses):
    """Twenty standard deviations away, and the next batch is as usual: the weights are whole."""
    loss = losses(150, level=3.3, noise=0.1)
    loss[140] += 2.0
    assert [] == spikes(loss)
    assert [] == spikes(loss, plane="training.loss|local")


def test_one_point_is_enough_where_the_loss_is_of_the_whole_batch(spikes, losses):
    loss = losses(150)
    loss[149] += 1.0
    (spike,) = spikes(loss, plane="training.loss|global")
    assert "has not come back yet" in spike.text


def test_a_second_spike_is_found_although_the_first_one_widened_the_tail(spikes, losses):
    loss = losses(250, noise=0.015)
    loss[160:163] += [0.95, 0.2, 0.08]
    loss[240:243] += [0.6, 0.1, 0.1]
    (spike,) = spikes(loss)
    assert "at step 240 " in spike.text


def test_early_training_falls_and_is_quiet(spikes):
    rng = np.random.default_rng(3)
    loss = 2.0 + 9.0 * np.exp(-np.arange(400) / 60) + rng.normal(0, 0.05, 400)
    assert [] == [found for end in range(50, 400, 7) for found in spikes(loss[:end])]


def test_a_heavy_tail_of_batches_is_quiet(spikes):
    loss = 3.0 + 0.05 * np.random.default_rng(5).standard_t(2.5, 1500)
    assert [] == [found for end in range(60, 1500, 9) for found in spikes(loss[:end])]


def test_a_shift_of_a_few_percent_is_quiet(spikes, losses):
    loss = losses(300)
    loss[200:] *= 1.04
    assert [] == [found for end in range(190, 300, 3) for found in spikes(loss[:end])]


def test_a_spike_is_over_some_reports_after_its_end(spikes, losses):
    loss = losses(200)
    loss[140:142] += [0.8, 0.3]
    assert spikes(loss[:150])
    assert not spikes(loss)


def test_two_in_a_row_are_a_spike_however_odd_single_batches_have_been(spikes, losses):
    loss = losses(300, level=3.3, noise=0.1)
    loss[60:280:40] += 2.0
    assert [] == spikes(loss)
    loss[290:292] += [1.7, 0.9]
    (spike,) = spikes(loss)
    assert "at step 290 " in spike.text


def test_a_large_jump_among_the_first_points_is_found_once_it_has_stayed(spikes):
    rng = np.random.default_rng(3)
    loss = 10 - 0.06 * np.arange(30) + rng.normal(0, 0.05, 30)
    loss[24:] += 4.0
    (spike,) = spikes(loss)
    assert "at step 24 " in spike.text
    assert [] == spikes(loss[:26])


def test_a_small_jump_of_a_loss_that_fell_steeply_at_first_is_found(spikes):
    rng = np.random.default_rng(3)
    loss = 6.0 + 4.0 * np.exp(-np.arange(200) / 60) + rng.normal(0, 0.03, 200)
    loss[190:] += 0.5
    (spike,) = spikes(loss, plane="training.loss|global")
    assert "at step 190 " in spike.text


SHORT = np.array([2.961, 2.958, 2.963, 2.956, 2.959, 3.127, 6.81, 8.04, 7.9, 7.7])


def test_a_jump_in_the_few_lines_of_a_log_is_found_where_few_are_enough(reported):
    window = reported(SHORT, plane="training.loss|global", nth=10)
    assert [] == LossSpikeDetector().evaluate(window)
    (spike,) = LossSpikeDetector(few=5).evaluate(window)
    assert spike.observed == pytest.approx(8.04)


@pytest.mark.parametrize("seed", range(40))
def test_the_first_lines_of_a_healthy_log_are_quiet_however_few_are_enough(reported, seed):
    rng = np.random.default_rng(seed)
    falling = 2.0 + 8.0 * np.exp(-np.arange(30) / rng.uniform(3, 30))
    loss = falling + rng.normal(0, 0.1, 30) + 0.15 * (np.arange(30) >= 15)  # another epoch's data
    for end in range(6, 31):
        window = reported(loss[:end], plane="training.loss|global", nth=10)
        assert [] == LossSpikeDetector(few=5).evaluate(window)


def test_two_points_of_a_log_that_stand_far_above_it_are_a_spike_and_one_is_a_batch(reported):
    loss = 2.1 - 0.005 * np.arange(30) + np.random.default_rng(3).normal(0, 0.02, 30)
    loss[20] += 4.5
    assert [] == LossSpikeDetector(few=5).evaluate(reported(loss))
    loss[21] += 4.5
    assert [] == LossSpikeDetector().evaluate(reported(loss))
    (spike,) = LossSpikeDetector(few=5).evaluate(reported(loss))
    assert "came back within 2 steps" in spike.text
