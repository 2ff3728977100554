"""Overflows: normal life where the loss scale falls with them, a fault where it does not."""

import numpy as np
import pytest
from tests.detectors.numbers.nonfinite_planes import (
    BAD,
    COUNT,
    GLOBAL_LOSS,
    LOSS,
    NORM,
    SCALE,
    kinds,
    losses,
)

from rankscope.detectors.numbers.nonfinite import NonfiniteDetector
from rankscope.detectors.sketch import START, sketch


def test_an_overflow_that_lowers_the_loss_scale_is_normal_life(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 30] = BAD
    scale[:, 30:] = 32768.0
    assert [] == evaluated(**{NORM: norm, SCALE: scale})[1]


def test_a_scale_that_is_reported_with_the_next_step_explains_the_overflow_as_well(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 30] = BAD
    scale[:, 31:] = 32768.0
    assert [] == evaluated(**{NORM: norm, SCALE: scale})[1]


def test_an_overflow_on_the_newest_step_waits_for_the_scale(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 59] = BAD
    assert [] == evaluated(**{NORM: norm, SCALE: scale})[1]


def test_bad_norms_that_no_falling_scale_explains_count(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 50:53] = BAD
    assert ["job.nonfinite"] == kinds(evaluated(**{NORM: norm, SCALE: scale})[1])


def test_overflow_after_overflow_is_a_collapse_of_the_scale(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 45:] = BAD
    scale[:, 45:] = 65536.0 / 2.0 ** np.arange(1, 16)

    window, findings = evaluated(**{NORM: norm, SCALE: scale})

    assert ["job.nonfinite", "job.loss_scale_collapse"] == kinds(findings)
    assert window.steps.at[0, 45] == findings[0].onset[0]
    assert "fell 15 times, from 65536 to 2" in findings[1].text


@pytest.mark.parametrize("since", [3, 60, 150])
def test_a_scale_that_collapsed_before_the_values_went_bad_stays_why(evaluated, since):
    """Overflow by overflow, ten steps apart and each skipped; then the loss is NaN for good."""
    steps = 170 + since
    loss, norm, scale = (np.full((4, steps), value) for value in (2.0, 1.0, 65536.0))
    for place, at in enumerate(range(10, 170, 10)):
        norm[:, at] = BAD
        scale[:, at:] = 65536.0 / 2.0 ** (place + 1)
    loss[:, 170:] = norm[:, 170:] = BAD
    planes = {GLOBAL_LOSS: loss, NORM: norm, SCALE: scale}
    assert ["job.nonfinite", "job.loss_scale_collapse"] == kinds(
        evaluated(steps=steps, **planes)[1]
    )


@pytest.mark.parametrize(("fits", "expected"), [
    (1.0, ["job.nonfinite", "job.loss_scale_collapse"]), (4.0, [])
])  # fmt: skip
def test_an_overflow_that_leaves_no_scale_to_lower_is_told_though_training_goes_on(
    evaluated, fits, expected
):
    norm, scale = np.full((4, 130), 1.0), np.full((4, 130), 65536.0)
    for place, at in enumerate(range(40, 40 + 5 * int(np.log2(65536.0 / fits)), 5)):
        norm[:, at] = BAD
        scale[:, at:] = 65536.0 / 2.0 ** (place + 1)
    planes = {LOSS: losses(steps=130), NORM: norm, SCALE: scale}
    assert expected == kinds(evaluated(steps=130, **planes)[1])


def test_a_scale_that_had_collapsed_and_recovered_long_before_is_not_why(evaluated):
    loss, scale = np.full((4, 300), 2.0), np.full((4, 300), 65536.0)
    scale[:, 10:20] = 65536.0 / 2.0 ** np.arange(10)
    loss[:, 290:] = BAD
    assert ["job.nonfinite"] == kinds(evaluated(steps=300, **{GLOBAL_LOSS: loss, SCALE: scale})[1])


def test_a_scale_that_fell_a_little_is_no_collapse(evaluated):
    norm, scale = losses(), np.full((4, 60), 65536.0)
    norm[:, 50:] = BAD
    scale[:, 50:] = 32768.0
    assert ["job.nonfinite"] == kinds(evaluated(**{NORM: norm, SCALE: scale})[1])


def test_a_scale_that_nobody_tells_any_more_explains_nothing(evaluated):
    norm, scale = losses(), np.full((4, 60), np.nan)
    norm[:, 50:] = BAD
    scale[:, 3] = 65536.0
    assert ["job.nonfinite"] == kinds(evaluated(**{NORM: norm, SCALE: scale})[1])


def scaler(start, ranks=4, steps=60):
    """Return a loss scale that halves after each overflow: [steps] of overflow, [ranks, steps]."""
    scale, found = start, []
    for bad in steps if isinstance(steps, list) else [False] * steps:
        found.append(scale)
        scale = scale / 2 if bad else scale
    return np.tile(np.array(found, float), (ranks, 1))


