"""Short pauses of a different rank each time."""

import numpy as np
import pytest

from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.rotating_pauses import GC, RotatingPausesDetector

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"
DATA = "training.data.duration"


def pausing(own, *, every=3, seconds=0.4):
    """Return the seconds of pauses, another rank's at each `every`-th step."""
    pauses = np.zeros(own.shape)
    for number, step in enumerate(range(10, own.shape[1], every)):
        pauses[number * 5 % len(own), step] = seconds
    return pauses


def kinds(findings):
    return [finding.kind for finding in findings]


def test_pauses_that_rotate_slow_the_job_and_accuse_no_rank(steady):
    own = steady(ranks=8, steps=120)
    findings = RotatingPausesDetector().evaluate(sketch(own + pausing(own)))
    assert ["job.slow", "job.rotating_pauses"] == kinds(findings)
    assert all(not finding.ranks for finding in findings)
    assert findings[0].magnitude == pytest.approx(1.14, abs=0.02)


def test_collections_that_ranks_report_are_said_to_be_what_pauses_are(steady):
    """The probe leaves them out of compute time: the step less the wait has them."""
    own = steady(ranks=8, steps=120)
    pauses = pausing(own)
    window = sketch(own + pauses, planes={COMPUTE: own, GC: pauses})
    findings = RotatingPausesDetector().evaluate(window)
    assert ["job.slow", "job.gc_pauses", "job.rotating_pauses"] == kinds(findings)


def test_collections_at_the_same_step_on_all_ranks_cost_as_well(steady):
    own = steady(ranks=8, steps=120)
    pauses = np.zeros(own.shape)
    pauses[:, 5::10] = 0.8
    window = sketch(own + pauses, planes={COMPUTE: own, GC: pauses})
    assert ["job.slow", "job.gc_pauses"] == kinds(RotatingPausesDetector().evaluate(window))


@pytest.mark.parametrize(
    ("every", "seconds"),
    [pytest.param(40, 0.4, id="too rare to cost"), pytest.param(3, 0.03, id="too short")],
)
def test_pauses_that_cost_little_are_no_finding(steady, every, seconds):
    own = steady(ranks=8, steps=120)
    pauses = pausing(own, every=every, seconds=seconds)
    assert [] == RotatingPausesDetector().evaluate(sketch(own + pauses, planes={GC: pauses / 2}))


def test_pauses_of_one_host_alone_are_not_the_programs_and_name_its_ranks(steady):
    """A program runs on every host: what stops processes of one is that host's."""
    own = steady(ranks=8, steps=120)
    for number, step in enumerate(range(10, 120, 3)):
        own[4 + number % 4, step] += 0.4
    slow, held = RotatingPausesDetector().evaluate(sketch(own, hosts=2))
    assert ("host.pauses", "host-1") == (held.kind, held.entity.id)
    assert [4, 5, 6, 7] == list(slow.ranks)
    alone = RotatingPausesDetector().evaluate(sketch(own[4:], hosts=1))
    assert ["job.slow", "job.rotating_pauses"] == kinds(alone)


def test_one_rank_that_is_late_again_and_again_does_not_rotate(steady):
    own = steady(ranks=8, steps=120)
    own[3, 10::3] += 0.4
    own[2, [20, 50]] += 0.4
    assert [] == RotatingPausesDetector().evaluate(sketch(own))


@pytest.mark.parametrize("ranks", [slice(0, 5), slice(0, 1)])
def test_one_long_step_is_no_turn_whoever_was_late_in_it(steady, ranks):
    """A checkpoint or an evaluation that nobody announces; the others are late now and then."""
    own = steady(ranks=8, steps=120)
    own[ranks, 90] += 20.0
    own[[1, 2, 5, 7, 4], [20, 40, 60, 80, 100]] += 0.2
    assert [] == RotatingPausesDetector().evaluate(sketch(own))


def test_a_lasting_straggler_is_no_pause(steady):
    own = steady(ranks=8, steps=120)
    own[3] *= 1.5
    own[:, 60:] *= 1.3
    assert [] == RotatingPausesDetector().evaluate(sketch(own))


def test_noise_and_heavy_tails_that_cost_little_are_no_finding():
    own = np.abs(0.8 * (1 + 0.01 * np.random.default_rng(5).standard_t(3, (64, 200))))
    assert [] == RotatingPausesDetector().evaluate(sketch(own))


def test_waits_for_data_are_no_pauses(steady):
    own = steady(ranks=8, steps=120)
    waits = pausing(own)
    assert [] == RotatingPausesDetector().evaluate(
        sketch(own + waits, planes={COMPUTE: own, DATA: waits})
    )


def test_long_sequences_that_rotate_are_predicted_from_tokens():
    tokens = np.random.default_rng(5).integers(2_000, 9_000, (8, 120)).astype(float)
    own = 0.1 * tokens / 1_000
    assert [] == RotatingPausesDetector().evaluate(sketch(own, planes={"training.tokens": tokens}))
    assert [] == RotatingPausesDetector().evaluate(sketch(own[:, :20]))


