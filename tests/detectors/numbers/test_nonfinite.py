"""Where a NaN or Inf came from: the rank whose own value went bad first."""

import numpy as np
import pytest
from tests.detectors.numbers.nonfinite_planes import (
    BAD,
    COUNT,
    GLOBAL_LOSS,
    LOCAL_NORM,
    LOSS,
    NORM,
    kinds,
    losses,
)

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.numbers.nonfinite import NonfiniteDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement


def test_the_rank_whose_own_loss_went_bad_first_is_named_at_its_step(evaluated):
    loss = losses()
    loss[2, 40] = loss[:, 41:] = BAD

    window, (symptom, origin) = evaluated(**{LOSS: loss})

    assert ("job.nonfinite", "rank.first_nonfinite") == (symptom.kind, origin.kind)
    assert ("2", 3.0, 3.0) == (origin.entity.id, origin.magnitude, origin.score)
    assert (window.steps.at[0, 40],) * 2 == origin.onset == symptom.onset
    assert "at step 40" in origin.text
    assert "since step 40 (100% of the ranks by now)" in symptom.text


def test_finite_losses_are_no_finding(evaluated):
    assert [] == evaluated(**{LOSS: losses()})[1]


@pytest.mark.parametrize("name", ["training.loss", LOSS, LOCAL_NORM])
def test_every_own_value_accuses(evaluated, name):
    values = losses()
    values[1, 50] = BAD
    _, findings = evaluated(**{name: values})
    assert ["job.nonfinite", "rank.first_nonfinite"] == kinds(findings)


@pytest.mark.parametrize("of", ["", "|loss", "|grad_local"])
def test_a_count_accuses_where_the_framework_hides_the_nan(evaluated, of):
    count = np.zeros((4, 60))
    count[1, 50:] = 7.0
    _, findings = evaluated(**{f"training.nonfinite{of}": count})
    assert "1" == findings[1].entity.id


@pytest.mark.parametrize("name", [GLOBAL_LOSS, NORM, f"{NORM}|global"])
def test_reduced_values_alone_say_that_and_not_who(evaluated, name):
    """The docstring's failure mode: after one all-reduce every rank has the NaN."""
    values = losses()
    values[:, 50:] = BAD
    _, findings = evaluated(**{name: values})
    assert ["job.nonfinite"] == kinds(findings)


def test_reduced_counts_alone_say_that_and_not_who(evaluated):
    count = np.zeros((4, 60))
    count[:, 50:] = 7.0
    assert ["job.nonfinite"] == kinds(evaluated(**{"training.nonfinite|grad_reduced": count})[1])


def test_one_rank_that_reports_alone_names_nobody(evaluated):
    """The docstring's other failure mode: rank 0 logs the loss for all."""
    loss = np.full((4, 60), np.nan)
    loss[0] = 2.0
    loss[0, 50:] = BAD
    assert ["job.nonfinite"] == kinds(evaluated(**{LOSS: loss})[1])


def test_a_single_process_that_goes_bad_has_no_peers(evaluated):
    loss = losses(ranks=1)
    loss[0, 50:] = BAD
    assert ["job.nonfinite"] == kinds(evaluated(ranks=1, **{LOSS: loss})[1])


def test_half_of_the_ranks_at_the_same_step_come_from_no_single_rank(evaluated):
    loss = losses()
    loss[:2, 50:] = BAD
    _, findings = evaluated(**{LOSS: loss})
    assert ["job.nonfinite", "job.nonfinite_everywhere"] == kinds(findings)
    assert 2.0 == findings[1].magnitude


def test_few_ranks_of_many_at_the_same_step_are_each_named_weakly(evaluated):
    loss = losses(ranks=16)
    loss[[3, 9], 50:] = BAD
    _, findings = evaluated(ranks=16, **{LOSS: loss})
    assert ["3", "9"] == [f.entity.id for f in findings[1:]]
    assert {1.5} == {f.score for f in findings[1:]}


def in_replicas(of):
    """Return where 16 ranks run, with the replica of each."""
    places = [RankPlacement(rank, f"host-{rank // 8}", dp=of(rank)) for rank in range(16)]
    return JobTopology(Job("example"), placements=places)


