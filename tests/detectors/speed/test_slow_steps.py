"""Steps that take longer than this job's own healthy steps: what is found, and since when."""

import numpy as np
import pytest
from tests.detectors.speed.one_reporter import reported

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector

TOKENS = "training.tokens"


def test_a_job_that_slows_down_is_named_with_the_step_it_began_at(steady):
    own = steady()
    own[:, 40:] *= 1.25
    window = sketch(own)

    (finding,) = SlowStepsDetector().evaluate(window)

    at = window.steps.at[0]
    assert ("job.slow", "example") == (finding.kind, finding.entity.id)
    assert (at[39], at[40]) == finding.onset
    assert "since step 40" in finding.text
    assert finding.magnitude == pytest.approx(1.2, abs=0.02)
    assert finding.score > 1


@pytest.mark.parametrize(("factor", "findings"), [(1.06, 0), (1.13, 1)])
def test_within_a_few_steps_only_an_effect_of_ten_per_cent_counts(steady, factor, findings):
    own = steady()
    own[:, 40:] *= factor
    assert findings == len(SlowStepsDetector().evaluate(sketch(own)))


@pytest.mark.parametrize(("noise", "factor"), [(0.01, 1.05), (0.03, 1.06), (0.043, 1.07)])
def test_a_lasting_slowdown_is_found_within_sixty_reports_by_the_jobs_own_noise(noise, factor):
    duration = np.random.default_rng(4).normal(5.0, 5.0 * noise, 500)
    assert [] == SlowStepsDetector().evaluate(reported(duration[:440]))
    duration[440:] *= factor
    (finding,) = SlowStepsDetector().evaluate(reported(duration))
    assert finding.magnitude == pytest.approx(factor, abs=0.02)


def test_the_onset_of_an_effect_within_the_noise_is_dated_to_where_the_sums_turn():
    duration = np.random.default_rng(4).normal(5.0, 0.15, 500)
    duration[430:] *= 1.06
    window = reported(duration)
    (finding,) = SlowStepsDetector().evaluate(window)
    assert np.searchsorted(window.steps.at[0], finding.onset[1]) == pytest.approx(430, abs=12)


def test_a_slowdown_that_outlasts_the_window_stands_against_what_was_learnt_before_it():
    duration = np.random.default_rng(4).normal(5.0, 0.1, 700)
    duration[300:] *= 1.06
    held = JobBaselines()
    held.learn(reported(duration[:300]).features)
    for end in range(380, 701, 10):
        newest = duration[max(300, end - 300) : end] if end > 600 else duration[:end]
        assert 1 == len(SlowStepsDetector().evaluate(reported(newest, frozen=held))), end
    well = np.concatenate([duration[300:], duration[:200]])
    assert [] == SlowStepsDetector().evaluate(reported(well, frozen=held))


def test_episodes_that_come_and_go_are_one_finding_that_stays_between_them(steady):
    own = steady(steps=420)
    for begin in (100, 200, 300):
        own[:, begin : begin + 40] *= 1.4
    at = sketch(own).steps.at[0]
    found = [SlowStepsDetector().evaluate(sketch(own[:, :end])) for end in range(220, 420, 5)]
    assert [1] * len(found) == [len(findings) for findings in found]
    assert {at[100]} == {finding.onset[1] for (finding,) in found}
    assert "in 3 episodes" in found[-1][0].text


def test_episodes_far_apart_are_two_faults(steady):
    own = steady(steps=1000)
    own[:, 100:140] *= 1.4
    own[:, 900:940] *= 1.4
    assert [] == SlowStepsDetector().evaluate(sketch(own))
    (finding,) = SlowStepsDetector().evaluate(sketch(own[:, :940]))
    assert "since step 900" in finding.text


def test_two_fast_steps_do_not_end_a_slow_stretch_but_three_do(steady):
    own = np.full((4, 60), 0.8)
    own[:, 20:25] = own[:, 30:] = 1.6
    own[:, 40:42] = 0.8

    (finding,) = SlowStepsDetector().evaluate(sketch(own))

    assert "since step 30" in finding.text


def test_slowness_that_flickered_from_the_start_is_dated_to_its_first_step():
    own = np.full((4, 90), 0.8)
    own[:, 7::3] = own[:, 60:] = 1.6

    (finding,) = SlowStepsDetector().evaluate(sketch(own))

    assert "since step 7" in finding.text


def test_a_slowdown_is_seen_through_varying_tokens():
    tokens = np.random.default_rng(3).integers(2_000, 9_000, (4, 80)).astype(float)
    own = 0.1 * tokens / 1_000
    own[:, 60:] *= 1.5

    (finding,) = SlowStepsDetector().evaluate(sketch(own, planes={TOKENS: tokens}))

    assert finding.magnitude == pytest.approx(1.45, abs=0.1)


@pytest.mark.parametrize(("factor", "findings"), [(1.0, 0), (1.2, 1)])
def test_steps_stand_against_a_healthy_time_of_other_tokens_by_what_tokens_cost(factor, findings):
    """An incident is open, as for the tokens that became uneven."""
    random = np.random.default_rng(3)
    tokens = np.full((4, 120), 4000.0)
    tokens[:, 60:] *= random.uniform(1.2, 1.8, 60)
    own = tokens / 5_000 * random.normal(1, 0.003, tokens.shape)
    held = JobBaselines()
    held.learn(sketch(own[:, :60], planes={TOKENS: tokens[:, :60]}).features)
    held.frozen = True
    own[:, 100:] *= factor

    found = SlowStepsDetector().evaluate(sketch(own, planes={TOKENS: tokens}, held_baselines=held))

    assert findings == len(found)


@pytest.mark.parametrize(("factor", "steps"), [(1.3, 4), (1.09, 12)])
def test_steps_of_half_a_minute_stand_against_the_few_before_them(factor, steps):
    """The fault begins in the eleventh step; five or six of those before it say what is usual."""
    duration = np.random.default_rng(2).normal(27.0, 0.27, 40)
    duration[:3] *= (1.4, 1.3, 1.15)
    duration[10:] *= factor
    assert [] == SlowStepsDetector().evaluate(reported(duration[:11]))
    (finding,) = SlowStepsDetector().evaluate(reported(duration[: 10 + steps]))
    assert finding.magnitude == pytest.approx(factor, abs=0.03)
    assert "since step 11" in finding.text


def test_half_a_minute_of_five_per_cent_is_found_though_the_past_is_short():
    duration = np.random.default_rng(6).normal(3.0, 0.03, 60)
    duration[30:] *= 1.065
    assert [] == SlowStepsDetector().evaluate(reported(duration[:31]))
    assert 1 == len(SlowStepsDetector().evaluate(reported(duration)))
