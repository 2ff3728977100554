"""Levels of the past in blocks, made at once, are those of each block alone."""

import numpy as np
import pytest

from rankscope.detectors.hardware import past
from rankscope.detectors.readings import PeriodicReadings

END = 10_000.0


@pytest.fixture
def held():
    """Return readings of three rows: apart, unsorted, one with a gap, one that began again."""
    random = np.random.default_rng(3)
    at = END - np.sort(random.uniform(0, 900, (3, 150)))[:, ::-1]
    value = np.cumsum(random.poisson(5.0, at.shape), axis=1).astype(float)
    value[1, 40:75] = np.nan
    value[2, 90:] -= value[2, 89]
    value[0, 7], at[0, 11] = np.inf, np.nan
    shuffled = random.permutation(at.shape[1])
    return PeriodicReadings(at[:, shuffled], value[:, shuffled])


@pytest.mark.parametrize("counter", [True, False])
def test_each_block_is_what_is_read_of_it_alone(held, counter):
    found = past.blocks(held, END, 900.0, counter=counter)
    read = held.rate if counter else held.mean
    starts = [END - 900.0 + number * past.BLOCK_SECONDS for number in range(14)]
    expected = np.stack([read(start, start + past.BLOCK_SECONDS) for start in starts], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isfinite(found).any()