def test_step_durations_alone_say_nothing(steady):
    own = steady(ranks=8, steps=120)
    window = sketch(own + pausing(own))
    for name in (COMPUTE, COMM):
        del window.steps.planes[name]  # type: ignore[attr-defined]
    assert [] == RotatingPausesDetector().evaluate(window)


def test_pauses_of_steps_of_half_a_minute_are_found_and_dated_to_where_they_began(steady):
    own = 25 * steady(ranks=12, steps=26)
    for number, column in enumerate([13, 15, 16, 17, 19, 20, 22, 25]):
        own[number, column] += 7.0
    slow, rotating = RotatingPausesDetector().evaluate(sketch(own))
    assert ("job.slow", "job.rotating_pauses") == (slow.kind, rotating.kind)
    assert (
        sketch(own).steps.at[0, 11] <= slow.onset[0] < slow.onset[1] <= sketch(own).steps.at[0, 13]
    )


def test_five_pauses_in_twenty_steps_of_a_job_with_hiccups_are_chance(steady):
    own = 11 * steady(ranks=24, steps=40)
    for number, column in enumerate([21, 24, 30, 33, 38]):
        own[4 * number, column] += 5.8
    assert [] == RotatingPausesDetector().evaluate(sketch(own))


@pytest.mark.parametrize(
    ("first", "pages"),
    [pytest.param(0, False, id="since the first steps"), pytest.param(150, True, id="since now")],
)
def test_pauses_that_were_there_all_along_are_information(steady, first, pages):
    """Stray delays of many ranks: how the job is, until there are more."""
    own = steady(ranks=8, steps=270)
    pauses = pausing(own)
    pauses[:, :first] = 0.0
    slow, *_ = RotatingPausesDetector().evaluate(sketch(own + pauses))
    assert pages == (slow.score >= 1)


@pytest.mark.parametrize(
    ("first", "seconds", "warns"),
    [
        pytest.param(0, 0.06, False, id="since the first steps"),
        pytest.param(0, 0.12, True, id="since the first steps, and dear"),
        pytest.param(150, 0.06, True, id="since now"),
    ],
)
def test_collections_that_always_cost_a_little_are_information(steady, first, seconds, warns):
    own = steady(ranks=8, steps=270)
    pauses = np.zeros(own.shape)
    pauses[:, first:] = seconds
    window = sketch(own + pauses, planes={COMPUTE: own, GC: pauses})
    slow, measured, *_ = RotatingPausesDetector().evaluate(window)
    assert ("job.gc_pauses", warns) == (measured.kind, slow.score >= 1)


@pytest.mark.parametrize(
    ("every", "pages"),
    [pytest.param(15, False, id="a few"), pytest.param(5, True, id="many")],
)
def test_pauses_as_frequent_as_before_are_longer_where_there_are_many(steady, every, pages):
    """Stray pauses are of any length: ten of them may well be longer than ten others."""
    own = steady(ranks=8, steps=400)
    pauses = pausing(own, every=every, seconds=1.0)
    strayed = np.random.default_rng(3).uniform(0.5, 1.5, pauses.shape[1])
    length = np.where(np.arange(pauses.shape[1]) < 240, 0.2, 0.8)
    found = RotatingPausesDetector().evaluate(sketch(own + pauses * strayed * length))
    assert pages == any(one.kind == "job.slow" and one.score >= 1 for one in found)


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        pytest.param(0.2, [], id="a little: as every process of many is held up"),
        pytest.param(0.4, ["job.slow", "job.rotating_pauses"], id="a tenth of the time"),
    ],
)
def test_stray_pauses_of_always_that_nobody_timed_are_told_from_a_tenth_on(steady, seconds, found):
    own = steady(ranks=8, steps=270)
    pauses = pausing(own, seconds=seconds)
    assert found == kinds(RotatingPausesDetector().evaluate(sketch(own + pauses)))
    pauses[:, :150] = 0.0
    since_now = RotatingPausesDetector().evaluate(sketch(own + pauses))
    assert ["job.slow", "job.rotating_pauses"] == kinds(since_now)
    assert since_now[0].score >= 1


def test_a_few_more_stray_pauses_than_before_are_not_worth_a_warning(steady):
    """Each of 500 steps may wait for one; what has come since must itself cost something."""
    own = steady(ranks=8, steps=500)
    pauses = pausing(own, every=2, seconds=0.12)
    pauses[:, 10:300:6] = 0.0
    assert [] == RotatingPausesDetector().evaluate(sketch(own + pauses))


def test_an_evaluation_between_the_first_steps_makes_their_collections_no_cheaper(steady):
    own = steady(ranks=8, steps=270)
    pauses = np.full(own.shape, 0.045)
    whole = own + pauses
    whole[:, 20] += 200.0
    slow, *_ = RotatingPausesDetector().evaluate(sketch(whole, planes={COMPUTE: own, GC: pauses}))
    assert slow.score < 1
