"""Who waits for whom in a step: the slowest of a group, the beat of a pipeline, everybody last."""

import numpy as np
import pytest

from rankscope.detectors.counterfactual.graph import (
    BATCHES_A_STAGE,
    StepGraph,
    graph_of,
    join,
)
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement


def column(*values):
    return np.array(values, float)[:, None]


def test_without_a_layout_a_step_takes_as_long_as_the_slowest_rank_with_its_wait():
    graph = StepGraph(np.zeros(3, np.int64))
    work = graph.meet(column(0.5, 0.0, 0.0), column(1.0, 1.2, 1.4))
    assert graph.span(work)[0] == pytest.approx(1.5)


def test_tensor_peers_add_the_longest_wait_to_the_longest_work():
    """One waits for its batch, the other works longest: they meet in every layer."""
    graph = StepGraph(np.array([0, 0, 1, 1]))
    work = graph.meet(column(0.5, 0.0, 0.0, 0.0), column(1.0, 1.4, 1.0, 1.6))
    assert graph.span(work)[0] == pytest.approx(1.9)


def test_a_pipeline_goes_at_the_beat_of_its_slowest_stage():
    graph = StepGraph(np.array([0, 1]), stages=2)
    work = graph.meet(column(0.0, 0.0), column(1.0, 2.0))
    batches = 2 * BATCHES_A_STAGE
    assert graph.span(work)[0] == pytest.approx(((batches - 1) * 2.0 + 3.0) / batches)


def test_parts_of_a_group_are_the_whole():
    graph = StepGraph(np.array([0, 0, 1, 1]))
    ready, busy = column(0.1, 0.2, 0.3, 0.0), column(1.0, 1.1, 0.9, 1.3)
    some, others = np.array([1]), np.array([0, 2, 3])
    whole = graph.meet(ready, busy)
    parts = join(
        graph.meet(ready[some], busy[some], some), graph.meet(ready[others], busy[others], others)
    )
    assert np.array_equal(parts.ready, whole.ready)
    assert np.array_equal(parts.busy, whole.busy)


@pytest.mark.parametrize(
    ("layout", "groups", "stages"),
    [
        ([{}] * 4, 1, 1),
        ([{"dp": rank, "tp": 0, "pp": 0} for rank in range(4)], 1, 1),
        ([{"dp": rank // 2, "tp": rank % 2, "pp": 0} for rank in range(4)], 2, 1),
        ([{"dp": rank // 2, "tp": 0, "pp": rank % 2} for rank in range(4)], 4, 2),
        ([{"dp": rank, "tp": 0, "pp": 0, "ep": rank % 2} for rank in range(4)], 2, 1),
        ([{"dp": 1 << 60, "tp": 0, "pp": rank << 40} for rank in range(4)], 4, 4),
    ],
    ids=["none", "data", "tensor", "pipeline", "experts", "absurd numbers"],
)
def test_the_layout_says_which_ranks_meet(layout, groups, stages):
    placements = [RankPlacement(rank, "host-0", **each) for rank, each in enumerate(layout)]
    window = sketch(np.ones((4, 10)), placed=JobTopology(Job("example"), placements=placements))
    graph = graph_of(window)
    assert (graph.groups, graph.stages) == (groups, stages)
