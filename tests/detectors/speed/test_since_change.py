"""Small slowdowns that begin with a reported change, and changes that do nothing."""

import numpy as np
import pytest
from tests.detectors.drawn import event
from tests.detectors.speed.one_reporter import reported

from rankscope.detectors.speed.slow_steps import SlowStepsDetector


def changed(duration, *steps):
    """Return the window of one reporter whose configuration changes before a step."""
    ends = np.cumsum(duration)
    return reported(duration, events=tuple(
        event("change", float(ends[step - 1]) + 0.1, kind="config", text="new flag")
        for step in steps
    ))  # fmt: skip


def long_steps(factor, *, step=25, steps=40, noise=0.012, seed=4):
    """Return durations around 36 s that grow by a factor from a step on."""
    duration = np.random.default_rng(seed).normal(36.0, 36.0 * noise, steps)
    duration[step:] *= factor
    return duration


def test_four_per_cent_since_a_change_show_in_few_long_steps():
    duration = long_steps(1.045)
    assert [] == SlowStepsDetector().evaluate(reported(duration))

    (finding,) = SlowStepsDetector().evaluate(changed(duration, 25))

    assert finding.magnitude == pytest.approx(1.045, abs=0.01)
    assert "since step 27" in finding.text  # the one after the step that the change fell into


def test_less_than_eight_steps_after_a_change_say_nothing_about_little():
    assert [] == SlowStepsDetector().evaluate(changed(long_steps(1.045, steps=33), 25))


def test_a_change_that_does_nothing_is_not_blamed():
    for seed in range(200):
        assert [] == SlowStepsDetector().evaluate(changed(long_steps(1.0, seed=seed), 25)), seed


def test_growth_that_came_little_by_little_is_not_the_changes():
    for seed in range(50):
        duration = long_steps(1.0, seed=seed, steps=80) * np.linspace(1.0, 1.035, 80)
        assert [] == SlowStepsDetector().evaluate(changed(duration, 40)), seed


def test_a_change_says_nothing_about_what_begins_long_after_it():
    duration = long_steps(1.045, step=60, steps=75)
    assert [] == SlowStepsDetector().evaluate(changed(duration, 25))


def test_a_second_change_does_not_hide_what_began_with_the_first():
    duration = long_steps(1.06, steps=60)
    for second in (27, 35, 50):
        (finding,) = SlowStepsDetector().evaluate(changed(duration, 25, second))
        assert "since step 2" in finding.text, second


def test_a_warm_up_of_many_steps_is_no_earlier_episode_of_what_a_change_brought():
    duration = long_steps(1.18, step=150, steps=200, noise=0.02) / 18
    duration[:40] *= 1 + 1.5 * np.exp(-np.arange(40) / 10)

    (finding,) = SlowStepsDetector().evaluate(changed(duration, 150))

    assert finding.magnitude == pytest.approx(1.18, abs=0.03)
    assert "since step 150" in finding.text or "since step 151" in finding.text
