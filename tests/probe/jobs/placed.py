"""Two copies of one shard, clipped: as FSDP2 with a replicated dimension trains."""

import sys
from typing import Any

import torch
import torch.distributed as dist
from ending import end, linger
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from rankscope import probe

probe.attach(job="placed")
dist.init_process_group("gloo")
torch.manual_seed(7)
torch.set_num_threads(1)
mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp_replicate", "dp_shard"))
model: Any = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(6):
    optimizer.zero_grad()
    (model(torch.ones(2, 4) * dist.get_rank()) ** 2).mean().backward()
    whole: Any = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    whole.full_tensor()
    optimizer.step()
    if "--drift" in sys.argv and dist.get_rank() == 1:
        with torch.no_grad():
            model[1].weight.mul_(0.5)
linger()
end()
