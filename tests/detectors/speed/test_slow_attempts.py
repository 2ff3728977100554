"""Attempts that are slow from their first step on, against the one before."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector

TOKENS = "training.tokens"


def attempt(seconds, held, *, ranks=4, tokens=4096.0, steps=90):
    own = np.random.default_rng(7).normal(seconds, 0.01 * seconds, (ranks, steps))
    planes = {TOKENS: np.full(own.shape, tokens)}
    return replace(sketch(own, planes=planes, attempt=1), held_baselines=held)


@pytest.fixture
def restarted():
    """Return the baselines of an attempt that follows one with healthy steps of 1 s."""
    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(attempt(0.8, earlier).features)
    later.before = earlier.pace
    return later


def test_an_attempt_slow_from_its_first_step_stands_against_the_one_before(restarted):
    (finding,) = SlowStepsDetector().evaluate(attempt(0.9, restarted))
    assert finding.magnitude == pytest.approx(1.1, abs=0.01)
    assert "attempt 0" in finding.text


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"seconds": 0.82}, id="two per cent are luck"),
        pytest.param({"ranks": 8}, id="another number of ranks"),
        pytest.param({"tokens": 8192.0}, id="other batches"),
        pytest.param({"tokens": 3500.0}, id="much smaller batches"),
        pytest.param({"tokens": np.nan}, id="nobody reports how large batches are"),
        pytest.param({"steps": 12}, id="too few steps"),
    ],
)
def test_attempts_that_differ_otherwise_or_by_little_are_not_compared(restarted, other):
    assert [] == SlowStepsDetector().evaluate(
        attempt(**{"seconds": 0.9, "held": restarted, **other})
    )


def test_an_attempt_with_a_few_more_tokens_a_step_is_not_slow_for_them(restarted):
    (finding,) = SlowStepsDetector().evaluate(attempt(0.9, restarted, tokens=4096.0 * 1.019))
    assert finding.magnitude == pytest.approx(1.08, abs=0.01)
    assert [] == SlowStepsDetector().evaluate(attempt(0.85, restarted, tokens=4096.0 * 1.019))
    assert 1 == len(SlowStepsDetector().evaluate(attempt(0.85, restarted)))
    assert 1 == len(SlowStepsDetector().evaluate(attempt(0.85, restarted, tokens=4096.0 * 0.93)))


def test_attempts_whose_tokens_are_reported_as_zero_are_compared_all_the_same(restarted):
    restarted.before = replace(restarted.before, tokens=0.0)
    assert 1 == len(SlowStepsDetector().evaluate(attempt(0.9, restarted, tokens=0.0)))
    assert [] == SlowStepsDetector().evaluate(attempt(0.9, restarted))


def test_attempts_are_compared_as_they_would_be_with_the_same_tokens():
    """Durations follow tokens; this attempt's pace was learnt of batches 6 % larger, by chance."""
    rng = np.random.default_rng(7)

    def window(held, usual, grown=1.0):
        tokens = np.broadcast_to(np.round(usual * rng.normal(1, 0.06, 40)), (4, 40))
        own = 20 * tokens / 4096 * grown * rng.normal(1, 0.002, 40)
        return replace(sketch(own, planes={TOKENS: tokens}, attempt=1), held_baselines=held)

    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(window(earlier, 4096.0).features)
    later.learn(window(later, 4096.0 * 1.06).features)
    assert earlier.pace is not None
    assert later.pace is not None
    later.before = replace(earlier.pace, tokens=4096.0)
    assert later.pace.tokens > 1.04 * 4096.0
    assert [] == SlowStepsDetector().evaluate(window(later, 4096.0))
    assert 1 == len(SlowStepsDetector().evaluate(window(later, 4096.0, grown=1.1)))


def test_ten_steps_of_uneven_batches_make_no_attempt_slow(restarted):
    """Their durations follow their tokens; so few of them do not show that yet."""
    steps = np.array([0.88, 0.84, 0.79, 0.84, 0.91, 1.22, 0.96, 0.97, 0.86, 0.96])
    window = attempt(np.concatenate([np.full(5, 0.9), steps]), restarted, steps=15)
    assert [] == SlowStepsDetector().evaluate(window)
    even = attempt(np.full(15, float(np.median(steps))), restarted, steps=15)
    assert 1 == len(SlowStepsDetector().evaluate(even))


def test_checkpoints_in_every_fifth_step_hide_no_slow_attempt():
    """A median does not stray as far as a few pauses are long; where half of them are, it does."""

    def found(every, grown):
        own = [np.random.default_rng(7 + n).normal(15.0, 0.3, (4, 22)) for n in range(2)]
        for one in own:
            one[:, ::every] += 8.0
        earlier, later = JobBaselines(), JobBaselines()
        earlier.learn(sketch(own[0]).features)
        later.before = earlier.pace
        return SlowStepsDetector().evaluate(
            replace(sketch(own[1] * grown, attempt=1), held_baselines=later)
        )

    (finding,) = found(5, 1.15)
    assert finding.magnitude == pytest.approx(1.15, abs=0.03)
    assert [] == found(5, 1.0)
    assert [] == found(2, 1.15)


def test_an_attempt_as_slow_as_the_one_before_was_at_times_is_not_slow():
    """Steps of the attempt before took 1 s, and up to 1.05 s as its hosts grew busier."""
    earlier, later = JobBaselines(), JobBaselines()
    slower = 1 + 0.05 * np.sin(np.linspace(0, np.pi, 200)) ** 2
    own = np.random.default_rng(7).normal(0.8, 0.008, (4, 200)) * slower
    planes = {TOKENS: np.full(own.shape, 4096.0)}
    earlier.learn(replace(sketch(own, planes=planes), held_baselines=earlier).features)
    later.before = earlier.pace
    assert [] == SlowStepsDetector().evaluate(attempt(0.845, later))
    assert 1 == len(SlowStepsDetector().evaluate(attempt(0.95, later)))


def _warming(held, *, steps, warm=10):
    own = np.random.default_rng(7).normal(0.8, 0.008, (4, steps))
    own[:, :warm] *= 1.8
    return replace(sketch(own, attempt=1), held_baselines=held)


def test_what_the_attempt_before_took_to_warm_up_this_one_takes_too():
    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(_warming(earlier, steps=90).features)
    later.follow(earlier)
    for steps in range(10, 30):
        assert [] == SlowStepsDetector().evaluate(_warming(later, steps=steps))
    assert 1 == len(SlowStepsDetector().evaluate(_warming(later, steps=90, warm=90)))
