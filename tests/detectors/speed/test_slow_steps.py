"""Steps that take longer than this job's own healthy steps."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import Baselines
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.slow_steps import SlowSteps
from rankscope.detectors.window import Steps

DURATION = "training.step.duration"
TOKENS = "training.tokens"


def test_a_job_that_slows_down_is_named_with_the_step_it_began_at(steady):
    own = steady()
    own[:, 40:] *= 1.25
    window = sketch(own)

    (finding,) = SlowSteps().evaluate(window)

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
    assert findings == len(SlowSteps().evaluate(sketch(own)))


def reported(duration, *, every=1, frozen=None, **fields):
    """Return a job of which one rank reports step durations, [reports] in seconds."""
    at = START + np.cumsum(duration * every)
    index = np.arange(1, len(duration) + 1) * every
    steps = Steps(index, at[None, :], {DURATION: duration[None, :]})
    window = sketch(np.ones((1, 2)), hosts=1, now=float(at[-1]), steps=steps, **fields)
    if frozen is not None:
        frozen.frozen = True
        return replace(window, held_baselines=frozen)
    return window


@pytest.mark.parametrize(("noise", "factor"), [(0.01, 1.05), (0.03, 1.06), (0.043, 1.07)])
def test_a_lasting_slowdown_is_found_within_sixty_reports_by_the_jobs_own_noise(noise, factor):
    duration = np.random.default_rng(4).normal(5.0, 5.0 * noise, 500)
    assert [] == SlowSteps().evaluate(reported(duration[:440]))
    duration[440:] *= factor
    (finding,) = SlowSteps().evaluate(reported(duration))
    assert finding.magnitude == pytest.approx(factor, abs=0.02)


def test_the_onset_of_an_effect_within_the_noise_is_dated_to_where_the_sums_turn():
    duration = np.random.default_rng(4).normal(5.0, 0.15, 500)
    duration[430:] *= 1.06
    window = reported(duration)
    (finding,) = SlowSteps().evaluate(window)
    assert np.searchsorted(window.steps.at[0], finding.onset[1]) == pytest.approx(430, abs=12)


def test_noise_and_slow_drift_alone_are_no_finding():
    rng = np.random.default_rng(4)
    drift = 1 + 0.01 * np.sin(np.arange(1500) / 240)
    for noise in (0.01, 0.04, 0.08):
        duration = 5.0 * drift * (1 + rng.standard_t(4, 1500) * noise)
        for end in range(60, 1501, 20):
            assert [] == SlowSteps().evaluate(reported(np.abs(duration[max(0, end - 512) : end])))


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
        for finding in SlowSteps().evaluate(reported(duration[max(0, end - 512) : end]))
    ]
    assert found, "it is always worth a first word"
    assert pages == (max(found) >= 1)


@pytest.mark.parametrize(("onset", "pages"), [(40, False), (150, True)])
def test_a_few_per_cent_page_nobody_while_the_past_is_shorter_than_what_is_compared(onset, pages):
    """Steps drift up and down within minutes; ninety seconds do not show by how much."""
    duration = np.random.default_rng(4).normal(2.0, 0.02, onset + 90)
    duration[onset:] *= 1.055
    (finding,) = SlowSteps().evaluate(reported(duration))
    assert pages == (finding.score >= 1)


def test_slow_steps_that_this_job_has_now_and_then_are_its_noise():
    """A real job: one report in twenty takes 1.4 times as long, often two or three in a row."""
    rng = np.random.default_rng(8)
    slow = rng.random(1500) < 0.04
    slow |= np.roll(slow & (rng.random(1500) < 0.5), 1)
    duration = rng.normal(12.0, 0.05, 1500) * np.where(slow, 1.42, 1.0)
    for end in range(100, 1501):
        assert [] == SlowSteps().evaluate(reported(duration[max(0, end - 512) : end], every=5))
    duration[-16:] = 17.0
    assert 1 == len(SlowSteps().evaluate(reported(duration, every=5)))


def test_a_slowdown_that_outlasts_the_window_stands_against_what_was_learnt_before_it():
    duration = np.random.default_rng(4).normal(5.0, 0.1, 700)
    duration[300:] *= 1.06
    held = Baselines()
    held.learn(reported(duration[:300]).features)
    for end in range(380, 701, 10):
        newest = duration[max(300, end - 300) : end] if end > 600 else duration[:end]
        assert 1 == len(SlowSteps().evaluate(reported(newest, frozen=held))), end
    well = np.concatenate([duration[300:], duration[:200]])
    assert [] == SlowSteps().evaluate(reported(well, frozen=held))


def test_one_duration_in_twenty_reports_does_not_hide_an_episode():
    """Steps end all the while: the time between them stands in for durations."""
    duration = np.full(400, 1.0)
    duration[360:] = 4.0
    at = START + np.cumsum(duration)
    sparse = np.where(np.arange(400) % 20 == 19, duration, np.nan)
    found = []
    for end in range(340, 400):
        steps = Steps(np.arange(end), at[None, :end], {DURATION: sparse[None, :end]})
        window = sketch(np.ones((1, 2)), hosts=1, now=float(at[end - 1]), steps=steps)
        found += [end for _ in SlowSteps().evaluate(window)]
    assert found[0] <= 366


def test_episodes_that_come_and_go_are_one_finding_that_stays_between_them(steady):
    own = steady(steps=420)
    for begin in (100, 200, 300):
        own[:, begin : begin + 40] *= 1.4
    at = sketch(own).steps.at[0]
    found = [SlowSteps().evaluate(sketch(own[:, :end])) for end in range(220, 420, 5)]
    assert [1] * len(found) == [len(findings) for findings in found]
    assert {at[100]} == {finding.onset[1] for (finding,) in found}
    assert "in 3 episodes" in found[-1][0].text


def test_episodes_far_apart_are_two_faults(steady):
    own = steady(steps=1000)
    own[:, 100:140] *= 1.4
    own[:, 900:940] *= 1.4
    assert [] == SlowSteps().evaluate(sketch(own))
    (finding,) = SlowSteps().evaluate(sketch(own[:, :940]))
    assert "since step 900" in finding.text


def attempt(seconds, held, *, ranks=4, tokens=4096.0, steps=90):
    own = np.random.default_rng(7).normal(seconds, 0.01 * seconds, (ranks, steps))
    planes = {TOKENS: np.full(own.shape, tokens)}
    return replace(sketch(own, planes=planes, attempt=1), held_baselines=held)


@pytest.fixture
def restarted():
    """Return the baselines of an attempt that follows one with healthy steps of 1 s."""
    earlier, later = Baselines(), Baselines()
    earlier.learn(attempt(0.8, earlier).features)
    later.before = earlier.pace
    return later


def test_an_attempt_slow_from_its_first_step_stands_against_the_one_before(restarted):
    (finding,) = SlowSteps().evaluate(attempt(0.9, restarted))
    assert finding.magnitude == pytest.approx(1.1, abs=0.01)
    assert "attempt 0" in finding.text


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"seconds": 0.82}, id="two per cent are luck"),
        pytest.param({"ranks": 8}, id="another number of ranks"),
        pytest.param({"tokens": 8192.0}, id="other batches"),
        pytest.param({"tokens": np.nan}, id="nobody reports how large batches are"),
        pytest.param({"steps": 12}, id="too few steps"),
    ],
)
def test_attempts_that_differ_otherwise_or_by_little_are_not_compared(restarted, other):
    assert [] == SlowSteps().evaluate(attempt(**{"seconds": 0.9, "held": restarted, **other}))


def test_steady_steps_are_no_finding(steady):
    assert [] == SlowSteps().evaluate(sketch(steady()))


def test_steps_without_any_spread_do_not_upset_the_noise(steady):
    own = np.full((4, 60), 0.8)
    assert [] == SlowSteps().evaluate(sketch(own))
    own[:, 40:] = 1.0
    assert 1 == len(SlowSteps().evaluate(sketch(own)))


def test_slow_warm_up_steps_are_normal_life(steady):
    own = steady(steps=12)
    own[:, :5] = 30.0
    assert [] == SlowSteps().evaluate(sketch(own))


def test_long_steps_at_every_checkpoint_are_normal_life(steady):
    own = steady(steps=100)
    own[:, 9::10] += 4.0
    for end in range(20, 101):
        assert [] == SlowSteps().evaluate(sketch(own[:, :end]))


def test_pauses_for_evaluation_between_steps_are_normal_life(steady):
    window = sketch(steady(), gaps={30: 45.0, 58: 45.0})
    assert [] == SlowSteps().evaluate(window)


def test_a_job_that_is_well_again_is_no_finding(steady):
    own = steady()
    own[:, 20:40] *= 1.5
    assert [] == SlowSteps().evaluate(sketch(own))


def test_a_job_that_ended_while_it_was_slow_is_not_slow_any_more(steady):
    own = steady()
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowSteps().evaluate(sketch(own, now=last + 50)))
    assert 0 == len(SlowSteps().evaluate(sketch(own, now=last + 70)))


def test_slow_reporters_are_given_ten_of_their_steps(steady):
    own = steady(seconds=20.0)
    own[:, 40:] *= 1.25
    last = sketch(own).now
    assert 1 == len(SlowSteps().evaluate(sketch(own, now=last + 150)))
    assert 0 == len(SlowSteps().evaluate(sketch(own, now=last + 300)))


def test_two_fast_steps_do_not_end_a_slow_stretch_but_three_do(steady):
    own = np.full((4, 60), 0.8)
    own[:, 20:25] = own[:, 30:] = 1.6
    own[:, 40:42] = 0.8

    (finding,) = SlowSteps().evaluate(sketch(own))

    assert "since step 30" in finding.text


def test_slowness_that_flickered_from_the_start_is_dated_to_its_first_step():
    own = np.full((4, 90), 0.8)
    own[:, 7::3] = own[:, 60:] = 1.6

    (finding,) = SlowSteps().evaluate(sketch(own))

    assert "since step 7" in finding.text


def test_steps_that_take_longer_for_more_tokens_are_no_finding():
    tokens = np.random.default_rng(3).integers(2_000, 4_000, 80).astype(float)
    tokens[50:] *= 2.5
    own = np.tile(0.1 * tokens / 1_000 + 0.01 * (tokens / 1_000) ** 2, (4, 1))

    with_tokens = sketch(own, planes={TOKENS: np.tile(tokens, (4, 1))})

    assert [] == SlowSteps().evaluate(with_tokens)
    assert 1 == len(SlowSteps().evaluate(sketch(own))), "the same steps, nobody telling tokens"


def test_a_slowdown_is_seen_through_varying_tokens():
    tokens = np.random.default_rng(3).integers(2_000, 9_000, (4, 80)).astype(float)
    own = 0.1 * tokens / 1_000
    own[:, 60:] *= 1.5

    (finding,) = SlowSteps().evaluate(sketch(own, planes={TOKENS: tokens}))

    assert finding.magnitude == pytest.approx(1.45, abs=0.1)


def test_gaps_between_step_ends_stand_in_for_durations_that_nobody_tells(steady):
    own = steady()
    own[:, 40:] *= 1.5
    window = sketch(own)
    del window.steps.planes[DURATION]  # type: ignore[attr-defined]

    (finding,) = SlowSteps().evaluate(window)

    assert "since step 40" in finding.text


def test_gaps_over_untold_steps_are_shared_among_them():
    steps = Steps(np.array([0, 10, 20, 30]), np.array([[5.0, 15.0, 25.0, 45.0]]))
    window = replace(sketch(np.ones((1, 4))), steps=steps)
    np.testing.assert_allclose([np.nan, 1.0, 1.0, 2.0], window.features.job_duration)


def test_fewer_steps_than_warm_up_and_comparison_need_are_no_finding(steady):
    own = steady(steps=9)
    own[:, 5:] *= 3
    assert [] == SlowSteps().evaluate(sketch(own))


def test_durations_told_by_too_few_steps_are_no_finding(steady):
    own = steady()
    window = sketch(own)
    window.steps.planes[DURATION][:, :52] = np.nan
    assert [] == SlowSteps().evaluate(window)


def test_a_step_that_some_ranks_have_yet_to_tell_is_left_out():
    own = np.full((4, 90), 0.1)
    own[:, 50:] = 0.4
    window = sketch(own, exchange=0.02)
    window.steps.at[1:, -1] = np.nan

    (finding,) = SlowSteps().evaluate(window)

    assert "since step 50" in finding.text
    assert START < finding.window[0] < finding.window[1] == window.steps.at[0, -2]


def test_slow_from_the_first_step_cannot_be_seen(steady):
    """The docstring's first failure mode: nothing healthy to compare with."""
    assert [] == SlowSteps().evaluate(sketch(steady(seconds=2.4)))


