"""Plateau: against the job's own earlier progress."""

import numpy as np

from rankscope.detectors.numbers.plateau import PlateauDetector


def test_a_loss_that_stops_falling_is_found_after_a_third_of_the_attempt(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    (flat,) = PlateauDetector().evaluate(reported(loss, step=2.0))
    assert "job.loss_plateau" == flat.kind


def test_a_loss_that_falls_ever_more_slowly_is_quiet(reported, losses):
    loss = losses(3000, level=0.0) + 1.5 + 8.0 * np.arange(1, 3001) ** -0.3
    assert [] == [
        found
        for end in range(300, 3000, 90)
        for found in PlateauDetector().evaluate(reported(loss[:end], step=2.0))
    ]


def test_a_loss_that_never_fell_and_one_that_rises_are_quiet(reported, losses):
    assert [] == list(PlateauDetector().evaluate(reported(losses(1000), step=2.0)))
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    loss[1000:] += np.linspace(0, 2, 500)
    assert [] == list(PlateauDetector().evaluate(reported(loss, step=2.0)))


def test_minutes_are_too_short_for_a_plateau(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(np.minimum(steps, 900))
    assert [] == list(PlateauDetector().evaluate(reported(loss, step=0.05)))


def test_a_plateau_of_a_slow_job_is_found_with_few_points(reported, losses):
    steps = np.arange(1, 91)
    loss = losses(90, level=0.0) + 10.0 - 1.2 * np.log(np.minimum(steps, 40))
    (flat,) = PlateauDetector().evaluate(reported(loss, step=12.0))
    assert "since step 3" in flat.text or "since step 4" in flat.text


def test_twenty_points_of_a_slow_job_are_enough_where_they_are_certain(reported, losses):
    fell = np.minimum(np.arange(48), 22)
    loss = losses(48, level=0.0, noise=0.03) + 11.0 - 1.6 * np.log(fell + 3)
    found = [
        len(PlateauDetector().evaluate(reported(loss[:end], step=30.0))) for end in range(32, 49)
    ]
    assert (0, 1) == (found[0], found[-1])
    noisy = losses(48, level=0.0, noise=0.3) + 11.0 - 0.8 * np.log(np.arange(48) + 3)
    assert [] == list(PlateauDetector().evaluate(reported(noisy, step=30.0)))


def test_few_points_of_healthy_slow_jobs_are_quiet(reported):
    random = np.random.default_rng(7)
    steps = np.arange(100)
    for noise in np.geomspace(0.005, 0.05, 40):
        loss = 2.0 + 8.0 * (1 + steps / random.uniform(5, 60)) ** -random.uniform(0.1, 1.0)
        loss *= 1 + random.normal(0, noise, 100)
        for end in range(30, 101, 10):
            assert [] == list(PlateauDetector().evaluate(reported(loss[:end], step=20.0)))


def test_a_learning_rate_that_falls_in_steps_is_quiet_while_the_loss_falls(reported, losses):
    steps = np.arange(1, 1501)
    loss = losses(1500, level=0.0) + 8.0 - 0.6 * np.log(steps) - 0.3 * (steps > 800)
    assert [] == list(PlateauDetector().evaluate(reported(loss, step=2.0)))