@pytest.mark.parametrize(("of", "expected"), [
    (lambda rank: rank, ["job.nonfinite_everywhere"]),  # each its own batch
    (lambda rank: rank % 6, ["rank.first_nonfinite", "rank.first_nonfinite"]),  # two parts of one
])  # fmt: skip
def test_replicas_that_go_bad_at_the_same_step_have_it_of_the_data(steady, of, expected):
    loss = losses(ranks=16)
    loss[[3, 9], 50:] = BAD
    window = sketch(steady(ranks=16), planes={LOSS: loss}, placed=in_replicas(of))
    assert ["job.nonfinite", *expected] == kinds(NonfiniteDetector().evaluate(window))


def test_a_job_that_lived_on_for_thirty_finite_steps_is_well_again(evaluated):
    loss = losses(steps=80)
    loss[2, 40] = BAD
    for steps, count in ((60, 2), (70, 2), (71, 0), (80, 0)):
        _, findings = evaluated(steps=steps, **{LOSS: loss[:, :steps]})
        assert count == len(findings), f"after {steps} steps"


def test_silence_after_a_bad_value_is_no_recovery(evaluated):
    loss = losses(steps=80)
    loss[2, 40] = BAD
    loss[:, 41:] = np.nan
    assert "rank.first_nonfinite" in kinds(evaluated(steps=80, **{LOSS: loss})[1])


def test_an_event_is_enough_and_sets_the_second(evaluated, event):
    numeric = event("training.numeric", 40.5, rank=3, step=40, what="loss", value="nan")
    _, findings = evaluated(events=(numeric,), **{LOSS: losses()})
    assert ["job.nonfinite", "rank.first_nonfinite"] == kinds(findings)
    assert ("3", START + 40.5) == (findings[1].entity.id, findings[1].onset[0])


def test_an_event_about_reduced_values_names_nobody(evaluated, event):
    numeric = tuple(
        event("training.numeric", step + 0.5, rank=3, step=step, what="grad_reduced")
        for step in (40, 41, 42)
    )
    assert ["job.nonfinite"] == kinds(evaluated(events=numeric, **{LOSS: losses()})[1])


def test_an_event_ahead_of_every_step_is_told_at_once(evaluated, event):
    numeric = event("training.numeric", 61.0, rank=3, step=60, what="grad_local")

    _, (symptom, origin) = evaluated(events=(numeric,), **{LOSS: losses()})

    assert ("3", START + 61.0) == (origin.entity.id, origin.onset[0])
    assert "since step 60" in symptom.text


def test_of_two_events_ahead_the_earlier_step_is_the_origin(evaluated, event):
    marks = [
        event("training.numeric", 62.0, rank=1, step=61, what="loss"),
        event("training.numeric", 61.0, rank=3, step=60, what="loss"),
    ]
    _, findings = evaluated(events=tuple(marks), **{LOSS: losses()})
    assert ["3"] == [f.entity.id for f in findings if f.kind == "rank.first_nonfinite"]


def test_an_event_before_the_first_step_ended_is_heard(event, steady):
    numeric = event("training.numeric", 1.0, rank=3, step=0, what="loss")
    findings = NonfiniteDetector().evaluate(sketch(steady(steps=0), events=(numeric,)))
    assert ["job.nonfinite"] == kinds(findings), "nobody has told a finite value yet"


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param({"rank": 9, "step": 40}, id="a rank that is not there"),
        pytest.param({"rank": "3", "step": 40}, id="a rank in words"),
        pytest.param({"step": 40}, id="no rank"),
        pytest.param({"rank": 3}, id="no step"),
        pytest.param({"rank": 3, "step": -5}, id="a step that never was"),
        pytest.param({"rank": 3, "step": "x"}, id="a step that is not a number"),
        pytest.param({"rank": 3, "step": 70, "what": "grad_reduced"}, id="reduced, and ahead"),
    ],
)
def test_events_that_point_nowhere_are_no_finding(evaluated, event, pairs):
    numeric = event("training.numeric", 40.5, **{"what": "loss", **pairs})
    assert [] == evaluated(events=(numeric,), **{LOSS: losses()})[1]


def test_a_rank_whose_gradients_are_seen_bad_after_the_reduced_ones_is_the_origin(evaluated):
    """Local gradients are checked now and then: here one step after the first bad reduction."""
    norm, count = losses(), np.full((4, 60), np.nan)
    norm[:, 40:] = BAD
    count[:, 41], count[2, 41] = 0.0, 4096.0
    _, findings = evaluated(**{NORM: norm, COUNT: count, LOSS: losses()})
    (origin,) = [f for f in findings if f.kind == "rank.first_nonfinite"]
    assert ("2", 2.0) == (origin.entity.id, origin.score)
    assert [2] == list(findings[0].ranks)
    count[:, 41] = 4096.0
    assert ["job.nonfinite"] == kinds(evaluated(**{NORM: norm, COUNT: count})[1])


