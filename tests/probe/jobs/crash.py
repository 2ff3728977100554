"""Rank 1 dies of a ValueError in its third step; with one process it is the only rank."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from rankscope import probe

probe.attach()
model: torch.nn.Module = torch.nn.Linear(8, 1)
rank = dying = 0
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
    rank, dying = dist.get_rank(), 1
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.ones(2, 8)).mean().backward()
    if rank == dying and step == 2:
        raise ValueError("label 10 is not in [0, 10)")
    optimizer.step()
print("unreachable")  # noqa: T201
