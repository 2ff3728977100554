"""Indices in the parallel layout, from what a job has set up."""

import sys
from types import SimpleNamespace

import pytest

from rankscope.probe.coordinates import ParallelCoordinates

MEGATRON = "megatron.core.parallel_state"
DEEPSPEED = "deepspeed.utils.groups"


class Group:
    """A process group of torch, by what is asked of it."""

    def __init__(self, desc, ranks):
        self.group_desc, self.ranks = desc, ranks


def torch_with(*groups, rank=3):
    return SimpleNamespace(
        get_rank=lambda group=None: rank if group is None else group.ranks.index(rank),
        get_process_group_ranks=lambda group: group.ranks,
        distributed_c10d=SimpleNamespace(
            _world=SimpleNamespace(pg_names=dict.fromkeys(groups, "0"))
        ),
    )


WORLD = Group("default_pg", [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ((WORLD,), {}),
        ((WORLD, Group("mesh_dp", [1, 3]), Group("mesh_tp", [2, 3])), {"dp": 1, "tp": 1}),
        ((WORLD, Group("mesh_dp_replicate", [1, 3]), Group("mesh_dp_shard", [2, 3])), {"dp": 3}),
        ((WORLD, Group("mesh_fsdp", [0, 1, 2, 3])), {"dp": 3}),
        ((Group("PIPELINE_MODEL_PARALLEL_GROUP", [3]), Group("DATA_PARALLEL_GROUP", [2, 3])),
         {"pp": 0, "dp": 1}),
        ((Group("mesh_tp", [0, 1]),), {}),  # of others
    ],
)  # fmt: skip
def test_groups_of_torch_are_read_by_their_descriptions(groups, expected):
    assert expected == ParallelCoordinates().read(torch_with(*groups))


def parallel_state(*, ready=True):
    """Return what Megatron's module offers; it asserts where a group is not set up."""

    def missing():
        raise AssertionError("expert model parallel group is not initialized")

    return SimpleNamespace(
        model_parallel_is_initialized=lambda: ready,
        get_tensor_model_parallel_rank=lambda: 1,
        get_pipeline_model_parallel_rank=lambda: 2,
        get_data_parallel_rank=lambda: 5,
        get_expert_model_parallel_rank=missing,
    )


def test_megatron_is_asked_once_it_is_set_up(monkeypatch):
    monkeypatch.setitem(sys.modules, MEGATRON, parallel_state())
    assert {"tp": 1, "pp": 2, "dp": 5} == ParallelCoordinates().read(torch_with(WORLD))
    monkeypatch.setitem(sys.modules, MEGATRON, parallel_state(ready=False))
    assert {} == ParallelCoordinates().read(torch_with(WORLD))


def test_of_deepspeed_only_groups_that_are_there_are_read(monkeypatch):
    def makes_a_group():
        raise AssertionError("this would be a collective")

    groups = SimpleNamespace(
        mpu=SimpleNamespace(get_pipe_parallel_rank=lambda: 1, get_data_parallel_rank=lambda: 0),
        _EXPERT_PARALLEL_GROUP={"ep_size_2": Group("", [2, 3])},
        _TENSOR_MODEL_PARALLEL_GROUP=None,
        _DATA_PARALLEL_GROUP=None,
        _get_data_parallel_rank=makes_a_group,
        _get_data_parallel_group=makes_a_group,
        get_data_parallel_rank=makes_a_group,
    )
    monkeypatch.setitem(sys.modules, DEEPSPEED, groups)
    assert {"pp": 1, "dp": 0, "ep": 1} == ParallelCoordinates().read(torch_with(WORLD))


def test_groups_made_later_are_seen_and_nothing_is_read_between(monkeypatch):
    reader, few = ParallelCoordinates(), torch_with(WORLD)
    assert {} == reader.read(few)
    assert {} == reader.read(few)
    few.get_process_group_ranks = None  # another reading would fail, and be an empty answer
    reader._found = {"tp": 9}
    assert {"tp": 9} == reader.read(few)
    assert {"tp": 1} == reader.read(torch_with(WORLD, Group("mesh_tp", [2, 3])))


@pytest.mark.parametrize("broken", [SimpleNamespace(), None, torch_with(object())])
def test_a_torch_of_another_shape_has_no_indices(broken):
    assert {} == ParallelCoordinates().read(broken)
