"""Ranks that step on alone while most of their peers stand still in a collective."""

import numpy as np
import pytest
from tests.detectors.drawn import event, steady

from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch

AGE = "training.progress.age"
LAST = 60


def parted(alone, *, now=72, ranks=4, reported=None, apart=0.0, **fields):
    """Evaluate a job of which only some ranks step after second 60."""
    standing = np.setdiff1d(np.arange(ranks), alone)
    at = np.arange(2.0, now + 1, 5) if reported is None else np.asarray(reported, float)
    age = np.zeros((ranks, len(at)))
    age[standing] = np.maximum(at - LAST - apart * standing[:, None], 0.0)
    window = sketch(
        steady(ranks=ranks, steps=now, spread=0.0),
        now=START + now,
        rank_readings={AGE: readings(START + at, age)},
        **fields,
    )
    window.steps.at[:] += apart * np.arange(ranks)[:, None]
    window.steps.at[standing, LAST:] = np.nan
    return StallsDetector().evaluate(window)


def named(findings):
    return [(one.kind, one.entity.id) for one in findings if one.kind.startswith("rank.")]


def test_a_rank_that_steps_on_while_its_peers_wait_is_what_they_wait_for(group):
    waits = group([61, 61, 61, 60], [60] * 4, at=70, changed=61)
    findings = parted([3], groups=(waits,))
    stalled = findings[0]
    assert "job.stalled" == stalled.kind
    assert START + LAST == stalled.onset[0]
    assert "no step has ended on 3 of 4 ranks for 12 s; a step usually takes 1 s" == stalled.text
    assert [("rank.steps_alone", "3"), ("rank.behind_enqueued", "3")] == named(findings)
    assert findings[1].text.startswith("rank 3 has ended 12 steps since, 71 the last, and 3 of 4")


@pytest.mark.parametrize(("now", "score"), [(71, None), (72, 1.5), (77, 2.0), (122, 3.0)])
def test_it_is_as_certain_as_another_collective(now, score):
    findings = parted([3], now=now, reported=np.arange(2.0, now + 1, 5))
    assert score == (findings[0].score if findings else None)


def test_steps_that_are_only_not_reported_yet_part_nobody():
    assert [] == parted([3], reported=[2, 30, 55, 62])


def test_steps_after_the_newest_report_of_those_that_stand_part_nobody():
    """All stood for a checkpoint; the host whose report comes first has gone on by three steps."""
    ages = np.array([[12.0], [12.0], [12.0], [0.0]])
    at = np.array([[72.0], [72.0], [72.0], [76.5]]) + START
    for ended_at, expected in ((72.0, []), (70.0, [("rank.steps_alone", "3")])):
        window = sketch(
            steady(steps=63, spread=0.0), now=START + 77, rank_readings={AGE: readings(at, ages)}
        )
        window.steps.at[:3, LAST:] = np.nan
        window.steps.at[3, LAST:] = START + ended_at + np.array([-1.0, 0.0, 1.0])
        assert expected == named(StallsDetector().evaluate(window))


def test_ranks_that_never_went_together_do_as_they_like():
    assert [] == parted([3], apart=5.0)


def test_one_rank_that_stands_while_most_step_on_is_no_stall_of_the_job():
    assert [] == parted([0, 1, 2])


def test_of_two_halves_the_one_is_parted_whose_counters_are_behind(group):
    assert [] == parted([1], ranks=2)
    waits = group([61, 60], [60, 60], at=70, changed=61)
    assert [("rank.steps_alone", "1")] == named(parted([1], ranks=2, groups=(waits,)))[:1]
    done = group([60, 60], [60, 60], at=70, changed=61)
    assert [] == parted([1], ranks=2, groups=(done,))


def test_who_stands_outside_any_collective_or_evaluates_waits_for_nobody(group):
    done = group([60] * 4, [60] * 4, at=70, changed=61)
    assert [] == parted([3], groups=(done,))
    evaluates = tuple(event("training.phase", 61, rank=rank, phase="eval") for rank in range(3))
    assert [] == parted([3], events=evaluates)


def test_ranks_that_ended_do_not_count():
    ended = tuple(event("process.exit", 61, rank=rank, exit_code=0) for rank in range(3))
    assert [] == named(parted([3], events=ended))
