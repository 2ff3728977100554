"""Checkpoints that stop the training for longer than they usually do."""

import numpy as np
import pytest
from tests.detectors.drawn import event, steady

from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.checkpoints import CHECKPOINT, CheckpointsDetector

COMPUTE = "training.compute.duration"
NAMED = ["job.slow", "job.checkpoint_long", "job.checkpoint_lost"]


def kinds(findings):
    return [finding.kind for finding in findings]


def checkpointed(written, *, steps=200, later=0.0):
    """Evaluate a job with checkpoints, {step: seconds}."""
    own = steady(steps=steps)
    seconds = np.full(own.shape, np.nan)
    for step, length in written.items():
        seconds[:, step] = length
    planes = {CHECKPOINT: seconds, COMPUTE: own}
    window = sketch(own + np.nan_to_num(seconds), planes=planes)
    now = window.now + later
    window = sketch(own + np.nan_to_num(seconds), planes=planes, now=now)
    return CheckpointsDetector().evaluate(window)


def test_a_checkpoint_far_beyond_the_earlier_ones_is_named():
    slow, long, lost = checkpointed({40: 5.0, 90: 6.0, 140: 5.0, 190: 80.0})
    assert ("job.slow", "job.checkpoint_long") == (slow.kind, long.kind)
    assert "job.checkpoint_lost" == lost.kind
    assert (80.0, 5.0) == (long.observed, long.expected)


def test_evaluations_at_their_old_pace_are_no_time_that_was_lost():
    """Every 25 steps the job evaluates for 20 s between two steps, before and since."""
    own = steady(steps=200)
    written, pauses = np.full(own.shape, np.nan), np.zeros(own.shape)
    for step, length in {40: 2.0, 90: 2.0, 140: 2.0, 190: 50.0}.items():
        written[:, step] = length
    pauses[:, 20::25] = 20.0
    planes = {CHECKPOINT: written, COMPUTE: own}
    window = sketch(own + np.nan_to_num(written) + pauses, planes=planes)
    assert NAMED == kinds(CheckpointsDetector().evaluate(window))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({40: 5.0, 90: 6.0, 140: 5.0, 190: 5.5}, id="all alike"),
        pytest.param({40: 5.0, 90: 6.0, 140: 5.0, 190: 12.0}, id="twice as long"),
        pytest.param({40: 0.1, 90: 0.1, 140: 0.1, 190: 3.0}, id="long, but the job loses little"),
        pytest.param({40: 30.0}, id="the first"),
    ],
)
def test_usual_checkpoints_are_normal_life(written):
    assert [] == checkpointed(written)


def test_checkpoints_that_always_take_most_of_the_time_are_named():
    every = dict.fromkeys(range(10, 200, 20), 30.0)
    assert NAMED == kinds(checkpointed(every))


def test_a_job_that_always_writes_often_is_as_its_owner_wants_it():
    every = dict.fromkeys(range(10, 200, 20), 10.0)
    assert [] == checkpointed(every)


def test_what_was_long_ten_minutes_ago_is_over():
    written = {40: 5.0, 90: 6.0, 140: 5.0, 190: 80.0}
    assert 3 == len(checkpointed(written, later=300.0))
    assert [] == checkpointed(written, later=700.0)


def announced(spans):
    rows = []
    for begin, end in spans:
        rows += [event("training.phase", begin, rank=0, phase="checkpoint")]
        rows += [event("training.phase", end, rank=0, phase="train")] if end is not None else []
    return tuple(rows)


def test_phases_announce_checkpoints_too():
    own = steady(steps=150)
    spans = [(30.0, 34.0), (60.0, 64.0), (90.0, 140.0)]
    window = sketch(own, events=announced(spans))
    assert NAMED == kinds(CheckpointsDetector().evaluate(window))


def test_one_that_is_not_over_yet_is_long_already():
    own = steady(steps=90)
    spans = [(30.0, 34.0), (60.0, 64.0), (95.0, None)]
    window = sketch(own, events=announced(spans), now=START + 160)
    assert window.now < CheckpointsDetector().next_due(window) < window.now + 10
    assert NAMED == kinds(CheckpointsDetector().evaluate(window))


def saved(*spans):
    rows = []
    for begin, end in spans:
        rows += [event("training.save", begin, rank=0, state="begins")]
        rows += [event("training.save", end, rank=0, state="ends")] if end is not None else []
    return tuple(rows)


def test_lines_of_a_log_announce_checkpoints_too():
    own = steady(steps=150)
    rows = saved((30.0, 34.0), (60.0, 64.0), (90.0, 140.0))
    assert NAMED == kinds(CheckpointsDetector().evaluate(sketch(own, events=rows)))


@pytest.mark.parametrize("rows", [[(95.0, None)], [(30.0, 32.0), (95.0, None)]])
def test_a_job_stands_in_the_checkpoint_that_nothing_has_followed(rows):
    window = sketch(steady(steps=90), events=saved(*rows), now=START + 1500)
    (stands,) = CheckpointsDetector().evaluate(window)
    assert stands.kind == "job.checkpoint_long"
    assert stands.text == "a checkpoint stops the training for 1405 s (it goes on)"


@pytest.mark.parametrize(("rows", "now"), [
    ([(95.0, 99.0)], 1500.0),  # it is over
    ([(95.0, None)], 110.0),  # not for long
    ([(10.0, 40.0), (95.0, None)], 300.0),  # one before it took half a minute
])  # fmt: skip
def test_a_checkpoint_that_is_over_or_no_longer_than_others_stops_nobody(rows, now):
    window = sketch(steady(steps=90), events=saved(*rows), now=START + now)
    assert [] == CheckpointsDetector().evaluate(window)


