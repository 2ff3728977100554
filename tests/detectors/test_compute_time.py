"""A rank's own share of a step, freed of what is normal."""

import numpy as np
import pytest

from rankscope.detectors import compute_time, medians
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import StepValues

NAN = np.nan


def steps(**planes):
    first = next(iter(planes.values()))
    return StepValues(np.arange(first.shape[1]), np.ones(first.shape).cumsum(axis=1), planes)


def own(valid):
    found = compute_time.compute_time(valid)
    assert found is not None
    return found


def test_own_time_is_what_the_rank_says_it_computed():
    valid = steps(
        **{compute_time.COMPUTE: np.array([[1.0, 2.0]]), compute_time.STEP: np.array([[9.0, 9.0]])}
    )
    assert [[1.0, 2.0]] == own(valid).tolist()


def test_else_it_is_the_step_less_the_wait_and_never_negative():
    valid = steps(
        **{compute_time.STEP: np.array([[3.0, 1.0]]), compute_time.COMM: np.array([[1.0, 2.0]])}
    )
    assert [[2.0, 0.0]] == own(valid).tolist()


def test_a_step_alone_will_do_where_there_are_ranks_to_compare():
    """In a synchronous job it is the same for all of them, and accuses nobody."""
    assert np.ones((2, 3)).tolist() == own(steps(**{compute_time.STEP: np.ones((2, 3))})).tolist()
    assert None is compute_time.compute_time(steps(**{compute_time.STEP: np.ones((1, 3))}))


def test_seconds_that_no_step_can_take_are_no_measurement():
    valid = steps(**{compute_time.COMPUTE: np.array([[1.0, 1e300, np.inf]])})
    np.testing.assert_allclose(np.array([[1.0, NAN, NAN]]), own(valid))


def test_work_that_tokens_explain_becomes_flat():
    tokens = np.random.default_rng(1).integers(1_000, 9_000, (4, 50)).astype(float)
    own = 0.05 + tokens / 10_000 + (tokens / 10_000) ** 2
    flat = compute_time.per_token(own, steps(**{compute_time.TOKENS: tokens}))
    assert flat.std() < 0.001 < own.std()


def test_one_compilation_does_not_spoil_the_prediction():
    tokens = np.random.default_rng(1).integers(1_000, 9_000, (4, 50)).astype(float)
    own = tokens / 10_000
    own[:, 0] += 60
    flat = compute_time.per_token(own, steps(**{compute_time.TOKENS: tokens}))
    assert flat[:, 1:].std() < 0.001


def test_work_that_is_mostly_stray_is_left_as_it_is():
    tokens = np.random.default_rng(1).integers(1_000, 9_000, (3, 10)).astype(float)
    own = np.full((3, 10), 0.01)
    own[:, :4] = 50.0
    assert own is compute_time.per_token(own, steps(**{compute_time.TOKENS: tokens}))


def test_peers_are_those_of_the_same_role():
    own = np.array([[1.0, 1.0], [2.0, 2.0], [10.0, 10.0], [10.0, 30.0], [5.0, 5.0]])
    ratio = compute_time.against_peers(own, np.array([0, 0, 1, 1, 2]))
    expected = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0], [1.0, 3.0], [NAN, NAN]])
    np.testing.assert_allclose(expected, ratio)


def test_the_healthy_reference_is_low_enough_for_half_of_a_small_job_to_be_slow():
    own = np.array([[1.0], [1.0], [2.0], [2.0]])
    assert [1.0] == compute_time.low_quantile(own).tolist()


def test_where_fewer_than_two_tell_there_is_no_reference():
    own = np.array([[1.0, NAN], [NAN, NAN], [NAN, 4.0]])
    assert np.isnan(compute_time.low_quantile(own)).all()


def test_medians_and_maxima_of_nothing_are_nan_without_a_warning():
    values = np.array([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    np.testing.assert_allclose([2.0, NAN], medians.median(values, axis=1))
    np.testing.assert_allclose([3.0, NAN], medians.highest(values, axis=1))
    np.testing.assert_allclose([1.0, NAN, 3.0], medians.highest(values, axis=0))


def test_the_newest_steps_cover_the_seconds_asked_for_or_the_fewest(steady):
    window = sketch(steady(spread=0.0))
    assert 10 == compute_time.recent_count(window.steps, seconds=10.0, fewest=5)
    assert 5 == compute_time.recent_count(window.steps, seconds=2.0, fewest=5)
    assert 5 == compute_time.recent_count(sketch(steady(steps=0)).steps, seconds=2.0, fewest=5)


def test_a_step_ends_with_the_last_of_its_ranks():
    at = np.array([[1.0, NAN, 5.0], [2.0, NAN, 4.0]])
    np.testing.assert_allclose(
        [2.0, NAN, 5.0], compute_time.step_ends(StepValues(np.arange(3), at))
    )
    assert 0 == len(compute_time.step_ends(StepValues(np.zeros(0, int), np.zeros((2, 0)))))


def test_steps_that_some_ranks_have_yet_to_tell_are_cut_off(steady):
    window = sketch(steady())
    window.steps.at[0, -2:] = NAN
    done = compute_time.complete(window.steps)
    assert 57 == done.index[-1]
    assert (4, 58) == done.plane(compute_time.STEP).shape


def test_a_rank_that_never_tells_cuts_nothing_off(steady):
    window = sketch(steady())
    window.steps.at[0] = NAN
    assert 60 == len(compute_time.complete(window.steps).index)


def test_no_steps_are_complete_as_they_are(steady):
    empty = sketch(steady(steps=0)).steps
    assert empty is compute_time.complete(empty)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 600, 601])
def test_the_middle_is_the_median_of_numpy(count):
    values = np.random.default_rng(3).normal(1.0, 0.1, count)
    expected = np.median(values) if count else np.nan
    np.testing.assert_equal(medians.middle(values), expected)
    assert np.isnan(medians.middle(np.append(values, np.nan)))


def test_time_never_falls_with_tokens_though_the_shortest_batches_came_in_the_warm_up():
    """A parabola through slow first steps would say that longer batches had been faster."""
    tokens = np.repeat([4096.0, 5120.0, 6144.0], 20)
    own = 0.6 * tokens / 4096
    own[:12] *= np.linspace(1.9, 1.3, 12)
    fit = compute_time.token_fit(own, tokens)
    assert fit is not None
    said = np.polyval(np.array(fit.powers), np.linspace(4096, 6144, 9) / fit.scale)
    assert (np.diff(said) > 0).all()


def test_steps_that_get_faster_with_tokens_are_not_explained_by_them():
    tokens = np.repeat([4096.0, 5120.0, 6144.0], 20)
    assert compute_time.token_fit(4096 / tokens, tokens) is None
