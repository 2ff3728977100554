"""Vanishing gradients: next to nothing, or on the way there from a level, for no reason."""

import numpy as np
import pytest

from rankscope.detectors.numbers.vanishing import GradientVanishingDetector
from rankscope.detectors.sketch import sketch

NORM = "training.grad_norm"


@pytest.fixture
def norms():
    """Return a function that draws [steps] norms around one."""

    def draw(steps, spread=0.3):
        return np.random.default_rng(7).lognormal(0.0, spread, steps)

    return draw


def found(norm, loss, seconds=16.0):
    """Return what is found in a job of slow steps with this norm and loss, both [steps]."""
    own = np.full((1, len(norm)), seconds)
    planes = {NORM: norm[None], "training.loss": loss[None]}
    return list(GradientVanishingDetector().evaluate(sketch(own, hosts=1, planes=planes)))


def since(fall):
    """Return the step that a finding says it began at."""
    return int(fall.text.split("since step ")[1].split(",")[0])


def falling(steps):
    """Return [steps] losses that fall ever more slowly."""
    return 2.0 + 8.0 * (1 + np.arange(steps) / 40) ** -0.45


def test_a_norm_that_sinks_tenfold_from_a_level_while_the_loss_goes_on_is_information(norms):
    norm = norms(80, 0.12) * np.exp(-0.07 * np.maximum(np.arange(80) - 36, 0))
    (fall,) = found(norm, falling(80))
    assert fall.score < 1
    assert since(fall) in range(36, 45)
    assert [] == found(norm[:64], falling(64))


def test_what_sinks_fast_is_not_said_to_have_begun_before_it_did(norms):
    """Sixteen points are asked for; a bend is not looked for only where so many are left."""
    for noise in (0.0, 0.12):
        for end in range(44, 70):
            norm = norms(70, noise) * np.exp(-0.5 * np.maximum(np.arange(70) - 40, 0))
            for fall in found(norm[:end], falling(70)[:end]):
                assert any(f"since step {step}," in fall.text for step in range(40, 46))


def test_a_norm_that_sinks_as_the_loss_falls_faster_is_the_end_of_a_warm_up(norms):
    began = np.maximum(np.arange(90) - 30, 0)
    norm = norms(90, 0.12) * np.exp(-0.07 * began)
    assert [] == found(norm, 10.0 * np.exp(-0.007 * began))
    assert [] == found(norm, falling(90) * np.exp(-0.02 * began))


def test_norms_that_sink_from_their_first_step_or_fall_at_once_are_quiet(norms):
    ever = norms(90, 0.12) * np.exp(-0.05 * np.arange(90))
    once = norms(90, 0.12) * np.where(np.arange(90) < 40, 1.0, 0.08)
    assert [] == found(ever, falling(90))
    assert [] == found(once, falling(90))


def test_a_sinking_norm_without_a_loss_is_quiet(reported, norms):
    norm = norms(80, 0.12) * np.exp(-0.07 * np.maximum(np.arange(80) - 36, 0))
    assert [] == list(GradientVanishingDetector().evaluate(reported(norm, plane=NORM, step=16.0)))


def test_clipped_norms_are_quiet(reported, norms):
    norm = np.minimum(norms(300), 1.0)
    assert [] == list(GradientVanishingDetector().evaluate(reported(norm, plane=NORM)))


@pytest.mark.parametrize("tiny", [1e-3, 0.0])
def test_a_norm_of_next_to_nothing_has_vanished(reported, norms, tiny):
    norm = norms(300)
    norm[200:] *= tiny
    (fall,) = GradientVanishingDetector().evaluate(reported(norm, plane=NORM))
    assert "since step 200" in fall.text


def test_small_gradients_of_a_solved_problem_are_quiet(norms):
    norm, loss = norms(300), np.full(300, 2.0)
    norm[200:] *= 1e-3
    loss[200:] = 1e-3
    own = np.full((1, 300), 0.8)
    window = sketch(own, hosts=1, planes={NORM: norm[None], "training.loss": loss[None]})
    assert [] == list(GradientVanishingDetector().evaluate(window))


def test_a_norm_that_vanishes_over_few_long_steps_is_found(reported):
    norm = np.random.default_rng(7).lognormal(0.0, 0.1, 44)
    norm[30:] *= 1e-3
    detector = GradientVanishingDetector()
    kinds = [
        len(detector.evaluate(reported(norm, plane="training.grad_norm", step=step)))
        for step in (0.8, 16.0)
    ]
    assert [0, 1] == kinds


def test_a_norm_that_falls_a_little_before_it_sinks_has_not_begun_to(norms):
    step = np.arange(260)
    sinking = 0.25 * (step >= 214) + 1.35 * np.clip(step - 234, 0, 13)
    norm = norms(260, 0.1) * np.exp(-sinking)
    fall = found(norm[:254], falling(260)[:254], seconds=0.9)[0]
    assert since(fall) in range(234, 238)


@pytest.mark.parametrize("odd", [79, 76, 60])
def test_one_odd_batch_among_norms_that_sink_moves_nothing(norms, odd):
    norm = norms(80, 0.12) * np.exp(-0.07 * np.maximum(np.arange(80) - 36, 0))
    norm[odd] = 1.2
    assert all(since(fall) in range(36, 45) for fall in found(norm, falling(80)))