def test_one_whose_end_nobody_announces_ends_with_the_next_step():
    own = steady(steps=150)
    window = sketch(own, events=announced([(30.0, None), (60.0, None), (90.0, None)]))
    assert [] == CheckpointsDetector().evaluate(window)


def test_the_end_of_a_short_pause_that_comes_before_its_begin_ends_it():
    own = steady(steps=100)
    spans = [(30.0, 34.0), (60.0, 64.0)]
    short = [event("training.phase", at, rank=0, phase=phase, step=90)
             for at, phase in ((95.0, "train"), (95.01, "checkpoint"))]  # fmt: skip
    now = START + 160
    rows = announced(spans)
    assert [] == CheckpointsDetector().evaluate(
        sketch(own[:, :90], events=(*rows, *short), now=now)
    )
    alone = sketch(own[:, :90], events=(*rows, short[1]), now=now)
    assert NAMED == kinds(CheckpointsDetector().evaluate(alone))
    after_eval = (event("training.phase", 90.0, rank=0, phase="eval", step=90), *short)
    assert NAMED == kinds(
        CheckpointsDetector().evaluate(sketch(own[:, :90], events=(*rows, *after_eval), now=now))
    )


def test_between_two_reports_a_checkpoint_took_what_they_are_further_apart():
    """Every tenth step of 30 s is reported; the end of a short pause came first by the clock."""
    own = steady(steps=15)
    seconds = 300.0 * own / float(np.median(own))
    spans = [(900.0, 926.0), (1500.0, 1527.0), (4450.0, None)]
    assert [] == CheckpointsDetector().evaluate(sketch(seconds, events=announced(spans)))
    seconds[:, 14] += 500.0
    assert NAMED[0] in kinds(
        CheckpointsDetector().evaluate(sketch(seconds, events=announced(spans)))
    )


def test_marks_of_hosts_whose_clocks_differ_are_of_one_checkpoint():
    """The first rank writes for all; by another host's clock that began a second and more ago."""
    own = steady(steps=150)
    spans = [(30.0, 58.0), (105.0, 139.0)]
    rows = list(announced(spans))
    for begin, _ in spans:
        rows += [event("training.phase", begin - 1.1, rank=2, phase="checkpoint"),
                 event("training.phase", begin - 1.09, rank=2, phase="train")]  # fmt: skip
    assert [] == CheckpointsDetector().evaluate(
        sketch(own, events=sorted(rows, key=lambda e: e.at))
    )


def test_nobody_announces_checkpoints():
    """The docstring's failure mode."""
    own = steady(steps=150)
    own[:, 140] += 80.0
    assert [] == CheckpointsDetector().evaluate(sketch(own))


@pytest.mark.parametrize(("times", "found"), [(1.2, 0), (2.1, 2)])
def test_checkpoints_that_are_all_longer_than_before_are_found_without_one_very_long(times, found):
    own, written = np.full((4, 60), 12.0), np.full((4, 60), np.nan)
    columns = np.arange(7, 60, 7)
    written[:, columns] = 3.5 * np.random.default_rng(4).lognormal(0, 0.1, len(columns))
    written[:, columns[4:]] *= times
    planes = {CHECKPOINT: written, "training.compute.duration": own}
    findings = CheckpointsDetector().evaluate(sketch(own + np.nan_to_num(written), planes=planes))
    shown = [f.kind for f in findings if f.kind != "job.checkpoint_lost"]
    assert ["job.slow", "job.checkpoint_long"][:found] == shown


@pytest.mark.parametrize(
    ("since", "found"), [([6.2, 7.0], 0), ([6.2, 7.0, 6.5], 2), ([6.2, 4.2, 6.5], 0)]
)
def test_two_checkpoints_suffice_before_three_that_are_all_longer(since, found):
    lengths = [3.1, 3.3, *since]
    findings = checkpointed({20 + 20 * place: length for place, length in enumerate(lengths)})
    shown = [f.kind for f in findings if f.kind != "job.checkpoint_lost"]
    assert ["job.slow", "job.checkpoint_long"][:found] == shown


def test_one_short_checkpoint_before_two_that_take_ten_times_as_long_says_enough():
    """A job that has just begun: nobody writes the same bytes so much more slowly by choice."""
    assert [] == checkpointed({40: 0.5, 110: 8.0})
    slow, long, lost = checkpointed({40: 0.5, 110: 8.0, 180: 9.0})
    assert NAMED == [slow.kind, long.kind, lost.kind]
    assert (9.0, 0.5) == (long.observed, long.expected)


def test_checkpoints_that_grow_once_the_optimizer_has_state_are_normal_life():
    assert [] == checkpointed({10: 2.0, 60: 6.0, 110: 6.0, 160: 6.5})


def test_a_checkpoint_that_only_ranks_reported_which_never_write_says_nothing():
    """The report of the rank that wrote the first was lost; the others hardly stopped."""
    own = steady(steps=200)
    written = np.full(own.shape, np.nan)
    written[:, [40, 110, 180]] = 0.02
    written[2, [40, 110, 180]] = 4.0, 43.0, 53.0
    total = own + np.nan_to_num(written[2])
    slow, *_rest = CheckpointsDetector().evaluate(sketch(total, planes={CHECKPOINT: written}))
    assert "job.slow" == slow.kind
    written[2, 40] = np.nan
    assert [] == CheckpointsDetector().evaluate(sketch(total, planes={CHECKPOINT: written}))
