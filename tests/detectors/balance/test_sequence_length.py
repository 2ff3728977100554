"""Steps that wait for the rank with most tokens."""

import numpy as np
import pytest

from rankscope.detectors.balance.sequence_length import SequenceLengthDetector
from rankscope.detectors.sketch import sketch

TOKENS = "training.tokens"


def evaluated(since=0, *, ranks=4, count=300, factor=1.5, row=None, follows=True, seconds=1.0,
             **more):  # fmt: skip
    """Evaluate ranks whose work follows their tokens."""
    random = np.random.default_rng(3)
    tokens = random.normal(4000, 60, (ranks, count))
    step = np.arange(since, count)
    rows = random.integers(0, ranks, len(step)) if row is None else row
    tokens[rows, step] *= factor
    own = tokens / 5000 if follows else random.normal(0.8, 0.2, tokens.shape)
    own *= seconds
    own = own * random.normal(1, 0.003, own.shape)
    return SequenceLengthDetector().evaluate(sketch(own, planes={TOKENS: tokens, **more}))


def test_imbalance_that_was_there_from_the_first_step_is_info():
    (found,) = evaluated()
    assert ("job.token_imbalance", "job", 0.5) == (found.kind, found.entity.type, found.score)
    assert "costs 2" in found.text


def test_imbalance_that_has_grown_is_a_warning():
    (found,) = evaluated(since=150)
    assert found.score > 1


def test_few_steps_suffice_where_they_are_long_and_ranks_many():
    (found,) = evaluated(since=20, count=32, ranks=16, seconds=12.0)
    assert found.score > 1
    assert [] == evaluated(since=20, count=32, ranks=16)


def test_steps_too_few_for_a_warning_are_dated_to_where_they_became_uneven():
    few = {"count": 20, "ranks": 16, "seconds": 12.0}
    (always,), (found,) = evaluated(**few), evaluated(since=12, **few)
    assert [0.5, 0.5] == [always.score, found.score]
    assert found.onset[0] - always.onset[0] == pytest.approx(12 * 12.0, rel=0.2)


def test_a_few_steps_that_happen_to_differ_alike_are_no_change():
    """Eight long steps may lie close together, and above those before: lengths are drawn anew."""
    warned = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        tokens = 4000 * random.lognormal(0.0, 0.2, (32, 48))
        own = tokens / 250 * random.normal(1, 0.006, tokens.shape)
        for count in range(20, 49):
            window = sketch(own[:, :count], planes={TOKENS: tokens[:, :count]})
            warned += [(seed, count) for found in SequenceLengthDetector().evaluate(window)
                       if found.score > 1]  # fmt: skip
    assert [] == warned


def test_it_began_with_the_first_uneven_step():
    early, late = evaluated(since=150, count=210)[0], evaluated(since=150, count=290)[0]
    assert early.onset == pytest.approx(late.onset, abs=3.0)


def test_with_too_few_steps_before_it_nobody_says_that_it_has_grown():
    (found,) = evaluated(count=60)
    assert 0.5 == found.score


@pytest.mark.parametrize("ranks", [2, 3, 16])
def test_it_is_found_at_any_size(ranks):
    assert 1 == len(evaluated(since=150, ranks=ranks))


def test_a_rank_that_always_has_most_tokens_is_no_rotation():
    assert [] == evaluated(row=2)


def test_time_that_does_not_follow_tokens_is_somebody_elses():
    assert [] == evaluated(follows=False)


def test_tokens_that_hardly_differ_cost_nothing():
    assert [] == evaluated(factor=1.05)


def test_tokens_that_were_equal_before_cost_nothing_then():
    random = np.random.default_rng(3)
    tokens = np.full((4, 300), 4000.0)
    tokens[random.integers(0, 4, 150), np.arange(150, 300)] *= 1.5
    own = tokens / 5000 * random.normal(1, 0.003, tokens.shape)
    (found,) = SequenceLengthDetector().evaluate(sketch(own, planes={TOKENS: tokens}))
    assert found.score > 1


def test_one_rank_a_step_has_nobody_to_wait_for_it():
    random = np.random.default_rng(3)
    tokens = np.full((4, 300), np.nan)
    step = np.arange(300)
    tokens[step % 4, step] = random.normal(4000, 400, 300)
    own = np.where(np.isnan(tokens), 0.5, tokens / 5000)
    assert [] == SequenceLengthDetector().evaluate(sketch(own, planes={TOKENS: tokens}))


def test_a_mild_imbalance_is_how_the_job_is_and_counts_only_where_it_is_new():
    assert [] == evaluated(factor=1.25)
    assert 1 == len(evaluated(factor=1.25, since=150))


def test_too_few_steps_with_tokens_say_nothing():
    random = np.random.default_rng(3)
    tokens = random.normal(4000, 800, (4, 300))
    own = tokens / 400
    tokens[:, np.arange(300) % 3 != 0] = np.nan
    assert [] == SequenceLengthDetector().evaluate(sketch(own, planes={TOKENS: tokens}))


def test_without_own_time_tokens_or_enough_steps_it_says_nothing():
    timed = ("training.comm.duration", "training.compute.duration", "training.step.duration")
    assert [] == evaluated(**dict.fromkeys(timed, np.full((4, 300), np.nan)))
    assert [] == evaluated(count=30)
    assert [] == SequenceLengthDetector().evaluate(sketch(np.full((4, 60), 0.8)))


@pytest.mark.parametrize("follows", [True, False])
def test_where_only_steps_are_timed_they_have_to_follow_the_longest_rank(follows):
    random = np.random.default_rng(3)
    tokens = random.normal(4000, 60, (4, 300))
    tokens[random.integers(0, 4, 300), np.arange(300)] *= random.uniform(1.3, 1.8, 300)
    longest = tokens.max(axis=0) / 5000 if follows else random.normal(1.2, 0.1, 300)
    blank = np.full((4, 300), np.nan)
    planes = {
        TOKENS: tokens,
        "training.step.duration": np.tile(longest, (4, 1)),
        "training.compute.duration": blank,
        "training.comm.duration": blank,
    }
    found = SequenceLengthDetector().evaluate(sketch(np.tile(longest, (4, 1)), planes=planes))
    assert follows == bool(found)


def test_tokens_as_uneven_as_ever_are_not_why_the_longest_rank_costs_more():
    random = np.random.default_rng(3)
    tokens = random.normal(4000, 60, (4, 300))
    tokens[random.integers(0, 4, 300), np.arange(300)] *= random.uniform(1.3, 1.8, 300)
    longest = tokens.max(axis=0) / 5000
    # Until step 150 the job waits for something else for as long as for its longest rank.
    longest[:150] = np.maximum(longest[:150], random.normal(1.4, 0.15, 150))
    blank = np.full((4, 300), np.nan)
    planes = {
        TOKENS: tokens,
        "training.step.duration": np.tile(longest, (4, 1)),
        "training.compute.duration": blank,
        "training.comm.duration": blank,
    }
    (found,) = SequenceLengthDetector().evaluate(sketch(np.tile(longest, (4, 1)), planes=planes))
    assert 0.5 == found.score


def test_one_rank_that_has_more_tokens_from_now_on_is_no_matter_of_lengths():
    """Before it had, another rank was the longest of each step by chance."""
    for count in range(170, 240, 10):
        assert [] == evaluated(since=150, count=count, row=2, factor=1.3)
