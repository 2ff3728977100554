"""Ways in which parallel training goes wrong without a word: tiny reproductions over gloo.

Of the kinds that NVIDIA/Megatron-LM#7452 collects, two to four processes each: gradients that are
reduced over the wrong ranks, not at all, twice, or clipped by a norm of one rank alone; replicas
that begin apart or read the same data.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset

from rankscope import probe

from .gpt import BATCH, TinyGpt, corpus

STEPS, RATE = 100, 1e-3


@dataclass(frozen=True, slots=True)
class SilentBug:
    """A kind: what is wrong, of how many ranks, and the function that trains a rank with it."""

    name: str
    ranks: int
    train: "Callable[[SilentRank], None]"


class SilentRank:
    """One process of a reproduction: model, optimizer, loader, and the loop around a gradient."""

    def __init__(self, rank: int, ranks: int, folder: str, environ: dict[str, str]) -> None:
        os.environ.update(environ)
        self.watch: Any = probe.attach()
        torch.set_num_threads(1)
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks
        )
        self.rank, self.ranks, self.share = rank, ranks, rank
        torch.manual_seed(1)
        self.model: Any = TinyGpt(dropout=0.0)
        self.micro = 1
        self.loss: Callable[[torch.Tensor], Any] = self._own_loss

    def _own_loss(self, samples: torch.Tensor) -> Any:
        return self.model(samples)

    def run(self, reduce: Callable[[list[Any]], None] = lambda _: None) -> None:
        """Train; `reduce` does to the parameters' gradients what the loop does after backward."""
        text = corpus(STEPS * BATCH * self.ranks * self.micro, 1)
        stride = self.ranks * BATCH
        order = [
            sample
            for step in range(STEPS * self.micro)
            for sample in range(step * stride + self.share * BATCH,
                                step * stride + self.share * BATCH + BATCH)
        ]  # fmt: skip
        parameters = list(self.model.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=RATE)
        batches = iter(DataLoader(Subset(text, order), batch_size=BATCH))
        for step in range(STEPS):
            time.sleep(0.03)
            with self.watch.step(index=step):
                optimizer.zero_grad()
                for _ in range(self.micro):
                    self.loss(next(batches)).backward()
                reduce(parameters)
                optimizer.step()
        self.watch.detach()
        dist.destroy_process_group()

    def mean(self, parameters: list[Any], group: Any = None) -> None:
        """Average gradients over a group, as data parallelism has to over all ranks."""
        for each in parameters:
            if each.grad is not None:
                dist.all_reduce(each.grad, group=group)
                each.grad /= dist.get_world_size(group)


