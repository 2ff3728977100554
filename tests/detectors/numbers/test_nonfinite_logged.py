"""Values that are not finite by the words of a log, where no value of a step shows it."""

import pytest

from rankscope.detectors.numbers.nonfinite import NonfiniteDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.log_lines import LOSS_SKIPPED, SCALE_FLOOR

BOTH = ["job.nonfinite", "job.loss_scale_collapse"]


@pytest.fixture
def findings(steady, event):
    """Return a function that returns what is found of a line, at 59.9 of 60 s or later."""

    def found(signature, *, at=59.9, steps=60, over=True, **more):
        line = event("log.fault", at, signature=signature, role="root", **({"text": "said"} | more))
        window = sketch(steady(steps=steps), now=START + 900, events=[line])
        over_at = START + 800 if over else float("inf")
        return NonfiniteDetector(over_at=over_at).evaluate(window)

    return found


@pytest.fixture
def kinds(findings):
    """Return a function that returns the kinds of that."""
    return lambda signature, **more: [one.kind for one in findings(signature, **more)]


@pytest.mark.parametrize(
    "signature", ["deepspeed.loss_scale_minimum", "fairseq.loss_scale_minimum"]
)
def test_a_program_that_gives_up_at_the_least_scale_has_values_that_are_not_finite(
    kinds, signature
):
    assert BOTH == kinds(signature, at=500, over=False)


@pytest.mark.parametrize("signature", ["training.loss_not_finite", "torch.anomaly_nan"])
def test_a_program_that_says_so_says_nothing_of_its_scale(kinds, signature):
    assert BOTH[:1] == kinds(signature, at=500)


def test_steps_that_follow_a_line_survived_it(kinds):
    assert [] == kinds("training.loss_not_finite", at=20)


def test_few_overflows_at_the_least_scale_are_believed_once_the_job_is_over(kinds):
    assert [] == kinds(SCALE_FLOOR, count=6, over=False)
    assert BOTH == kinds(SCALE_FLOOR, count=6)
    assert BOTH == kinds(SCALE_FLOOR, count=24, over=False)


def test_losses_that_are_skipped_in_a_row_are_believed_as_such_overflows_are(kinds):
    assert [] == kinds(LOSS_SKIPPED, count=6, over=False)
    assert BOTH[:1] == kinds(LOSS_SKIPPED, count=6)
    assert [] == kinds(LOSS_SKIPPED, at=5, count=6)


def test_they_are_over_after_thirty_steps_or_as_many_as_they_were(kinds):
    assert [] == kinds(SCALE_FLOOR, at=5, count=6)
    assert BOTH == kinds(SCALE_FLOOR, at=5, count=96)


def test_other_lines_say_nothing(kinds):
    assert [] == kinds("storage.no_space", at=500)


def test_a_rank_that_says_so_of_its_own_value_is_the_first(kinds):
    own = ["job.nonfinite", "rank.first_nonfinite"]
    assert own == kinds("megatron.bad_value", at=500, rank=1, text="Rank 1: found NaN in local")
    assert BOTH[:1] == kinds("megatron.bad_value", at=500, text="found NaN in local")
    assert [] == kinds("megatron.bad_value", at=500, rank=1, text="loss above the threshold")


def test_the_rank_that_says_so_is_the_one_that_stands_out(findings):
    own = findings("megatron.bad_value", at=500, rank=1, text="Rank 1: found NaN in local")[-1]
    assert ("rank", "1", [1]) == (own.entity.type, own.entity.id, list(own.ranks))


@pytest.fixture
def samples(steady, event):
    """Return a function that returns the kinds of a loss that is lost after lines about samples."""

    def found(*times):
        pairs = {"role": "confirmation", "text": "2/16 samples"}
        lines = [
            event("log.fault", at, signature="training.samples_not_finite", **pairs) for at in times
        ]
        given_up = {"signature": "training.loss_not_finite", "role": "root", "text": "gives up"}
        window = sketch(
            steady(steps=60), now=START + 900, events=[*lines, event("log.fault", 500, **given_up)]
        )
        return [one.kind for one in NonfiniteDetector(over_at=START + 800).evaluate(window)]

    return found


def test_samples_of_which_some_were_not_finite_are_told_beside_it(samples):
    assert ["job.nonfinite", "job.samples_nonfinite"] == samples(400, 480)


def test_lines_about_samples_behind_it_or_none_say_nothing(samples):
    assert ["job.nonfinite"] == samples(600) == samples()
