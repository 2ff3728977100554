"""Ranks that a synchronous job waits for."""

import csv
import gzip
from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import Baselines
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.stragglers import Stragglers
from rankscope.detectors.window import Steps

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"
DURATION = "training.step.duration"
TOKENS = "training.tokens"


def test_the_slow_rank_is_named_with_the_step_it_began_at(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)

    findings = Stragglers().evaluate(window)

    at = window.steps.at[0]
    slow = next(f for f in findings if f.kind == "rank.slow_compute")
    assert ("2", "host-1") == (slow.entity.id, slow.entity.host)
    assert (at[39], at[40]) == slow.onset
    assert slow.magnitude == pytest.approx(1.3, abs=0.02)
    assert COMPUTE == slow.signal


def test_the_rank_that_its_peers_wait_for_waits_least(steady, named):
    own = steady()
    own[2, 40:] *= 1.3

    findings = Stragglers().evaluate(sketch(own))

    assert ["2"] == named(findings, "rank.waits_least")
    waits = next(f for f in findings if f.kind == "rank.waits_least")
    assert waits.magnitude == pytest.approx(0.24, abs=0.01)


def test_the_job_is_slow_by_what_its_slow_rank_adds(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)

    job = next(f for f in Stragglers().evaluate(window) if f.kind == "job.slow")

    assert (window.steps.at[0, 39], window.steps.at[0, 40]) == job.onset
    assert job.magnitude == pytest.approx(1.23, abs=0.02)