def test_bursts_shorter_than_half_of_the_stretch_cannot_be_seen(steady):
    """The docstring's second failure mode."""
    own = steady()
    own[:, 40::5] *= 3
    own[:, 41::5] *= 3
    for end in range(45, 61):
        assert [] == SlowSteps().evaluate(sketch(own[:, :end]))


def test_durations_that_steps_had_no_time_for_are_another_unit(steady):
    """Milliseconds from step 40 on."""
    window = sketch(steady())
    window.steps.planes[DURATION][:, 40:] *= 1000.0
    assert [] == SlowSteps().evaluate(window)


def test_a_sender_that_stamps_all_steps_with_one_time_says_nothing_of_their_unit(steady):
    window = sketch(steady())
    steps = replace(window.steps, at=np.full_like(window.steps.at, window.now))
    found = replace(window, steps=steps).features.duration
    assert window.features.duration.tolist() == found.tolist()


@pytest.mark.parametrize(("factor", "steps"), [(1.3, 4), (1.09, 12)])
def test_steps_of_half_a_minute_stand_against_the_few_before_them(factor, steps):
    """The fault begins in the eleventh step; five or six of those before it say what is usual."""
    duration = np.random.default_rng(2).normal(27.0, 0.27, 40)
    duration[:3] *= (1.4, 1.3, 1.15)
    duration[10:] *= factor
    assert [] == SlowSteps().evaluate(reported(duration[:11]))
    (finding,) = SlowSteps().evaluate(reported(duration[: 10 + steps]))
    assert finding.magnitude == pytest.approx(factor, abs=0.03)
    assert "since step 11" in finding.text


