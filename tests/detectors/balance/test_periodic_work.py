"""Ranks that work longer at every so many steps."""

import numpy as np
import pytest
from tests.detectors.drawn import event, steady

from rankscope.detectors import compute_time
from rankscope.detectors.balance.periodic_work import PeriodicWorkDetector
from rankscope.detectors.sketch import START, sketch


def evaluated(steps, extra=2.0, *, row=0, count=200, **planes):
    """Evaluate four ranks, one with more work at some steps."""
    own = steady(4, count)
    own[row, list(steps)] += extra
    return PeriodicWorkDetector().evaluate(sketch(own, planes=planes))


def test_work_at_equal_distances_names_the_rank_and_what_it_costs():
    slow, rank = evaluated(range(10, 200, 20))
    assert ("job.slow", "rank.periodic_work", "0") == (slow.kind, rank.kind, rank.entity.id)
    assert [0] == list(slow.ranks)
    assert 1.1 == pytest.approx(slow.magnitude, abs=0.02)
    assert "rank 0 works 2 s longer at every 20. step" in rank.text


def test_what_the_job_always_did_is_info_until_it_costs_a_tenth():
    always, lately = evaluated(range(10, 200, 20), 1.2), evaluated(range(110, 200, 10), 1.4)
    assert always[0].score < 1 <= lately[0].score
    assert evaluated(range(10, 200, 20), 2.6)[0].score > 1


def test_an_evaluation_by_one_rank_minutes_apart_since_the_start_is_info_whatever_it_costs():
    """Steps of 11 s, and 53 s of evaluation at every 42nd: a tenth of the job's time."""

    def evaluated(first):
        own = 13.75 * steady(4, 242)
        own[0, first::42] += 80.0
        slow, rank = PeriodicWorkDetector().evaluate(sketch(own, exchange=2.0))
        assert slow.magnitude > 1.1
        assert rank.score > 1
        return slow.score

    assert evaluated(34) < 1
    assert evaluated(34 + 42) > 1


def test_a_report_that_was_lost_does_not_make_an_old_habit_a_new_one():
    own = 13.75 * steady(4, 242)
    own[0, 34 + 42 :: 42] += 80.0
    own[0, 30:40] = np.nan
    assert PeriodicWorkDetector().evaluate(sketch(own, exchange=2.0))[0].score < 1


def test_two_long_steps_side_by_side_are_one_time():
    steps = [step + more for step in range(10, 200, 20) for more in (0, 1)]
    assert 2 == len(evaluated(steps, 1.0))


def test_a_missing_step_or_one_more_does_not_hide_the_distance():
    steps = [*range(10, 200, 10)]
    steps.remove(110)
    assert 2 == len(evaluated([*steps]))


@pytest.mark.parametrize(
    ("steps", "extra"),
    [
        pytest.param([12, 31, 37, 80, 122, 130, 171, 190], 2.0, id="at random: a device or noise"),
        pytest.param(range(10, 200, 20), 0.1, id="too little"),
        pytest.param(range(10, 200, 80), 2.0, id="too seldom to say"),
        pytest.param(range(100, 108), 2.0, id="one stretch"),
        pytest.param(range(10, 200, 2), 2.0, id="every other step"),
        pytest.param(range(10, 120, 20), 2.0, id="it is over"),
        pytest.param([], 0.0, id="nothing"),
    ],
)
def test_what_is_not_regular_or_costs_little_is_no_finding(steps, extra):
    assert [] == evaluated(steps, extra)


def test_what_all_ranks_do_is_a_checkpoint():
    own = steady(4, 200)
    own[:, 10::20] += 2.0
    assert [] == PeriodicWorkDetector().evaluate(sketch(own))


def test_parts_that_are_timed_have_detectors_of_their_own():
    written = np.full((4, 200), np.nan)
    written[0, 10::20] = 2.0
    planes = {"training.checkpoint.duration": written}
    assert [] == evaluated(range(10, 200, 20), **planes)


def test_compute_time_counts_where_waits_are_not_reported():
    own = steady(4, 200)
    own[0, 10::20] += 2.0
    window = sketch(own)
    planes = {"training.compute.duration": own}
    window = sketch(own, planes={"training.comm.duration": np.full((4, 200), np.nan), **planes})
    assert 2 == len(PeriodicWorkDetector().evaluate(window))
    nothing = dict.fromkeys(("training.comm.duration", "training.compute.duration"),
                            np.full((4, 200), np.nan))  # fmt: skip
    assert [] == PeriodicWorkDetector().evaluate(sketch(own, planes=nothing))


def test_steps_that_take_no_time_are_no_finding():
    assert [] == PeriodicWorkDetector().evaluate(sketch(np.zeros((4, 200)), exchange=0.0))


def test_few_steps_and_roles_of_one_rank_are_no_finding():
    own = steady(4, 30)
    assert [] == PeriodicWorkDetector().evaluate(sketch(own))
    own = steady(4, 200)
    own[0, 10::20] += 2.0
    assert [] == PeriodicWorkDetector().evaluate(sketch(own, role_of=np.arange(4)))


def test_steps_that_are_half_longer_now_and_then_do_not_hide_the_distance():
    """Noise of a shared CPU on the same rank: steps at random stand out too, but cost little."""
    random = np.random.default_rng(3)
    noise = np.zeros((4, 200))
    noise[0, random.choice(np.arange(10, 200), 20, replace=False)] = 0.5
    own = np.random.default_rng(4).normal(0.8, 0.008, (4, 200)) + noise
    assert [] == PeriodicWorkDetector().evaluate(sketch(own))
    own[0, 10::20] += 3.0
    _, rank = PeriodicWorkDetector().evaluate(sketch(own))
    assert "works 3 s longer at every 20. step" in rank.text


def test_a_pause_between_steps_is_no_missing_work_of_the_rank_that_pauses():
    own, comm = steady(2, 120), np.full((2, 120), 0.2)
    written = np.full((2, 120), np.nan)
    written[0, 10::3], comm[1, 10::3] = 0.6, 0.8  # the other rank waits for it in the next step
    planes = {
        "training.checkpoint.duration": written,
        "training.comm.duration": comm,
        "training.step.duration": own + comm,
    }
    assert [] == PeriodicWorkDetector().evaluate(sketch(own, planes=planes))


@pytest.mark.parametrize(
    ("phase", "named"),
    [
        pytest.param("eval", False, id="samples for people to read"),
        pytest.param("train", True, id="something that it does not announce"),
    ],
)
def test_what_the_rank_announces_is_the_owners_plan(phase, named):
    own = steady(4, 200)
    own[0, 10::20] += 3.0
    ends = compute_time.step_ends(sketch(own).steps) - START
    events = tuple(
        event("training.phase", float(ends[step]) - 2.0, rank=0, phase=phase)
        for step in range(10, 200, 20)
    )
    found = PeriodicWorkDetector().evaluate(sketch(own, events=events))
    assert named == bool(found)
