"""What healthy jobs do that looks like slow steps, and what cannot be seen in steps alone."""

import numpy as np
import pytest
from tests.detectors.speed.one_reporter import reported

from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector

TOKENS = "training.tokens"


def test_noise_and_slow_drift_alone_are_no_finding():
    rng = np.random.default_rng(4)
    drift = 1 + 0.01 * np.sin(np.arange(1500) / 240)
    for noise in (0.01, 0.04, 0.08):
        duration = 5.0 * drift * (1 + rng.standard_t(4, 1500) * noise)
        for end in range(60, 1501, 20):
            assert [] == SlowStepsDetector().evaluate(
                reported(np.abs(duration[max(0, end - 512) : end]))
            )


@pytest.mark.parametrize("spread", [0.12, 0.2])
def test_steps_of_any_length_make_no_episodes(spread):
    for seed in range(6):
        duration = np.random.default_rng(seed).lognormal(2.1, spread, 120)
        for end in range(12, 121, 2):
            assert [] == SlowStepsDetector().evaluate(reported(duration[:end]))


@pytest.mark.parametrize(
    ("factor", "over", "pages"),
    [
        pytest.param(1.06, 1, True, id="from one step to the next"),
        pytest.param(1.06, 150, False, id="little by little, as the air warms"),
        pytest.param(1.12, 150, True, id="by more than that explains"),
    ],
)
def test_what_grows_little_by_little_and_by_a_few_per_cent_pages_nobody(factor, over, pages):
    duration = np.random.default_rng(4).normal(5.0, 0.05, 640)
    duration *= np.interp(np.arange(640), [300, 300 + over], [1.0, factor])
    found = [
        finding.score
        for end in range(320, 641, 10)
        for finding in SlowStepsDetector().evaluate(reported(duration[max(0, end - 512) : end]))
    ]
    assert found, "it is always worth a first word"
    assert pages == (max(found) >= 1)


def test_a_drift_is_no_jump_because_single_steps_vary_as_much():
    """Over twenty minutes steps of 6.6 s become 4.5 % longer; single ones vary by 2.5 %."""
    rise = 1 + 0.045 * np.sin(np.pi / 2 * np.clip((np.arange(320) - 130) / 180, 0, 1)) ** 2
    said, pages = 0, 0
    for seed in range(30):
        duration = np.random.default_rng(seed).normal(6.6, 0.16, 320) * rise
        for end in range(200, 321, 20):
            for finding in SlowStepsDetector().evaluate(reported(duration[:end])):
                said += 1
                pages += finding.score >= 1
    assert said
    assert 0 == pages


def test_a_hiccup_beside_long_steps_that_every_third_one_is_does_not_make_them_slow():
    """A checkpoint in every third step: of the newest five, three are long when one more is."""
    for seed in range(40):
        duration = np.random.default_rng(seed).normal(29.4, 0.3, 40)
        duration[::3] += 9.0
        duration[37] += 3.2
        assert [] == SlowStepsDetector().evaluate(reported(duration)), seed


@pytest.mark.parametrize(("onset", "pages"), [(40, False), (150, True)])
def test_a_few_per_cent_page_nobody_while_the_past_is_shorter_than_what_is_compared(onset, pages):
    """Steps drift up and down within minutes; ninety seconds do not show by how much."""
    duration = np.random.default_rng(4).normal(2.0, 0.02, onset + 90)
    duration[onset:] *= 1.055
    (finding,) = SlowStepsDetector().evaluate(reported(duration))
    assert pages == (finding.score >= 1)


def test_slow_steps_that_this_job_has_now_and_then_are_its_noise():
    """A real job: one report in twenty takes 1.4 times as long, often two or three in a row."""
    rng = np.random.default_rng(8)
    slow = rng.random(1500) < 0.04
    slow |= np.roll(slow & (rng.random(1500) < 0.5), 1)
    duration = rng.normal(12.0, 0.05, 1500) * np.where(slow, 1.42, 1.0)
    for end in range(100, 1501):
        assert [] == SlowStepsDetector().evaluate(
            reported(duration[max(0, end - 512) : end], every=5)
        )
    duration[-16:] = 17.0
    assert 1 == len(SlowStepsDetector().evaluate(reported(duration, every=5)))