class SplitLayer(nn.Module):
    """A layer whose weight is split over ranks, behind a norm that each of them has."""

    def __init__(self, rank: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        torch.manual_seed(100 + rank)
        self.split = nn.Linear(width, 16, bias=False)
        torch.manual_seed(1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.split(self.norm(x)).square().mean()


class PlacedSplitLayer(nn.Module):
    """The same by distributed tensors: the norm is placed alike, the weight is split."""

    def __init__(self, ranks: int, width: int) -> None:
        super().__init__()
        mesh = init_device_mesh("cpu", (ranks,))
        self.norm = nn.Parameter(distribute_tensor(torch.ones(width), mesh, [Replicate()]))
        whole = torch.randn(16 * ranks, width) / width**0.5
        self.split = nn.Parameter(distribute_tensor(whole, mesh, [Shard(0)]))

    def forward(self, x: torch.Tensor) -> Any:
        norm: Any = self.norm
        split: Any = self.split
        # Without `grad_placements` a gradient of this rank alone is taken for that of all.
        x = nn.functional.layer_norm(x, norm.shape, norm.to_local())
        return (x @ split.to_local().T).square().mean()


def wrong_group(told: SilentRank) -> None:
    """Average over half of the ranks: a group of another axis of the layout."""
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    told.run(lambda parameters: told.mean(parameters, groups[told.rank // 2]))


def layer_not_reduced(told: SilentRank) -> None:
    """Average all but the norms, whose gradients each rank has of its own part of a sequence."""
    norms = {id(one) for module in told.model.modules() if isinstance(module, nn.LayerNorm)
             for one in module.parameters()}  # fmt: skip
    told.run(lambda parameters: told.mean([one for one in parameters if id(one) not in norms]))


def split_norm_not_reduced(told: SilentRank) -> None:
    """Reduce no norm where the other weights are split over ranks, and rightly differ."""
    told.model = SplitLayer(told.rank, 33)
    told.loss = lambda samples: told.model(samples.float() / 64)
    told.run()


def placed_norm_not_reduced(told: SilentRank) -> None:
    """Forget that the gradient of a norm is a part, where distributed tensors place the weights."""
    told.model = PlacedSplitLayer(told.ranks, 33)
    told.share = 0
    told.loss = lambda samples: told.model(samples.float() / 64)
    told.run()


def reduced_twice(told: SilentRank) -> None:
    """Take the sum where the mean belongs: the same on all ranks from the first step on."""

    def doubled(parameters: list[Any]) -> None:
        told.mean(parameters)
        for each in parameters:
            each.grad *= told.ranks

    told.run(doubled)


def clipped_alone(told: SilentRank) -> None:
    """Clip by a norm that each rank has of its own gradients, then average those."""

    def clipped(parameters: list[Any]) -> None:
        told.mean(parameters)
        own = parameters[: len(parameters) // (1 + told.rank)]  # some are left out of the norm
        norm = torch.linalg.vector_norm(torch.stack([one.grad.norm() for one in own]))
        for each in parameters:
            each.grad *= min(0.1 / float(norm), 1.0)

    told.run(clipped)


def wrapper_bypassed(told: SilentRank) -> None:
    """Call the module inside DistributedDataParallel: nothing is reduced."""
    replica = DistributedDataParallel(told.model)
    told.loss = replica.module
    told.run()


def last_micro_batch_only(told: SilentRank) -> None:
    """Forget the gradients of all micro-batches but the last."""
    replica = DistributedDataParallel(told.model)
    told.micro = 2

    def loss(samples: torch.Tensor) -> Any:
        told.model.zero_grad()
        return replica(samples)

    told.loss = loss
    told.run()


def unsynced_micro_batch(told: SilentRank) -> None:
    """Accumulate behind `no_sync` to the very end: no micro-batch of a step is reduced."""
    replica = DistributedDataParallel(told.model)

    def loss(samples: torch.Tensor) -> Any:
        with replica.no_sync():
            return replica(samples)

    told.loss = loss
    told.run()


def other_beginning(told: SilentRank) -> None:
    """Draw weights by the rank, and average gradients: replicas never had the same weights."""
    torch.manual_seed(told.rank)
    told.model = TinyGpt(dropout=0.0)
    told.run(told.mean)


def same_data(told: SilentRank) -> None:
    """Read the share of rank 0 on every rank: a sampler that was not told the rank."""
    replica = DistributedDataParallel(told.model)
    told.share, told.loss = 0, replica
    told.run()


def sound(told: SilentRank) -> None:
    """Train without a bug, for comparison."""
    told.run(told.mean)


def sound_wrapped(told: SilentRank) -> None:
    """Train without a bug behind DistributedDataParallel, for comparison."""
    replica = DistributedDataParallel(told.model)
    told.loss = replica
    told.run()


def sound_parts(told: SilentRank) -> None:
    """Train parts of one model that were seeded alike, and read the same data."""
    told.share = 0
    told.loss = lambda samples: told.model(samples.roll(told.rank, 1))
    told.run()


BUGS = (
    SilentBug("wrong_group", 4, wrong_group),
    SilentBug("layer_not_reduced", 2, layer_not_reduced),
    SilentBug("split_norm_not_reduced", 2, split_norm_not_reduced),
    SilentBug("placed_norm_not_reduced", 2, placed_norm_not_reduced),
    SilentBug("reduced_twice", 2, reduced_twice),
    SilentBug("clipped_alone", 2, clipped_alone),
    SilentBug("wrapper_bypassed", 2, wrapper_bypassed),
    SilentBug("last_micro_batch_only", 2, last_micro_batch_only),
    SilentBug("unsynced_micro_batch", 2, unsynced_micro_batch),
    SilentBug("other_beginning", 2, other_beginning),
    SilentBug("same_data", 2, same_data),
    SilentBug("sound", 4, sound),
    SilentBug("sound_wrapped", 4, sound_wrapped),
    SilentBug("sound_parts", 2, sound_parts),
)


def process(name: str, rank: int, folder: str, environ: dict[str, str]) -> None:
    """Train one rank of a reproduction."""
    bug = next(one for one in BUGS if one.name == name)
    bug.train(SilentRank(rank, bug.ranks, folder, environ))
