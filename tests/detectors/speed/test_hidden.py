"""A small excess behind a long wait for data slows nobody; a large one does."""

import numpy as np
import pytest

from rankscope.detectors.features import DATA
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector


def named(late: float, excess: float) -> list[str]:
    """Return the slow ranks of four: rank 0 computes longer, rank 3 waits so long for data."""
    own = np.random.default_rng(5).normal(0.8, 0.004, (4, 80))
    own[0, 40:] += excess
    data = np.full((4, 80), 0.01)
    data[3, 40:] += late
    busy = own + data
    comm = busy.max(axis=0) - busy
    planes = {DATA: data, "training.compute.duration": own, "training.comm.duration": comm}
    window = sketch(busy + comm, planes=planes)
    return [
        str(f.entity)
        for f in StragglersDetector().evaluate(window)
        if f.kind == "rank.slow_compute"
    ]


@pytest.mark.parametrize(
    ("late", "excess", "found"),
    [(0.0, 0.2, True), (0.3, 0.2, True), (0.9, 0.2, False)],
    ids=["alone", "of one size", "far smaller"],
)
def test_an_excess_counts_unless_another_rank_comes_far_later(late, excess, found):
    assert (["rank 0 on host-0"] if found else []) == named(late, excess)