def test_steady_steps_are_no_finding(steady):
    assert [] == SlowStepsDetector().evaluate(sketch(steady()))


def test_steps_without_any_spread_do_not_upset_the_noise(steady):
    own = np.full((4, 60), 0.8)
    assert [] == SlowStepsDetector().evaluate(sketch(own))
    own[:, 40:] = 1.0
    assert 1 == len(SlowStepsDetector().evaluate(sketch(own)))


def test_slow_warm_up_steps_are_normal_life(steady):
    own = steady(steps=12)
    own[:, :5] = 30.0
    assert [] == SlowStepsDetector().evaluate(sketch(own))


def test_long_steps_at_every_checkpoint_are_normal_life(steady):
    own = steady(steps=100)
    own[:, 9::10] += 4.0
    for end in range(20, 101):
        assert [] == SlowStepsDetector().evaluate(sketch(own[:, :end]))


def test_pauses_for_evaluation_between_steps_are_normal_life(steady):
    window = sketch(steady(), gaps={30: 45.0, 58: 45.0})
    assert [] == SlowStepsDetector().evaluate(window)


def test_a_job_that_is_well_again_is_no_finding(steady):
    own = steady()
    own[:, 20:40] *= 1.5
    assert [] == SlowStepsDetector().evaluate(sketch(own))


def test_a_job_that_ended_while_it_was_slow_is_not_slow_any_more(steady):
    own = steady()
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowStepsDetector().evaluate(sketch(own, now=last + 50)))
    assert 0 == len(SlowStepsDetector().evaluate(sketch(own, now=last + 70)))


def test_steps_that_take_longer_for_more_tokens_are_no_finding():
    tokens = np.random.default_rng(3).integers(2_000, 4_000, 80).astype(float)
    tokens[50:] *= 2.5
    own = np.tile(0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2, (4, 1))

    with_tokens = sketch(own, planes={TOKENS: np.tile(tokens, (4, 1))})

    assert [] == SlowStepsDetector().evaluate(with_tokens)
    assert 1 == len(SlowStepsDetector().evaluate(sketch(own))), (
        "the same steps, nobody telling tokens"
    )


def test_slow_from_the_first_step_cannot_be_seen(steady):
    """The docstring's first failure mode: nothing healthy to compare with."""
    assert [] == SlowStepsDetector().evaluate(sketch(steady(seconds=2.4)))


def test_bursts_shorter_than_half_of_the_stretch_cannot_be_seen(steady):
    """The docstring's second failure mode."""
    own = steady()
    own[:, 40::5] *= 3
    own[:, 41::5] *= 3
    for end in range(45, 61):
        assert [] == SlowStepsDetector().evaluate(sketch(own[:, :end]))


def test_a_few_steps_of_a_job_whose_steps_vary_are_no_finding():
    for seed in range(40):
        duration = np.random.default_rng(seed).normal(20.0, 1.2, 28)
        assert [] == SlowStepsDetector().evaluate(reported(duration)), seed


def test_a_batch_that_is_raised_in_stages_after_a_warm_up_is_no_finding():
    """The warm-up had the shortest batches, and its steps say nothing about them."""
    tokens = np.repeat([4096.0, 5120.0, 6144.0], [13, 20, 9])
    own = 1.45 * tokens / 1_000 * np.random.default_rng(5).normal(1.0, 0.01, len(tokens))
    own[:13] *= np.concatenate(([4.9, 1.9, 1.5, 1.3, 1.2, 1.12, 1.07, 1.05], np.ones(5)))
    for count in range(20, len(tokens) + 1):
        some = np.tile(own[:count], (4, 1))
        window = sketch(some, planes={TOKENS: np.tile(tokens[:count], (4, 1))})
        assert [] == SlowStepsDetector().evaluate(window)
