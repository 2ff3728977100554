"""What ranks of healthy jobs do that looks like being slow: habits, sequences, pauses, noise."""

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.stragglers import StragglersDetector
from rankscope.detectors.window import StepValues

DURATION = "training.step.duration"
TOKENS = "training.tokens"


def test_in_a_job_that_stopped_stepping_nobody_is_slow_any_more(steady):
    own = steady()
    own[2, 40:] *= 1.3
    last = sketch(own).now
    assert 3 == len(StragglersDetector().evaluate(sketch(own, now=last + 50)))
    assert 0 == len(StragglersDetector().evaluate(sketch(own, now=last + 70)))


def test_even_work_is_no_finding(steady):
    assert [] == StragglersDetector().evaluate(sketch(steady()))


def test_a_stable_skew_that_several_ranks_have_is_a_habit_and_no_finding(steady):
    own = steady()
    own[1:3] *= np.array([[1.2], [1.15]])
    assert [] == StragglersDetector().evaluate(sketch(own))


def taking_turns(*, favoured, seed=11):
    """Return own work of 16 ranks: now these have more to do, half a minute later others."""
    rng = np.random.default_rng(seed)
    own = rng.normal(1.2, 0.012, (16, 300))
    for begin in range(0, 300, 30):
        own[rng.choice(16, 2, replace=False), begin : begin + 30] *= favoured
    return own


def test_ranks_that_take_turns_at_having_more_to_do_are_no_slow_devices(named):
    own = taking_turns(favoured=1.08)
    for end in range(120, 301, 6):
        found = StragglersDetector().evaluate(sketch(own[:, :end], hosts=2))
        assert [] == named(found, "rank.slow_compute")