def test_a_step_that_the_slow_rank_did_not_tell_leaves_its_onset_finite(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.at[2, 39] = np.nan

    slow = next(f for f in Stragglers().evaluate(window) if f.kind == "rank.slow_compute")

    assert (window.steps.at[2, 38], window.steps.at[2, 40]) == slow.onset


def test_a_value_that_the_slow_rank_did_not_tell_does_not_hide_it(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    own[2, 55] = np.nan
    assert ["2"] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_in_a_job_that_stopped_stepping_nobody_is_slow_any_more(steady):
    own = steady()
    own[2, 40:] *= 1.3
    last = sketch(own).now
    assert 3 == len(Stragglers().evaluate(sketch(own, now=last + 50)))
    assert 0 == len(Stragglers().evaluate(sketch(own, now=last + 70)))


def test_two_ranks_of_one_host_are_both_named(steady, named):
    own = steady(ranks=8)
    own[2:4, 40:] *= 1.4
    findings = Stragglers().evaluate(sketch(own, hosts=4))
    assert ["2", "3"] == named(findings, "rank.slow_compute")


@pytest.mark.parametrize(("factor", "slow"), [(1.4, ["2"]), (1.12, [])])
def test_three_long_steps_are_enough_for_a_large_excess(steady, named, factor, slow):
    own = 5 * steady()
    own[2, 57:] *= factor
    assert slow == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")
    own[2, 58] /= factor
    assert [] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_even_work_is_no_finding(steady):
    assert [] == Stragglers().evaluate(sketch(steady()))


def test_a_stable_skew_that_several_ranks_have_is_a_habit_and_no_finding(steady):
    own = steady()
    own[1:3] *= np.array([[1.2], [1.15]])
    assert [] == Stragglers().evaluate(sketch(own))


def test_ranks_slow_from_the_first_step_count_where_they_are_half_as_slow_again(steady, named):
    own = steady()
    own[1:3] *= 1.6
    findings = Stragglers().evaluate(sketch(own))
    assert ["1", "2"] == named(findings, "rank.slow_compute")


@pytest.mark.parametrize("steps", [16, 60, 300])
@pytest.mark.parametrize(("factor", "slow"), [(1.03, []), (1.12, ["5"])])
def test_one_rank_that_is_slow_from_the_first_step_is_told_from_the_silicon_lottery(
    steady, named, steps, factor, slow
):
    own = steady(ranks=16, steps=steps)
    own *= np.random.default_rng(2).normal(1.0, 0.012, (16, 1))
    own[5] *= factor
    assert slow == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


@pytest.mark.parametrize(("since", "pages"), [(0, False), (70, True)])
def test_a_few_percent_from_the_first_step_on_are_worth_knowing_and_page_nobody(
    steady, since, pages
):
    own = steady(ranks=16, steps=120)
    own[5, since:] *= 1.09
    symptom = next(f for f in Stragglers().evaluate(sketch(own)) if f.kind == "job.slow")
    assert pages == (symptom.score >= 1)


@pytest.mark.parametrize(("factor", "slow"), [(1.2, []), (1.35, ["1", "2"])])
def test_without_a_known_habit_a_quarter_is_needed_where_several_have_it(
    steady, named, factor, slow
):
    own = steady(ranks=6, steps=16)
    own[1:3] *= factor
    assert slow == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_one_of_two_ranks_has_no_peers_that_say_who_is_unlike_the_others(steady):
    own = steady(ranks=2)
    own[1] *= 1.15
    assert [] == Stragglers().evaluate(sketch(own))


@pytest.mark.parametrize(("ranks", "noise"), [(4, 0.01), (64, 0.02), (256, 0.03)])
def test_five_per_cent_are_found_within_a_minute(named, ranks, noise):
    own = np.random.default_rng(4).normal(0.8, 0.8 * noise, (ranks, 260))
    own[2, 200:] *= 1.05
    assert [] == Stragglers().evaluate(sketch(own[:, :200]))
    findings = Stragglers().evaluate(sketch(own))
    assert ["2"] == named(findings, "rank.slow_compute")
    (slow,) = (f for f in findings if f.kind == "job.slow")
    assert [2] == list(slow.ranks)


@pytest.mark.parametrize(("seconds", "after"), [(0.3, 50), (1.0, 15), (3.0, 5), (12.0, 5)])
def test_ten_per_cent_are_found_within_five_steps_or_fifteen_seconds(seconds, after, named):
    own = np.random.default_rng(4).normal(seconds, 0.01 * seconds, (16, 120 + after))
    own[2, 120:] *= 1.1
    findings = Stragglers().evaluate(sketch(own))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_noise_alone_is_no_finding_however_many_ranks_and_looks():
    own = np.random.default_rng(4).normal(0.8, 0.05, (512, 240))
    own *= np.random.default_rng(5).normal(1.0, 0.01, (512, 1))
    for end in range(20, 241, 20):
        assert [] == Stragglers().evaluate(sketch(own[:, :end], hosts=64))


def test_slowness_that_comes_and_goes_stays_one_finding_through_the_gaps(steady, named):
    own = steady(ranks=8, steps=420)
    for begin in (100, 200, 300):
        own[3, begin : begin + 40] *= 1.4
    window = sketch(own)
    since = set()
    for end in range(245, 420, 5):
        findings = Stragglers().evaluate(sketch(own[:, :end]))
        assert ["3"] == named(findings, "rank.slow_compute"), end
        since |= {f.onset[1] for f in findings if f.kind in ("job.slow", "rank.slow_compute")}
    assert {window.steps.at[0, 100]} == since


def test_what_came_and_went_long_ago_is_over(steady):
    own = steady(ranks=8, steps=420)
    own[3, 60:80] *= 1.4
    own[3, 120:140] *= 1.4
    assert [] == Stragglers().evaluate(sketch(own))


def test_where_ranks_do_not_wait_for_each_other_step_time_is_their_own(steady, named):
    """Asynchronous workers: one of ten turns slow and falls behind in steps."""
    own = steady(ranks=10, steps=200)
    own[4, 60:] *= 1.3
    at = START + np.cumsum(own, axis=1)
    ended = at <= float(at[0, 150])
    kept = ended.any(axis=0)
    hidden = np.where(ended, 1.0, np.nan)
    window = sketch(
        own, now=float(at[0, 150]),
        steps=Steps(np.arange(200)[kept], (at * hidden)[:, kept],
                    {DURATION: (own * hidden)[:, kept]}),
    )  # fmt: skip
    assert ["4"] == named(Stragglers().evaluate(window), "rank.slow_compute")


def test_ranks_of_a_synchronous_job_that_are_reported_late_are_not_slow(steady):
    """Hosts push every 20 s: when a slow episode of the job ends, half of them have yet to."""
    own = steady(steps=80)
    own[:, 66:75] *= 2.4
    full = sketch(own)
    hidden = np.ones(own.shape)
    hidden[2:, 72:] = np.nan
    duration = full.steps.planes[DURATION]
    window = sketch(
        own, steps=Steps(np.arange(80), full.steps.at * hidden, {DURATION: duration * hidden})
    )
    assert [] == Stragglers().evaluate(window)


def test_pipeline_stages_with_different_work_are_compared_within_themselves(steady, named):
    own = steady(ranks=8)
    own[4:] *= 1.8
    roles = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert [] == Stragglers().evaluate(sketch(own, role_of=roles))
    own[5, 40:] *= 1.3
    findings = Stragglers().evaluate(sketch(own, role_of=roles))
    assert ["5"] == named(findings, "rank.slow_compute")


def test_a_rank_alone_in_its_role_has_no_peers_and_is_never_named(steady):
    """The docstring's second failure mode."""
    own = steady()
    own[3, 40:] *= 2
    assert [] == Stragglers().evaluate(sketch(own, role_of=np.array([0, 0, 0, 1])))


def test_a_role_affected_as_a_whole_cannot_be_told_from_a_slow_job(steady, named):
    """The docstring's first failure mode: the healthy quantile itself is slow."""
    own = steady(ranks=8)
    own[:7, 40:] *= 1.5
    assert [] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_sequences_that_change_from_step_to_step_are_no_finding():
    tokens = np.random.default_rng(5).integers(2_000, 9_000, (4, 80)).astype(float)
    own = 0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2
    assert [] == Stragglers().evaluate(sketch(own, planes={TOKENS: tokens}))


def test_a_rank_that_gets_the_long_sequences_is_predicted_from_tokens_before_it_is_blamed(named):
    tokens = np.random.default_rng(5).integers(4_000, 6_000, (4, 80)).astype(float)
    tokens[1, 40:] *= 1.5
    own = 0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2
    assert [] == Stragglers().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["1"] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_tokens_that_do_not_vary_predict_nothing(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.full(own.shape, 4096.0)
    findings = Stragglers().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_tokens_that_explain_nothing_are_left_out(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.random.default_rng(5).integers(2_000, 9_000, own.shape).astype(float)
    findings = Stragglers().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_tokens_told_by_next_to_nobody_are_left_out(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.full(own.shape, np.nan)
    tokens[0, :5] = 4096.0
    findings = Stragglers().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_warm_up_is_normal_life(steady):
    own = steady(steps=12)
    own[3, :5] = 20.0
    assert [] == Stragglers().evaluate(sketch(own))


def test_one_stray_step_is_normal_life(steady):
    own = steady()
    own[2, 57] *= 10
    assert [] == Stragglers().evaluate(sketch(own))


def test_checkpoints_written_by_one_rank_are_normal_life(steady):
    own = steady(steps=100)
    own[0, 9::10] += 3.0
    for end in range(20, 101):
        assert [] == Stragglers().evaluate(sketch(own[:, :end]))


def test_pauses_for_evaluation_are_normal_life(steady):
    assert [] == Stragglers().evaluate(sketch(steady(), gaps={30: 60.0, 58: 60.0}))


def test_a_rank_that_is_well_again_is_no_finding(steady):
    own = steady()
    own[2, 20:40] *= 1.5
    assert [] == Stragglers().evaluate(sketch(own))


def test_own_time_is_the_step_less_the_wait_where_nobody_tells_compute(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[COMPUTE]  # type: ignore[attr-defined]

    findings = Stragglers().evaluate(window)

    assert ["2"] == named(findings, "rank.slow_compute")
    assert DURATION == next(f for f in findings if f.kind == "rank.slow_compute").signal


def test_step_durations_alone_accuse_nobody(steady):
    """In a synchronous job every rank's step takes as long as the slowest one's."""
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    for name in (COMPUTE, COMM):
        del window.steps.planes[name]  # type: ignore[attr-defined]
    assert [] == Stragglers().evaluate(window)


def test_where_nobody_tells_waits_the_slow_rank_is_named_all_the_same(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[COMM]  # type: ignore[attr-defined]
    assert ["job.slow", "rank.slow_compute"] == [f.kind for f in Stragglers().evaluate(window)]


def test_where_nobody_tells_durations_own_work_alone_says_what_is_lost(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[DURATION]  # type: ignore[attr-defined]

    findings = Stragglers().evaluate(window)

    assert ["job.slow", "rank.slow_compute", "rank.waits_least"] == [f.kind for f in findings]
    assert findings[0].expected == pytest.approx(0.8, abs=0.02)


def test_durations_that_vanish_are_stood_in_for(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.planes[DURATION][:, 42:] = np.nan
    found = [f.kind for f in Stragglers().evaluate(window)]
    assert ["job.slow", "rank.slow_compute", "rank.waits_least"] == found


def test_work_and_waits_of_no_length_prove_nothing(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own, planes={COMM: np.zeros(own.shape), DURATION: np.zeros(own.shape)})
    assert ["rank.slow_compute"] == [f.kind for f in Stragglers().evaluate(window)]


def test_waits_of_the_slow_rank_alone_prove_nothing(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.planes[COMM][[0, 1, 3]] = np.nan
    findings = Stragglers().evaluate(window)
    assert ["2"] == named(findings, "rank.slow_compute")
    assert [] == named(findings, "rank.waits_least")


def test_a_slow_rank_that_waits_as_long_as_its_peers_is_not_waited_for(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own, planes={COMM: np.full(own.shape, 0.3)})
    assert [] == named(Stragglers().evaluate(window), "rank.waits_least")


def test_work_that_is_a_sliver_of_the_step_does_not_make_the_job_slow(steady):
    own = steady(seconds=0.05)
    own[2, 40:] *= 1.3
    findings = Stragglers().evaluate(sketch(own, exchange=5.0))
    assert ["rank.slow_compute"] == [f.kind for f in findings]


@pytest.mark.parametrize(("ranks", "steps"), [(1, 60), (4, 9)])
def test_one_rank_or_too_few_steps_are_no_finding(steady, ranks, steps):
    own = steady(ranks=ranks, steps=steps)
    own[0, 5:] *= 2
    assert [] == Stragglers().evaluate(sketch(own, hosts=1))


@pytest.mark.parametrize("synchronous", [True, False])
def test_a_real_job_with_a_stable_skew_has_no_straggler(real_data, synchronous):
    """Ten workers, one of them 30 % slower than another for as long as the job runs."""
    own = _worker_steps(real_data("worker_steps/job_2_norm.csv.gz"))
    for end in range(15, own.shape[1] + 1, 5):
        assert [] == Stragglers().evaluate(_as_reported(own[:, :end], synchronous))


@pytest.mark.parametrize("synchronous", [True, False])
def test_in_a_real_job_the_workers_that_turn_slow_are_named_and_no_others(
    real_data, named, synchronous
):
    own = _worker_steps(real_data("worker_steps/job_3_norm.csv.gz"))
    ever: set[str] = set()
    for end in range(15, own.shape[1] + 1, 5):
        found = Stragglers().evaluate(_as_reported(own[:, :end], synchronous))
        ever |= set(named(found, "rank.slow_compute"))
    assert {"6", "7", "8", "9"} == ever


def _as_reported(own, synchronous):
    """Return the workers as ranks that wait for each other, or with nothing but step durations."""
    window = sketch(own, hosts=10)
    if synchronous:
        return window
    steps = Steps(window.steps.index, window.steps.at, {DURATION: own})
    return sketch(own, hosts=10, steps=steps)


def _worker_steps(path):
    """Return [workers, steps], seconds a mini-batch; NaN where a worker reported none."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    steps = {step: column for column, step in enumerate(sorted({int(row["time"]) for row in rows}))}
    own = np.full((10, len(steps)), np.nan)
    for row in rows:
        own[int(row["worker"]), steps[int(row["time"])]] = float(row["batch_time_norm"]) / 1_000
    return own


def test_a_rank_slower_by_five_per_cent_is_named_though_its_job_takes_half_a_minute_a_step():
    """The fault begins in the sixteenth step; ten steps said what is usual."""
    own = np.random.default_rng(8).normal(20.0, 0.16, (16, 26))
    own *= 1 + np.random.default_rng(9).normal(0, 0.01, (16, 1))
    held = Baselines()
    for end in range(6, 19):
        held.learn(sketch(own[:, :end]).features)
    own[3, 16:] *= 1.06
    for end in range(19, 27):
        held.learn(sketch(own[:, :end]).features)
    window = replace(sketch(own), held_baselines=held)
    named = {f.entity.id for f in Stragglers().evaluate(window) if f.kind == "rank.slow_compute"}
    assert {"3"} == named


def test_ranks_whose_batches_vary_widely_are_not_slow_by_the_chance_of_five_steps():
    rng = np.random.default_rng(5)
    own = 2.7 * rng.normal(1.0, 0.09, (16, 200))

    found = [Stragglers().evaluate(sketch(own[:, : 40 + 4 * n])) for n in range(40)]

    assert not any(found)


def test_of_two_replicas_with_uneven_batches_none_is_slow_by_a_run_of_longer_ones():
    rng = np.random.default_rng(6)
    shared = np.repeat(9.6 * rng.normal(1.0, 0.08, (2, 160)), 4, axis=0)
    own = shared * rng.normal(1.0, 0.003, shared.shape)
    role_of = np.tile(np.arange(4), 2)

    found = [Stragglers().evaluate(sketch(own[:, : 20 + n], role_of=role_of)) for n in range(140)]

    assert not any(found)


def test_a_rank_of_noisy_peers_is_slow_where_it_stands_far_above_them(named):
    own = 2.7 * np.random.default_rng(5).normal(1.0, 0.05, (16, 80))
    own[3, 60:] *= 1.3

    assert ["3"] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


def test_devices_of_an_older_model_are_slower_from_the_start_and_no_stragglers():
    own = 2.7 * np.random.default_rng(5).normal(1.0, 0.01, (16, 60))
    own[:4] *= 1.6
    memory = np.full((16, 1), 80.0 * 2**30)
    memory[:4] = 40.0 * 2**30
    at = START + np.arange(0.0, 100.0, 10.0)

    unknown = Stragglers().evaluate(sketch(own))
    window = sketch(own, rank_readings={"hw.gpu.memory.limit": readings(at, memory)})

    assert unknown
    assert not Stragglers().evaluate(window)


def test_a_rank_that_is_slower_than_in_the_attempt_before_is_named(steady, named):
    earlier, baselines = Baselines(), Baselines()
    earlier.learn(sketch(steady(ranks=8)).features)
    baselines.follow(earlier)
    own = steady(ranks=8)
    own[4:] *= 1.12
    window = sketch(own, held_baselines=baselines)

    assert [] == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")
    baselines.learn(window.features)

    assert ["4", "5", "6", "7"] == named(Stragglers().evaluate(window), "rank.slow_compute")


@pytest.mark.parametrize(
    ("factors", "kinds"),
    [
        pytest.param((1.02, 0.91), {"rank.slow_compute"}, id="its peer was fast for five steps"),
        pytest.param((1.12, 1.0), {"rank.slow_compute", "job.slow"}, id="the steps grew with it"),
    ],
)
def test_a_rank_barely_beyond_chance_slows_the_job_only_where_its_steps_take_longer(factors, kinds):
    """Two replicas, which differ by 2.7 % from step to step."""
    own = 3.5 * np.random.default_rng(4).normal(1.0, 0.027, (2, 200))
    held = Baselines()
    for end in range(20, 196, 5):
        held.learn(sketch(own[:, :end], hosts=1).features)
    own[:, 195:] = 3.5 * np.array(factors)[:, None]
    window = sketch(own, hosts=1, held_baselines=held)
    found = {f.kind for f in Stragglers().evaluate(window)}
    assert kinds == found - {"rank.waits_least"}


@pytest.mark.parametrize(
    ("factor", "steps", "slow"),
    [(1.5, 5, []), (1.5, 6, ["5"]), (1.15, 6, []), (1.15, 8, ["5"]), (1.03, 9, [])],
)
def test_of_long_steps_a_few_tell_who_is_slow_from_the_first_one_on(
    steady, named, factor, steps, slow
):
    own = 10 * steady(ranks=8, steps=steps)
    own[5] *= factor
    assert slow == named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")


@pytest.mark.parametrize(("steps", "warns"), [(7, False), (12, True)])
def test_what_a_job_shows_that_has_just_begun_is_a_first_word(steady, steps, warns):
    own = 10 * steady(ranks=8, steps=steps)
    own[5] *= 1.5
    (score,) = (f.score for f in Stragglers().evaluate(sketch(own)) if f.kind == "job.slow")
    assert warns is (score >= 1)


def test_short_steps_at_the_start_say_nothing_yet(steady):
    own = steady(ranks=8, steps=9)
    own[5] *= 1.5
    assert [] == Stragglers().evaluate(sketch(own))


@pytest.mark.parametrize("after", [12, 32])
def test_where_eight_steps_say_too_little_more_of_them_show_a_small_excess(named, after):
    own = 6.0 * np.random.default_rng(15).normal(1.0, 0.04, (16, 120 + after))
    own[3, 120:] *= 1.07
    slow = named(Stragglers().evaluate(sketch(own)), "rank.slow_compute")
    assert slow == (["3"] if after == 32 else [])


def test_a_small_excess_that_is_over_is_not_looked_for_in_the_steps_before():
    own = 6.0 * np.random.default_rng(15).normal(1.0, 0.04, (16, 163))
    own[3, 120:152] *= 1.07
    assert [] == Stragglers().evaluate(sketch(own))


def test_three_steps_of_an_eighth_more_are_a_first_word_and_five_a_warning(steady, named):
    own = 5 * steady(ranks=8, steps=82)
    own[2, 77:] *= 1.15
    first, sure = (Stragglers().evaluate(sketch(own[:, :end])) for end in (80, 82))
    assert ["2"] == named(first, "rank.slow_compute") == named(sure, "rank.slow_compute")
    scores = [f.score for found in (first, sure) for f in found if f.kind == "job.slow"]
    assert scores[0] < 1 <= scores[1]


def test_stray_delays_are_no_first_word(steady):
    own = 5 * steady(ranks=8, steps=80)
    rng = np.random.default_rng(3)
    own *= np.where(rng.random(own.shape) < 0.12, 1.3, 1.0)
    own[2, 70:] = own[2, :10]
    own[2, 77:] *= 1.3
    found = Stragglers().evaluate(sketch(own))
    assert all(f.score >= 1 or f.kind != "job.slow" for f in found)


@pytest.mark.parametrize(("missing", "slow"), [(8, ["2"]), (12, [])])
def test_steps_that_half_of_the_ranks_have_reported_name_the_slow_one(steady, named, missing, slow):
    own = 5 * steady(ranks=16, steps=80)
    own[2, 76:] *= 1.3
    window = sketch(own)
    late = np.arange(16) >= 16 - missing
    for plane in (window.steps.at, *window.steps.planes.values()):
        plane[late, 76:] = np.nan
    assert slow == named(Stragglers().evaluate(window), "rank.slow_compute")


def test_hosts_of_a_faster_model_that_report_first_accuse_nobody(steady):
    own = 5 * steady(ranks=16, steps=80)
    own[5:8] *= 0.7
    window = sketch(own)
    late = np.arange(16) >= 8
    for plane in (window.steps.at, *window.steps.planes.values()):
        plane[late, 72:] = np.nan
    assert [] == Stragglers().evaluate(window)


def test_the_job_is_slow_since_the_ranks_that_cost_most_became_slow(steady):
    own = steady(ranks=8, steps=160)
    own[1, 110:] *= 1.05
    own[2, 150:] *= 1.4
    window = sketch(own)
    (slow,) = (f for f in Stragglers().evaluate(window) if f.kind == "job.slow")
    assert window.steps.at[0, 150] == slow.onset[1]