def test_a_few_steps_of_a_job_whose_steps_vary_are_no_finding():
    for seed in range(40):
        duration = np.random.default_rng(seed).normal(20.0, 1.2, 28)
        assert [] == SlowSteps().evaluate(reported(duration)), seed


def test_half_a_minute_of_five_per_cent_is_found_though_the_past_is_short():
    duration = np.random.default_rng(6).normal(3.0, 0.03, 60)
    duration[30:] *= 1.065
    assert [] == SlowSteps().evaluate(reported(duration[:31]))
    assert 1 == len(SlowSteps().evaluate(reported(duration)))


def test_an_attempt_with_a_few_more_tokens_a_step_is_not_slow_for_them(restarted):
    (finding,) = SlowSteps().evaluate(attempt(0.9, restarted, tokens=4096.0 * 1.019))
    assert finding.magnitude == pytest.approx(1.08, abs=0.01)
    assert [] == SlowSteps().evaluate(attempt(0.85, restarted, tokens=4096.0 * 1.019))
    assert 1 == len(SlowSteps().evaluate(attempt(0.85, restarted)))


def test_ten_steps_of_uneven_batches_make_no_attempt_slow(restarted):
    """Their durations follow their tokens; so few of them do not show that yet."""
    steps = np.array([0.88, 0.84, 0.79, 0.84, 0.91, 1.22, 0.96, 0.97, 0.86, 0.96])
    window = attempt(np.concatenate([np.full(5, 0.9), steps]), restarted, steps=15)
    assert [] == SlowSteps().evaluate(window)
    even = attempt(np.full(15, float(np.median(steps))), restarted, steps=15)
    assert 1 == len(SlowSteps().evaluate(even))


