"""Two shards under `fully_shard`; one rank may sleep in the middle of each forward pass."""

import os
import sys
import time

import torch
import torch.distributed as dist
from ending import end, linger
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

if "--probe" in sys.argv:
    from rankscope import probe

    probe.attach()

SLEEPER = int(os.environ.get("SLEEPER", "-1"))
STEPS = int(os.environ.get("STEPS", "12"))

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
torch.set_num_threads(1)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))


class Lingering(torch.nn.Module):
    """A layer that takes its time on one rank."""

    def forward(self, hidden):
        if rank == SLEEPER:
            time.sleep(0.2)
        return hidden


layers = [torch.nn.Linear(32, 32) for _ in range(4)]
model = torch.nn.Sequential(*layers[:2], Lingering(), *layers[2:])
for layer in layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(STEPS, 16, 32) + rank
for batch in inputs:
    optimizer.zero_grad()
    (model(batch) ** 2).mean().backward()
    if "CLIPS" in os.environ:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e6).item()
        if rank == 0:
            sys.stdout.write(f"norm {norm!r}\n")
    optimizer.step()
linger()
end()
