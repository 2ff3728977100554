"""Early points of a curve are compared with the line through those before them, or need not be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.detectors.numbers import excess


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.0, 3.0),
    st.integers(5, 40),
    st.floats(-0.05, 0.05),
    st.sampled_from([4, excess.FEWEST_EARLY]),
)
@settings(max_examples=examples(100), deadline=None)
def test_the_quick_look_leaves_out_no_point_that_stands_out(seed, jump, place, slope, few):
    random = np.random.default_rng(seed)
    value = 3.0 + slope * np.arange(45) + random.normal(0.0, 0.02, 45)
    value[place : place + 4] += jump
    excess.ROUNDING, real = np.inf, excess.ROUNDING  # then no point is left out
    try:
        slowly = excess._early(value, 0.05, few)
    finally:
        excess.ROUNDING = real
    assert slowly == excess._early(value, 0.05, few)