@pytest.mark.parametrize(("spread", "ranks"), [(0.22, 64), (0.2, 32), (0.15, 8)])
def test_sequences_of_any_length_that_nobody_counts_make_hardly_a_rank_slow(spread, ranks):
    """Long steps, few of them, and in each another rank has most to do, by half as much again."""
    accused = 0
    for seed in range(8):
        own = np.random.default_rng(seed).lognormal(2.0, spread, (ranks, 60))
        every = (sketch(own[:, :end], hosts=max(ranks // 8, 2)) for end in range(6, 61, 2))
        found = (each for window in every for each in StragglersDetector().evaluate(window))
        accused += any(each.kind != "rank.waits_least" for each in found)
    assert accused <= 1


def test_among_such_sequences_a_rank_that_is_slow_for_good_is_named_all_the_same(named):
    own = np.random.default_rng(5).lognormal(2.0, 0.22, (64, 60))
    own[7, 20:] *= 2.2
    assert ["7"] == named(StragglersDetector().evaluate(sketch(own, hosts=8)), "rank.slow_compute")


def test_a_rank_far_above_all_turns_is_slow(named):
    own = taking_turns(favoured=1.08)
    own[5, 260:] *= 1.3
    assert ["5"] == named(StragglersDetector().evaluate(sketch(own, hosts=2)), "rank.slow_compute")


def test_a_rank_a_little_above_peers_that_never_stray_is_slow(named):
    own = taking_turns(favoured=1.0)
    own[5, 260:] *= 1.08
    assert ["5"] == named(StragglersDetector().evaluate(sketch(own, hosts=2)), "rank.slow_compute")


def test_noise_alone_is_no_finding_however_many_ranks_and_looks():
    own = np.random.default_rng(4).normal(0.8, 0.05, (512, 240))
    own *= np.random.default_rng(5).normal(1.0, 0.01, (512, 1))
    for end in range(20, 241, 20):
        assert [] == StragglersDetector().evaluate(sketch(own[:, :end], hosts=64))


def test_what_came_and_went_long_ago_is_over(steady):
    own = steady(ranks=8, steps=420)
    own[3, 60:80] *= 1.4
    own[3, 120:140] *= 1.4
    assert [] == StragglersDetector().evaluate(sketch(own))


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
        steps=StepValues(np.arange(200)[kept], (at * hidden)[:, kept],
                    {DURATION: (own * hidden)[:, kept]}),
    )  # fmt: skip
    assert ["4"] == named(StragglersDetector().evaluate(window), "rank.slow_compute")


def test_ranks_of_a_synchronous_job_that_are_reported_late_are_not_slow(steady):
    """Hosts push every 20 s: when a slow episode of the job ends, half of them have yet to."""
    own = steady(steps=80)
    own[:, 66:75] *= 2.4
    full = sketch(own)
    hidden = np.ones(own.shape)
    hidden[2:, 72:] = np.nan
    duration = full.steps.planes[DURATION]
    window = sketch(
        own, steps=StepValues(np.arange(80), full.steps.at * hidden, {DURATION: duration * hidden})
    )
    assert [] == StragglersDetector().evaluate(window)


def test_pipeline_stages_with_different_work_are_compared_within_themselves(steady, named):
    own = steady(ranks=8)
    own[4:] *= 1.8
    roles = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert [] == StragglersDetector().evaluate(sketch(own, role_of=roles))
    own[5, 40:] *= 1.3
    findings = StragglersDetector().evaluate(sketch(own, role_of=roles))
    assert ["5"] == named(findings, "rank.slow_compute")


def test_a_rank_alone_in_its_role_has_no_peers_and_is_never_named(steady):
    """The docstring's second failure mode."""
    own = steady()
    own[3, 40:] *= 2
    assert [] == StragglersDetector().evaluate(sketch(own, role_of=np.array([0, 0, 0, 1])))


def test_a_role_affected_as_a_whole_cannot_be_told_from_a_slow_job(steady, named):
    """The docstring's first failure mode: the healthy quantile itself is slow."""
    own = steady(ranks=8)
    own[:7, 40:] *= 1.5
    assert [] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


def test_sequences_that_change_from_step_to_step_are_no_finding():
    tokens = np.random.default_rng(5).integers(2_000, 9_000, (4, 80)).astype(float)
    own = 0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2
    assert [] == StragglersDetector().evaluate(sketch(own, planes={TOKENS: tokens}))


def test_a_rank_that_gets_the_long_sequences_is_predicted_from_tokens_before_it_is_blamed(named):
    tokens = np.random.default_rng(5).integers(4_000, 6_000, (4, 80)).astype(float)
    tokens[1, 40:] *= 1.5
    own = 0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2
    assert [] == StragglersDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["1"] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


def test_tokens_that_do_not_vary_predict_nothing(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.full(own.shape, 4096.0)
    findings = StragglersDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_tokens_that_explain_nothing_are_left_out(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.random.default_rng(5).integers(2_000, 9_000, own.shape).astype(float)
    findings = StragglersDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_tokens_told_by_next_to_nobody_are_left_out(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    tokens = np.full(own.shape, np.nan)
    tokens[0, :5] = 4096.0
    findings = StragglersDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert ["2"] == named(findings, "rank.slow_compute")


def test_warm_up_is_normal_life(steady):
    own = steady(steps=12)
    own[3, :5] = 20.0
    assert [] == StragglersDetector().evaluate(sketch(own))


def test_one_stray_step_is_normal_life(steady):
    own = steady()
    own[2, 57] *= 10
    assert [] == StragglersDetector().evaluate(sketch(own))


def test_checkpoints_written_by_one_rank_are_normal_life(steady):
    own = steady(steps=100)
    own[0, 9::10] += 3.0
    for end in range(20, 101):
        assert [] == StragglersDetector().evaluate(sketch(own[:, :end]))


def test_pauses_for_evaluation_are_normal_life(steady):
    assert [] == StragglersDetector().evaluate(sketch(steady(), gaps={30: 60.0, 58: 60.0}))


def test_a_rank_that_is_well_again_is_no_finding(steady):
    own = steady()
    own[2, 20:40] *= 1.5
    assert [] == StragglersDetector().evaluate(sketch(own))


def test_ranks_whose_batches_vary_widely_are_not_slow_by_the_chance_of_five_steps():
    rng = np.random.default_rng(5)
    own = 2.7 * rng.normal(1.0, 0.09, (16, 200))

    found = [StragglersDetector().evaluate(sketch(own[:, : 40 + 4 * n])) for n in range(40)]

    assert not any(found)


def test_of_two_replicas_with_uneven_batches_none_is_slow_by_a_run_of_longer_ones():
    rng = np.random.default_rng(6)
    shared = np.repeat(9.6 * rng.normal(1.0, 0.08, (2, 160)), 4, axis=0)
    own = shared * rng.normal(1.0, 0.003, shared.shape)
    role_of = np.tile(np.arange(4), 2)

    found = [
        StragglersDetector().evaluate(sketch(own[:, : 20 + n], role_of=role_of)) for n in range(140)
    ]

    assert not any(found)


def test_devices_of_an_older_model_are_slower_from_the_start_and_no_stragglers():
    own = 2.7 * np.random.default_rng(5).normal(1.0, 0.01, (16, 60))
    own[:4] *= 1.6
    memory = np.full((16, 1), 80.0 * 2**30)
    memory[:4] = 40.0 * 2**30
    at = START + np.arange(0.0, 100.0, 10.0)

    unknown = StragglersDetector().evaluate(sketch(own))
    window = sketch(own, rank_readings={"hw.gpu.memory.limit": readings(at, memory)})

    assert unknown
    assert not StragglersDetector().evaluate(window)


def test_stray_delays_are_no_first_word(steady):
    own = 5 * steady(ranks=8, steps=80)
    rng = np.random.default_rng(3)
    own *= np.where(rng.random(own.shape) < 0.12, 1.3, 1.0)
    own[2, 70:] = own[2, :10]
    own[2, 77:] *= 1.3
    found = StragglersDetector().evaluate(sketch(own))
    assert all(f.score >= 1 or f.kind != "job.slow" for f in found)


def test_hosts_of_a_faster_model_that_report_first_accuse_nobody(steady):
    own = 5 * steady(ranks=16, steps=80)
    own[5:8] *= 0.7
    window = sketch(own)
    late = np.arange(16) >= 8
    for plane in (window.steps.at, *window.steps.planes.values()):
        plane[late, 72:] = np.nan
    assert [] == StragglersDetector().evaluate(window)


def test_pauses_that_everybody_has_single_nobody_out():
    """Garbage collection at any rank's any step: the one with the most is no straggler."""
    random = np.random.default_rng(9)
    for _ in range(5):
        own = random.normal(1.2, 0.01, (4, 120))
        own[:, 40:] += 0.7 * (random.random((4, 80)) < 0.44)
        for end in range(60, 121, 10):
            found = StragglersDetector().evaluate(sketch(own[:, :end]))
            assert [] == [one for one in found if "again" in one.text], (end, found)
