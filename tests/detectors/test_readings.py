"""What detectors ask of readings is the same, to the digit, however whole the readings are."""

import numpy as np
import pytest

from rankscope.detectors import medians
from rankscope.detectors.readings import PeriodicReadings

AT = np.tile(1e9 + np.arange(24) * 5.0, (9, 1))
START, END = AT[0, 0] - 1.0, AT[0, -1]


@pytest.fixture(params=["by rows", "by readings"])
def in_memory(request):
    """Return a function that lays a matrix out in memory in one of two ways."""
    return np.ascontiguousarray if request.param == "by rows" else np.asfortranarray


def grown(seed):
    return np.cumsum(np.random.default_rng(seed).random(AT.shape), axis=1) * 1e3


def beside_a_gap(values):
    """Return (at, value) with one more row, of which a reading is missing."""
    row = values[:1].copy()
    row[0, 7] = np.nan
    return np.vstack([AT, AT[:1]]), np.vstack([values, row])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ask", ["mean", "rate"])
def test_rows_without_a_gap_are_the_same_beside_one_with_a_gap(in_memory, ask, seed):
    at, value = beside_a_gap(grown(seed))
    whole = PeriodicReadings(in_memory(AT), in_memory(grown(seed)))
    torn = PeriodicReadings(in_memory(at), in_memory(value))
    expected = getattr(torn, ask)(START, END)[:-1].tolist()
    assert expected == getattr(whole, ask)(START, END).tolist()


def test_a_counter_that_began_again_counts_from_there(in_memory):
    values = grown(0)
    values[:, 12:] -= values[:, 12:13] - 2.0
    seconds = AT[0, -1] - AT[0, 0]
    expected = (values[:, 11] - values[:, 0] + values[:, -1]) / seconds
    found = PeriodicReadings(in_memory(AT), in_memory(values)).rate(START, END)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5, 24])
def test_the_median_of_numbers_is_numpys(in_memory, count):
    values = in_memory(np.random.default_rng(count).random((6, count)))
    assert np.median(values, axis=1).tolist() == medians.median(values, axis=1).tolist()