def test_an_attempt_as_slow_as_the_one_before_was_at_times_is_not_slow():
    """Steps of the attempt before took 1 s, and up to 1.05 s as its hosts grew busier."""
    earlier, later = Baselines(), Baselines()
    slower = 1 + 0.05 * np.sin(np.linspace(0, np.pi, 200)) ** 2
    own = np.random.default_rng(7).normal(0.8, 0.008, (4, 200)) * slower
    planes = {TOKENS: np.full(own.shape, 4096.0)}
    earlier.learn(replace(sketch(own, planes=planes), held_baselines=earlier).features)
    later.before = earlier.pace
    assert [] == SlowSteps().evaluate(attempt(0.845, later))
    assert 1 == len(SlowSteps().evaluate(attempt(0.95, later)))


def with_one_host_late(window, since):
    """Return the window as it is before the second of two hosts has reported steps from `since`."""
    late = window.host_of == 1

    def hidden(plane):
        found = np.array(plane, np.float64)
        found[late, since:] = np.nan
        return found

    steps = window.steps
    planes = {name: hidden(plane) for name, plane in steps.planes.items()}
    return replace(window, steps=Steps(steps.index, hidden(steps.at), planes))


def test_one_hosts_report_of_slow_steps_is_a_first_word_about_all(steady):
    own = steady()
    own[:2, 53:] *= 1.5
    window = with_one_host_late(sketch(own), 52)
    (finding,) = SlowSteps().evaluate(window)
    assert "since step 53" in finding.text
    assert 0.8 < finding.score < 1


def test_of_ranks_that_take_their_own_time_one_host_says_nothing_about_the_others(steady):
    own = steady()
    own[:2, 53:] *= 1.5
    window = sketch(own)
    window.steps.planes[DURATION][2:, :52] *= 1.1
    assert [] == SlowSteps().evaluate(with_one_host_late(window, 52))


def test_what_one_host_has_reported_of_healthy_steps_is_no_word(steady):
    assert [] == SlowSteps().evaluate(with_one_host_late(sketch(steady()), 52))
