"""Slow steps of jobs whose ranks report rarely, late, in part or in another unit."""

from dataclasses import replace

import numpy as np

from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector
from rankscope.detectors.window import StepValues

DURATION = "training.step.duration"


def test_one_duration_in_twenty_reports_does_not_hide_an_episode():
    """Steps end all the while: the time between them stands in for durations."""
    duration = np.full(400, 1.0)
    duration[360:] = 4.0
    at = START + np.cumsum(duration)
    sparse = np.where(np.arange(400) % 20 == 19, duration, np.nan)
    found = []
    for end in range(340, 400):
        steps = StepValues(np.arange(end), at[None, :end], {DURATION: sparse[None, :end]})
        window = sketch(np.ones((1, 2)), hosts=1, now=float(at[end - 1]), steps=steps)
        found += [end for _ in SlowStepsDetector().evaluate(window)]
    assert found[0] <= 366


def test_slow_reporters_are_given_ten_of_their_steps(steady):
    own = steady(seconds=20.0)
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowStepsDetector().evaluate(sketch(own, now=last + 150)))
    assert 0 == len(SlowStepsDetector().evaluate(sketch(own, now=last + 300)))


def test_gaps_between_step_ends_stand_in_for_durations_that_nobody_tells(steady):
    own = steady()
    own[:, 40:] *= 1.5
    window = sketch(own)
    del window.steps.planes[DURATION]  # type: ignore[attr-defined]

    (finding,) = SlowStepsDetector().evaluate(window)

    assert "since step 40" in finding.text


def test_gaps_over_untold_steps_are_shared_among_them():
    steps = StepValues(np.array([0, 10, 20, 30]), np.array([[5.0, 15.0, 25.0, 45.0]]))
    window = replace(sketch(np.ones((1, 4))), steps=steps)
    np.testing.assert_allclose([np.nan, 1.0, 1.0, 2.0], window.features.job_duration)


def test_fewer_steps_than_warm_up_and_comparison_need_are_no_finding(steady):
    own = steady(steps=9)
    own[:, 5:] *= 3
    assert [] == SlowStepsDetector().evaluate(sketch(own))


def test_durations_told_by_too_few_steps_are_no_finding(steady):
    own = steady()
    window = sketch(own)
    window.steps.planes[DURATION][:, :52] = np.nan
    assert [] == SlowStepsDetector().evaluate(window)


def test_a_step_that_some_ranks_have_yet_to_tell_is_left_out():
    own = np.full((4, 90), 0.1)
    own[:, 50:] = 0.4
    window = sketch(own, exchange=0.02)
    window.steps.at[1:, -1] = np.nan

    (finding,) = SlowStepsDetector().evaluate(window)

    assert "since step 50" in finding.text
    assert START < finding.window[0] < finding.window[1] == window.steps.at[0, -2]


def test_durations_that_steps_had_no_time_for_are_another_unit(steady):
    """Milliseconds from step 40 on."""
    window = sketch(steady())
    window.steps.planes[DURATION][:, 40:] *= 1000.0
    assert [] == SlowStepsDetector().evaluate(window)


def test_a_sender_that_stamps_all_steps_with_one_time_says_nothing_of_their_unit(steady):
    window = sketch(steady())
    steps = replace(window.steps, at=np.full_like(window.steps.at, window.now))
    found = replace(window, steps=steps).features.duration
    assert window.features.duration.tolist() == found.tolist()


def with_one_host_late(window, since):
    """Return the window as it is before the second of two hosts has reported steps from `since`."""
    late = window.host_of == 1

    def hidden(plane):
        found = np.array(plane, np.float64)
        found[late, since:] = np.nan
        return found

    steps = window.steps
    planes = {name: hidden(plane) for name, plane in steps.planes.items()}
    return replace(window, steps=StepValues(steps.index, hidden(steps.at), planes))


def test_one_hosts_report_of_slow_steps_is_a_first_word_about_all(steady):
    own = steady()
    own[:2, 53:] *= 1.5
    window = with_one_host_late(sketch(own), 52)
    (finding,) = SlowStepsDetector().evaluate(window)
    assert "since step 53" in finding.text
    assert 0.8 < finding.score < 1


def test_of_ranks_that_take_their_own_time_one_host_says_nothing_about_the_others(steady):
    own = steady()
    own[:2, 53:] *= 1.5
    window = sketch(own)
    window.steps.planes[DURATION][2:, :52] *= 1.1
    assert [] == SlowStepsDetector().evaluate(with_one_host_late(window, 52))


def test_what_one_host_has_reported_of_healthy_steps_is_no_word(steady):
    assert [] == SlowStepsDetector().evaluate(with_one_host_late(sketch(steady()), 52))


def test_steps_whose_longest_rank_has_yet_to_report_are_not_slow_for_its_tokens():
    """Hosts report every half minute, steps take a second: of forty steps two ranks are known."""
    tokens = np.random.default_rng(5).integers(2_000, 4_000, (10, 200)).astype(float)
    window = sketch(tokens / 4_000, hosts=5, planes={"training.tokens": tokens})
    assert [] == SlowStepsDetector().evaluate(window)
    window = sketch(tokens / 4_000, hosts=5, planes={"training.tokens": tokens})
    window.steps.at[2:, -40:] = np.nan
    for plane in window.steps.planes.values():
        plane[2:, -40:] = np.nan
    assert [] == SlowStepsDetector().evaluate(window)
