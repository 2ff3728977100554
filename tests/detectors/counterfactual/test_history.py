"""What was before as a prediction: its interval holds what comes, though the level may drift."""

import numpy as np
import pytest

from rankscope.detectors.counterfactual.history import FEWEST, predicted, without_long


@pytest.mark.parametrize(("before", "after"), [(24, 16), (60, 30), (128, 64)])
@pytest.mark.parametrize("drifts", [False, True])
def test_nine_in_ten_intervals_hold_the_mean_of_the_steps_that_come(before, after, drifts):
    random = np.random.default_rng(17)
    held = 0
    for _ in range(400):
        values = random.normal(1.0, 0.02, before + after)
        if drifts:
            values += 0.002 * np.cumsum(random.standard_normal(before + after))
        found = predicted(values[:before], after)
        assert found is not None
        held += abs(values[before:].mean() - found.mean) <= found.margin
    assert held / 400 >= (0.8 if drifts else 0.88)


def test_too_few_steps_predict_nothing():
    assert predicted(np.ones(FEWEST - 1), 10) is None
    assert predicted(np.full(50, np.nan), 10) is None


def test_steps_that_hold_a_compilation_are_left_out():
    values = np.array([1.0, 1.1, 60.0, np.nan, 0.9])
    assert np.array_equal(without_long(values), [1.0, 1.1, np.nan, np.nan, 0.9], equal_nan=True)
