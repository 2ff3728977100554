"""Plateau: against the job's own earlier progress."""

import numpy as np

from rankscope.detectors.numbers.plateau import Plateau


def test_a_loss_that_stops_falling_is_found_after_a_third_of_the_attempt(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    (flat,) = Plateau().evaluate(reported(loss, step=2.0))
    assert "job.loss_plateau" == flat.kind


def test_a_loss_that_falls_ever_more_slowly_is_quiet(reported, losses):
    loss = losses(3000, level=0.0) + 1.5 + 8.0 * np.arange(1, 3001) ** -0.3
    assert [] == [
        found
        for end in range(300, 3000, 90)
        for found in Plateau().evaluate(reported(loss[:end], step=2.0))
    ]


def test_a_loss_that_never_fell_and_one_that_rises_are_quiet(reported, losses):
    assert [] == list(Plateau().evaluate(reported(losses(1000), step=2.0)))
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    loss[1000:] += np.linspace(0, 2, 500)
    assert [] == list(Plateau().evaluate(reported(loss, step=2.0)))


def test_minutes_are_too_short_for_a_plateau(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    assert [] == list(Plateau().evaluate(reported(loss, step=0.05)))


def test_a_plateau_of_a_slow_job_is_found_with_few_points(reported, losses):
    steps = np.arange(1, 91)
    loss = losses(90, level=0.0) + 10.0 - 1.2 * np.log(np.minimum(steps, 40))
    (flat,) = Plateau().evaluate(reported(loss, step=12.0))
    assert "since step 3" in flat.text or "since step 4" in flat.text


def test_a_learning_rate_that_falls_in_steps_is_quiet_while_the_loss_falls(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(steps) - 0.3 * (steps > 800)
    assert [] == list(Plateau().evaluate(reported(loss, step=2.0)))
