"""How much few steps tell of who is slow: first words, small excesses, the start of a job."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector


@pytest.mark.parametrize(("factor", "slow"), [(1.4, ["2"]), (1.12, [])])
def test_three_long_steps_are_enough_for_a_large_excess(steady, named, factor, slow):
    own = 5 * steady()
    own[2, 57:] *= factor
    assert slow == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")
    own[2, 58] /= factor
    assert [] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


def test_ranks_slow_from_the_first_step_count_where_they_are_half_as_slow_again(steady, named):
    own = steady()
    own[1:3] *= 1.6
    findings = StragglersDetector().evaluate(sketch(own))
    assert ["1", "2"] == named(findings, "rank.slow_compute")


@pytest.mark.parametrize("steps", [16, 60, 300])
@pytest.mark.parametrize(("factor", "slow"), [(1.03, []), (1.12, ["5"])])
def test_one_rank_that_is_slow_from_the_first_step_is_told_from_the_silicon_lottery(
    steady, named, steps, factor, slow
):
    own = steady(ranks=16, steps=steps)
    own *= np.random.default_rng(2).normal(1.0, 0.012, (16, 1))
    own[5] *= factor
    assert slow == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


@pytest.mark.parametrize(("since", "pages"), [(0, False), (70, True)])
def test_a_few_percent_from_the_first_step_on_are_worth_knowing_and_page_nobody(
    steady, since, pages
):
    own = steady(ranks=16, steps=120)
    own[5, since:] *= 1.09
    symptom = next(f for f in StragglersDetector().evaluate(sketch(own)) if f.kind == "job.slow")
    assert pages == (symptom.score >= 1)


@pytest.mark.parametrize(("factor", "slow"), [(1.2, []), (1.35, ["1", "2"])])
def test_without_a_known_habit_a_quarter_is_needed_where_several_have_it(
    steady, named, factor, slow
):
    own = steady(ranks=6, steps=16)
    own[1:3] *= factor
    assert slow == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


def test_one_of_two_ranks_has_no_peers_that_say_who_is_unlike_the_others(steady):
    own = steady(ranks=2)
    own[1] *= 1.15
    assert [] == StragglersDetector().evaluate(sketch(own))


@pytest.mark.parametrize(("ranks", "noise"), [(4, 0.01), (64, 0.02), (256, 0.03)])
def test_five_per_cent_are_found_within_a_minute(named, ranks, noise):
    own = np.random.default_rng(4).normal(0.8, 0.8 * noise, (ranks, 260))
    own[2, 200:] *= 1.05
    assert [] == StragglersDetector().evaluate(sketch(own[:, :200]))
    findings = StragglersDetector().evaluate(sketch(own))
    assert ["2"] == named(findings, "rank.slow_compute")
    (slow,) = (f for f in findings if f.kind == "job.slow")
    assert [2] == list(slow.ranks)


@pytest.mark.parametrize(("seconds", "after"), [(0.3, 50), (1.0, 15), (3.0, 5), (12.0, 5)])
def test_ten_per_cent_are_found_within_five_steps_or_fifteen_seconds(seconds, after, named):
    own = np.random.default_rng(4).normal(seconds, 0.01 * seconds, (16, 120 + after))
    own[2, 120:] *= 1.1
    findings = StragglersDetector().evaluate(sketch(own))
    assert ["2"] == named(findings, "rank.slow_compute")


@pytest.mark.parametrize(("ranks", "steps"), [(1, 60), (4, 9)])
def test_one_rank_or_too_few_steps_are_no_finding(steady, ranks, steps):
    own = steady(ranks=ranks, steps=steps)
    own[0, 5:] *= 2
    assert [] == StragglersDetector().evaluate(sketch(own, hosts=1))


def test_a_rank_slower_by_five_per_cent_is_named_though_its_job_takes_half_a_minute_a_step():
    """The fault begins in the sixteenth step; ten steps said what is usual."""
    own = np.random.default_rng(8).normal(20.0, 0.16, (16, 26))
    own *= 1 + np.random.default_rng(9).normal(0, 0.01, (16, 1))
    held = JobBaselines()
    for end in range(6, 19):
        held.learn(sketch(own[:, :end]).features)
    own[3, 16:] *= 1.06
    for end in range(19, 27):
        held.learn(sketch(own[:, :end]).features)
    window = replace(sketch(own), held_baselines=held)
    named = {
        f.entity.id for f in StragglersDetector().evaluate(window) if f.kind == "rank.slow_compute"
    }
    assert {"3"} == named


def test_a_rank_that_is_slower_than_in_the_attempt_before_is_named(steady, named):
    earlier, baselines = JobBaselines(), JobBaselines()
    earlier.learn(sketch(steady(ranks=8)).features)
    baselines.follow(earlier)
    own = steady(ranks=8)
    own[4:] *= 1.12
    window = sketch(own, held_baselines=baselines)

    assert [] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")
    baselines.learn(window.features)

    assert ["4", "5", "6", "7"] == named(StragglersDetector().evaluate(window), "rank.slow_compute")


@pytest.mark.parametrize(
    ("factor", "steps", "slow"),
    [(1.5, 5, []), (1.5, 6, ["5"]), (1.15, 6, []), (1.15, 8, ["5"]), (1.03, 9, [])],
)
def test_of_long_steps_a_few_tell_who_is_slow_from_the_first_one_on(
    steady, named, factor, steps, slow
):
    own = 10 * steady(ranks=8, steps=steps)
    own[5] *= factor
    assert slow == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


@pytest.mark.parametrize(("steps", "warns"), [(7, False), (12, True)])
def test_what_a_job_shows_that_has_just_begun_is_a_first_word(steady, steps, warns):
    own = 10 * steady(ranks=8, steps=steps)
    own[5] *= 1.5
    (score,) = (f.score for f in StragglersDetector().evaluate(sketch(own)) if f.kind == "job.slow")
    assert warns is (score >= 1)


def test_short_steps_at_the_start_say_nothing_yet(steady):
    own = steady(ranks=8, steps=9)
    own[5] *= 1.5
    assert [] == StragglersDetector().evaluate(sketch(own))


@pytest.mark.parametrize("after", [12, 32])
def test_where_eight_steps_say_too_little_more_of_them_show_a_small_excess(named, after):
    own = 6.0 * np.random.default_rng(15).normal(1.0, 0.04, (16, 120 + after))
    own[3, 120:] *= 1.07
    slow = named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")
    assert slow == (["3"] if after == 32 else [])


def test_a_small_excess_that_is_over_is_not_looked_for_in_the_steps_before():
    own = 6.0 * np.random.default_rng(15).normal(1.0, 0.04, (16, 163))
    own[3, 120:152] *= 1.07
    assert [] == StragglersDetector().evaluate(sketch(own))


def test_three_steps_of_an_eighth_more_are_a_first_word_and_five_a_warning(steady, named):
    own = 5 * steady(ranks=8, steps=82)
    own[2, 77:] *= 1.15
    first, sure = (StragglersDetector().evaluate(sketch(own[:, :end])) for end in (80, 82))
    assert ["2"] == named(first, "rank.slow_compute") == named(sure, "rank.slow_compute")
    scores = [f.score for found in (first, sure) for f in found if f.kind == "job.slow"]
    assert scores[0] < 1 <= scores[1]


@pytest.mark.parametrize(("missing", "slow"), [(8, ["2"]), (12, [])])
def test_steps_that_half_of_the_ranks_have_reported_name_the_slow_one(steady, named, missing, slow):
    own = 5 * steady(ranks=16, steps=80)
    own[2, 76:] *= 1.3
    window = sketch(own)
    late = np.arange(16) >= 16 - missing
    for plane in (window.steps.at, *window.steps.planes.values()):
        plane[late, 76:] = np.nan
    assert slow == named(StragglersDetector().evaluate(window), "rank.slow_compute")


@pytest.mark.parametrize(("since", "slows"), [(8, False), (14, True)])
def test_an_excess_that_may_be_chance_in_eight_long_steps_is_sure_in_some_more(since, slows):
    """A peer that always was nearly as slow hides what the excess costs the job."""
    count = 0
    for seed in range(20):
        own = np.random.default_rng(seed).normal(20.0, 0.5, (10, 30 + since))
        own[1] *= 1.06
        own[3, 30:] *= 1.085
        held = JobBaselines()
        held.learn(sketch(own[:, :30]).features)
        found = StragglersDetector().evaluate(replace(sketch(own), held_baselines=held))
        count += "job.slow" in {finding.kind for finding in found}
    assert slows == (count > 10)


def told_of(own):
    """Return who is named, and after how many steps first, as a job goes on step by step."""
    held, told = JobBaselines(), dict[str, int]()
    for count in range(6, own.shape[1] + 1):
        window = sketch(own[:, :count], hosts=8, held_baselines=held)
        held.record(window.features)
        held.learn(window.features)
        for found in StragglersDetector().evaluate(window):
            if found.kind == "rank.slow_compute":
                told.setdefault(found.entity.id, count)
    return told


@pytest.mark.parametrize("seed", range(3))
def test_ranks_whose_batches_are_uneven_by_a_quarter_are_not_slow(seed):
    """Among 64 ranks somebody always had three long batches in a row, or long ones again and again.

    Who is slow for certain is named as soon as ever: steps take 8 s, and he 80 % longer from 20 on.
    """
    own = 8 * np.random.default_rng(seed).lognormal(0, 0.25, (64, 40))
    assert {} == told_of(own)
    own[5, 20:] *= 1.8
    assert ["5"] == list(told_of(own))
