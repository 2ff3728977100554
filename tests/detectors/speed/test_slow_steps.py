"""Steps that take longer than this job's own healthy steps."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.slow_steps import SlowSteps
from rankscope.detectors.window import Steps

DURATION = "training.step.duration"
TOKENS = "training.tokens"


def test_a_job_that_slows_down_is_named_with_the_step_it_began_at(steady):
    own = steady()
    own[:, 40:] *= 1.25
    window = sketch(own)

    (finding,) = SlowSteps().evaluate(window)

    at = window.steps.at[0]
    assert ("job.slow", "example") == (finding.kind, finding.entity.id)
    assert (at[39], at[40]) == finding.onset
    assert "since step 40" in finding.text
    assert finding.magnitude == pytest.approx(1.2, abs=0.02)
    assert finding.score > 1


@pytest.mark.parametrize(("factor", "findings"), [(1.06, 0), (1.13, 1)])
def test_only_an_effect_of_eight_per_cent_or_more_counts(steady, factor, findings):
    own = steady()
    own[:, 40:] *= factor
    assert findings == len(SlowSteps().evaluate(sketch(own)))


def test_steady_steps_are_no_finding(steady):
    assert [] == SlowSteps().evaluate(sketch(steady()))


def test_steps_without_any_spread_do_not_upset_the_noise(steady):
    own = np.full((4, 60), 0.8)
    assert [] == SlowSteps().evaluate(sketch(own))
    own[:, 40:] = 1.0
    assert 1 == len(SlowSteps().evaluate(sketch(own)))


def test_slow_warm_up_steps_are_normal_life(steady):
    own = steady(steps=12)
    own[:, :5] = 30.0
    assert [] == SlowSteps().evaluate(sketch(own))


def test_long_steps_at_every_checkpoint_are_normal_life(steady):
    own = steady(steps=100)
    own[:, 9::10] += 4.0
    for end in range(20, 101):
        assert [] == SlowSteps().evaluate(sketch(own[:, :end]))


def test_pauses_for_evaluation_between_steps_are_normal_life(steady):
    window = sketch(steady(), gaps={30: 45.0, 58: 45.0})
    assert [] == SlowSteps().evaluate(window)


def test_a_job_that_is_well_again_is_no_finding(steady):
    own = steady()
    own[:, 20:40] *= 1.5
    assert [] == SlowSteps().evaluate(sketch(own))


def test_a_job_that_ended_while_it_was_slow_is_not_slow_any_more(steady):
    own = steady()
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowSteps().evaluate(sketch(own, now=last + 50)))
    assert 0 == len(SlowSteps().evaluate(sketch(own, now=last + 70)))


def test_slow_reporters_are_given_ten_of_their_steps(steady):
    own = steady(seconds=20.0)
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowSteps().evaluate(sketch(own, now=last + 150)))
    assert 0 == len(SlowSteps().evaluate(sketch(own, now=last + 300)))


def test_two_fast_steps_do_not_end_a_slow_stretch_but_three_do(steady):
    own = np.full((4, 60), 0.8)
    own[:, 20:25] = own[:, 30:] = 1.6
    own[:, 40:42] = 0.8

    (finding,) = SlowSteps().evaluate(sketch(own))

    assert "since step 30" in finding.text


def test_slowness_that_flickered_from_the_start_is_dated_to_its_first_step():
    own = np.full((4, 90), 0.8)
    own[:, 7::3] = own[:, 60:] = 1.6

    (finding,) = SlowSteps().evaluate(sketch(own))

    assert "since step 7" in finding.text


def test_steps_that_take_longer_for_more_tokens_are_no_finding():
    tokens = np.random.default_rng(3).integers(2_000, 4_000, 80).astype(float)
    tokens[50:] *= 2.5
    own = np.tile(0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2, (4, 1))

    with_tokens = sketch(own, planes={TOKENS: np.tile(tokens, (4, 1))})

    assert [] == SlowSteps().evaluate(with_tokens)
    assert 1 == len(SlowSteps().evaluate(sketch(own))), "the same steps, nobody telling tokens"


def test_a_slowdown_is_seen_through_varying_tokens():
    tokens = np.random.default_rng(3).integers(2_000, 9_000, (4, 80)).astype(float)
    own = 0.1 * tokens / 1_000
    own[:, 60:] *= 1.5

    (finding,) = SlowSteps().evaluate(sketch(own, planes={TOKENS: tokens}))

    assert finding.magnitude == pytest.approx(1.45, abs=0.1)


def test_gaps_between_step_ends_stand_in_for_durations_that_nobody_tells(steady):
    own = steady()
    own[:, 40:] *= 1.5
    window = sketch(own)
    del window.steps.planes[DURATION]  # type: ignore[attr-defined]

    (finding,) = SlowSteps().evaluate(window)

    assert "since step 40" in finding.text


def test_gaps_over_untold_steps_are_shared_among_them():
    steps = Steps(np.array([0, 10, 20, 30]), np.array([[5.0, 15.0, 25.0, 45.0]]))
    window = replace(sketch(np.ones((1, 4))), steps=steps)
    np.testing.assert_allclose([np.nan, 1.0, 1.0, 2.0], window.features.job_duration)


def test_fewer_steps_than_warm_up_and_comparison_need_are_no_finding(steady):
    own = steady(steps=9)
    own[:, 5:] *= 3
    assert [] == SlowSteps().evaluate(sketch(own))


def test_durations_told_by_too_few_steps_are_no_finding(steady):
    own = steady()
    window = sketch(own)
    window.steps.planes[DURATION][:, :52] = np.nan
    assert [] == SlowSteps().evaluate(window)


def test_a_step_that_some_ranks_have_yet_to_tell_is_left_out():
    own = np.full((4, 90), 0.1)
    own[:, 50:] = 0.4
    window = sketch(own, exchange=0.02)
    window.steps.at[1:, -1] = np.nan

    (finding,) = SlowSteps().evaluate(window)

    assert "since step 50" in finding.text
    assert START < finding.window[0] < finding.window[1] == window.steps.at[0, -2]


def test_slow_from_the_first_step_cannot_be_seen(steady):
    """The docstring's first failure mode: nothing healthy to compare with."""
    assert [] == SlowSteps().evaluate(sketch(steady(seconds=2.4)))


def test_bursts_shorter_than_half_of_the_stretch_cannot_be_seen(steady):
    """The docstring's second failure mode."""
    own = steady()
    own[:, 40::5] *= 3
    own[:, 41::5] *= 3
    for end in range(45, 61):
        assert [] == SlowSteps().evaluate(sketch(own[:, :end]))
