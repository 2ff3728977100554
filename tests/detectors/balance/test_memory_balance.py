"""Ranks that hold more memory than peers with the same role."""

import numpy as np
import pytest

from rankscope.detectors.balance.memory_balance import MemoryBalanceDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0.0, 61, 5)
ALLOCATED = "training.memory.allocated"


def evaluated(held, *, metric="hw.gpu.memory.usage", limit=80e9, **more):
    """Return the ranks that stand out by their bytes."""
    size = np.array(held, float)[:, None] * 1e9
    by_rank = {"hw.gpu.memory.limit": readings(AT, np.full((len(held), 1), limit))}
    planes = {}
    if metric == ALLOCATED:
        planes[metric] = np.tile(size, (1, 60))
    else:
        by_rank[metric] = readings(AT, size)
    window = sketch(np.full((len(held), 60), 0.8), rank_readings=by_rank, planes=planes, **more)
    return [f.entity.id for f in MemoryBalanceDetector().evaluate(window)]


@pytest.mark.parametrize("metric", ["hw.gpu.memory.usage", ALLOCATED, "process.memory.private"])
def test_one_rank_far_above_its_peers_is_named(metric):
    assert ["0"] == evaluated([60, 30, 30, 30], metric=metric)
    assert ["0"] == evaluated([60, 30, 30, 30], metric=metric, limit=0.0)


def test_a_small_excess_and_one_within_the_spread_of_peers_are_not():
    assert [] == evaluated([42, 40, 40, 40])
    assert [] == evaluated([60, 30, 45, 20, 55, 38])


def test_stages_hold_different_memory_by_design():
    roles = {"role_of": np.arange(8) // 4}
    assert [] == evaluated([60, 60, 60, 60, 30, 30, 30, 30], **roles)
    assert ["5"] == evaluated([60, 60, 60, 60, 30, 50, 30, 30], **roles)
    assert [] == evaluated([60, 30, 30, 60], role_of=np.arange(4) // 2)


def test_half_of_the_ranks_stand_out_from_nobody():
    assert [] == evaluated([60, 60, 60, 30, 30, 30, 30])


def test_without_a_step_it_is_seen_all_the_same():
    by_rank = {"hw.gpu.memory.usage": readings(AT, np.array([[6e10], [3e10], [3e10], [3e10]]))}
    window = sketch(np.zeros((4, 0)), now=START + 60, rank_readings=by_rank)
    assert ["0"] == [f.entity.id for f in MemoryBalanceDetector().evaluate(window)]
