"""A layout of two by two by a DeviceMesh with FSDP, or of two stages by Megatron."""

import sys

import torch
import torch.distributed as dist
from ending import end, linger
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from rankscope import probe

probe.attach(job="layout")
dist.init_process_group("gloo")
if sys.argv[1] == "megatron":
    from megatron.core import parallel_state

    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=1, pipeline_model_parallel_size=2
    )
else:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = torch.nn.Linear(8, 8)
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
linger()
end()