@pytest.mark.parametrize("start", [65536.0, 2.0**32])
def test_the_first_overflows_of_fp16_are_normal_life_however_many(evaluated, event, start):
    """Local gradients are Inf as well, and events say so."""
    bad = [step < 17 for step in range(60)]
    norm, count = losses(), np.zeros((4, 60))
    norm[:, bad], count[:, bad] = BAD, 4096.0
    numeric = tuple(
        event("training.numeric", 1, rank=rank, step=step, what=what, value="inf")
        for rank in range(4)
        for step in (0, 1)
        for what in ("grad_local", "grad_reduced")
    )
    for until in (1, 2, 5, 17, 60):
        shown = {NORM: norm[:, :until], COUNT: count[:, :until], LOSS: losses()[:, :until]}
        scale = scaler(start, steps=bad)[:, :until]
        assert [] == evaluated(steps=until, events=numeric, **shown, **{SCALE: scale})[1]


def test_a_scale_that_falls_below_one_explains_nothing(evaluated):
    bad = [step >= 30 for step in range(60)]
    norm = losses()
    norm[:, bad] = BAD
    _, findings = evaluated(**{NORM: norm, SCALE: scaler(64.0, steps=bad)})
    assert {"job.nonfinite", "job.loss_scale_collapse"} == set(kinds(findings))


def test_an_overflow_that_an_event_names_ahead_of_its_step_waits_for_the_scale(evaluated, event):
    ahead = event("training.numeric", 61, rank=1, step=60, what="grad_local", value="inf")
    assert [] == evaluated(events=(ahead,), **{LOSS: losses(), SCALE: scaler(65536.0)})[1]
    loss = event("training.numeric", 61, rank=1, step=60, what="loss", value="nan")
    assert evaluated(events=(loss,), **{LOSS: losses(), SCALE: scaler(65536.0)})[1]


def test_a_bad_gradient_before_the_first_step_ended_waits_for_the_scale(steady, event):
    """The first overflow of fp16 is sent at once, the scale with the end of the step."""
    sent = tuple(
        event("training.numeric", 1, rank=rank, step=0, what="grad_local", value="inf")
        for rank in range(4)
    )
    assert [] == NonfiniteDetector().evaluate(sketch(steady(steps=0), events=sent, now=START + 1))


def test_a_skipped_update_is_normal_where_nobody_reports_the_scale(evaluated):
    """fp16 by a trainer that reports no scale: the norm is Inf now and then, the loss goes on."""
    norm = np.full((4, 200), 1.0)
    norm[:, [40, 95, 96, 150]] = BAD
    for steps in (41, 42, 97, 98, 151, 200):
        shown = {LOSS: losses(steps=steps), NORM: norm[:, :steps]}
        assert [] == evaluated(steps=steps, **shown)[1], f"after {steps} steps"


def test_a_bad_norm_whose_update_reached_the_loss_is_no_skipped_one(evaluated):
    loss, norm = losses(), np.full((4, 60), 1.0)
    norm[:, 50], loss[:, 51:] = BAD, BAD
    window, (symptom, *_) = evaluated(**{GLOBAL_LOSS: loss, NORM: norm})
    assert window.steps.at[0, 50] == symptom.onset[0]


def test_updates_skipped_again_and_again_are_not_normal(evaluated):
    norm = np.full((4, 100), 1.0)
    norm[:, 50::3] = BAD
    assert ["job.nonfinite"] == kinds(
        evaluated(steps=100, **{LOSS: losses(steps=100), NORM: norm})[1]
    )


def test_a_bad_norm_after_which_no_step_comes_counts_after_a_minute(steady):
    norm = np.full((4, 60), 1.0)
    norm[:, 59] = BAD
    ended = START + 60.0
    for waited, found in ((5.0, 0), (90.0, 1)):
        window = sketch(steady(), planes={LOSS: losses(), NORM: norm}, now=ended + waited)
        assert found == len(NonfiniteDetector().evaluate(window)), f"{waited:g} s after the step"


@pytest.mark.parametrize(
    ("spoilt", "ahead"),
    [
        pytest.param(55, True, id="gradients of ten batches overflowed before the loss did"),
        pytest.param(45, False, id="the loss was bad at once: the scale fell after it"),
    ],
)
def test_a_collapse_while_losses_are_finite_says_so(evaluated, spoilt, ahead):
    loss, norm, scale = np.full((4, 60), 2.0), losses(), np.full((4, 60), 65536.0)
    norm[:, 45:] = BAD
    loss[:, spoilt:] = BAD
    scale[:, 45:] = 65536.0 / 2.0 ** np.arange(1, 16)
    findings = evaluated(**{LOSS: loss, NORM: norm, SCALE: scale})[1]
    (collapse,) = (one for one in findings if one.kind == "job.loss_scale_collapse")
    assert ahead == collapse.text.endswith("while losses were finite")