def test_of_a_loss_that_is_bad_everywhere_and_gradients_on_one_rank_the_gradients_name_it(
    evaluated,
):
    loss, count = losses(), np.zeros((4, 60))
    loss[:, 40:], count[1, 40] = BAD, 7.0
    _, findings = evaluated(**{"training.loss": loss, COUNT: count})
    assert ["1"] == [f.entity.id for f in findings if f.kind == "rank.first_nonfinite"]


def test_ranks_whose_losses_go_bad_in_turn_have_it_of_the_data(evaluated):
    loss = losses()
    loss[2, 10] = loss[0, 50] = BAD
    _, findings = evaluated(**{LOSS: loss})
    assert ["job.nonfinite", "job.nonfinite_everywhere"] == kinds(findings)
    assert [0, 2] == list(findings[1].ranks)


def test_a_rank_whose_loss_goes_bad_again_is_the_origin_again(evaluated):
    loss = losses()
    loss[2, [10, 50]] = BAD
    assert "rank.first_nonfinite" in kinds(evaluated(**{LOSS: loss})[1])


def test_a_bad_value_long_ago_is_another_one(evaluated):
    loss = losses(steps=200)
    loss[3, 20] = BAD
    loss[1, 150:] = BAD
    window, (symptom, origin) = evaluated(steps=200, **{LOSS: loss})
    assert (window.steps.at[0, 150], "1") == (symptom.onset[0], origin.entity.id)


def test_a_fault_that_the_window_outlived_is_since_then_or_earlier_and_names_nobody(steady):
    """What is left of its steps has been bad on every rank since the first one."""
    window = sketch(
        steady(steps=100),
        planes={LOSS: np.full((4, 100), BAD)},
        attempt_started_at=START - 3600,
    )
    (symptom,) = NonfiniteDetector().evaluate(window)
    assert "since step 0 or earlier" in symptom.text


def test_a_nan_that_the_framework_hides_is_found_by_its_count(evaluated):
    """The loss of the step is left out, and only the count of bad elements says why."""
    loss, count = np.full((4, 60), 2.0), np.zeros((4, 60))
    loss[2, 55:], count[2, 55:] = np.nan, 3.0
    _, findings = evaluated(**{LOSS: loss, "training.nonfinite|loss": count})
    assert ["2"] == [f.entity.id for f in findings if f.kind == "rank.first_nonfinite"]


def test_a_nan_norm_beside_a_finite_loss_is_found(evaluated):
    norm = np.full((4, 60), 1.0)
    norm[:, 57:] = BAD
    _, findings = evaluated(**{LOSS: np.full((4, 60), 2.0), NORM: norm})
    assert "job.nonfinite" in {f.kind for f in findings}


def test_the_same_step_in_the_next_attempt_is_reported_as_repeated(steady):
    """A batch stays bad wherever it is read; the rank is another one."""
    held = JobBaselines()
    loss, again = losses(), losses()
    loss[2, 59], again[3, 59] = BAD, BAD
    first = sketch(steady(), planes={LOSS: loss}, held_baselines=held)
    for _ in range(3):
        assert "job.nonfinite_repeated" not in kinds(NonfiniteDetector().evaluate(first))
    following = JobBaselines()
    following.follow(held)
    second = sketch(
        steady(), planes={LOSS: again}, held_baselines=following, attempt=1, now=START + 1000
    )
    for _ in range(3):
        assert "job.nonfinite_repeated" in kinds(NonfiniteDetector().evaluate(second))


def test_another_step_in_the_next_attempt_is_not_repeated(steady):
    held = JobBaselines()
    for attempt, step in ((0, 40), (1, 55)):
        loss = losses()
        loss[2, step:] = BAD
        window = sketch(steady(), planes={LOSS: loss}, held_baselines=held, attempt=attempt)
        assert "job.nonfinite_repeated" not in kinds(NonfiniteDetector().evaluate(window))


def test_steps_that_begin_again_within_an_attempt_repeat_as_well(steady):
    held = JobBaselines()
    loss = losses()
    loss[:, 59] = BAD
    found = []
    for later in (0.0, 100.0):
        window = sketch(steady(), planes={GLOBAL_LOSS: loss}, held_baselines=held, gaps={0: later})
        found.append("job.nonfinite_repeated" in kinds(NonfiniteDetector().evaluate(window)))
    assert [False, True] == found
