"""Digests of weights: of distributed tensors by the ranks that have them alike."""

from types import SimpleNamespace

import pytest
import torch
from torch.distributed.tensor import Partial, Replicate, Shard

from rankscope.probe import weights


@pytest.mark.parametrize(
    ("placements", "ranks"),
    [
        ((Shard(0), Replicate()), (2, 3)),
        ((Replicate(), Shard(0)), (1, 3)),
        ((Replicate(), Replicate()), (0, 1, 2, 3)),
        ((Shard(0), Shard(1)), (3,)),
        ((Partial(), Replicate()), ()),
    ],
    ids=str,
)
def test_a_tensor_is_alike_along_the_dimensions_over_which_it_is_replicated(placements, ranks):
    mesh = SimpleNamespace(mesh=torch.arange(4).reshape(2, 2), get_coordinate=lambda: [1, 1])
    assert ranks == weights._alike(mesh, placements)


def test_plain_tensors_are_placed_nowhere():
    assert ((), "") == weights.of_shards(torch, [("a", torch.nn.Parameter(torch.ones(2)))])


def test_the_norm_of_averages_leaves_out_counts_and_what_is_not_of_the_shape():
    parameter = torch.nn.Parameter(torch.ones(2))
    state = {parameter: {"step": torch.tensor(9.0), "kept": torch.tensor([3.0, 4.0]),
                         "row": torch.ones(1)}}  # fmt: skip
    assert 5.0 == weights.moments(torch, state)
    assert not weights.moments(torch, {}) > 0
