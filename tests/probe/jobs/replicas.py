"""Two replicas under DDP; one may sleep, or see a NaN; prints a digest of their weights."""

import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist
from ending import end, linger
from torch.nn.parallel import DistributedDataParallel

if "--probe" in sys.argv:
    from rankscope import probe

    probe.attach()

SLEEPER = int(os.environ.get("SLEEPER", "-1"))
BROKEN = int(os.environ.get("BROKEN", "-1"))
STEPS = int(os.environ.get("STEPS", "12"))

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
torch.set_num_threads(1)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1))
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
inputs = torch.randn(STEPS * 16, 32) + rank
if BROKEN == rank:
    inputs[5 * 16] = float("nan")
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs), batch_size=16)
for (batch,) in loader:
    if SLEEPER == rank:
        time.sleep(0.05)
    optimizer.zero_grad()
    (model(batch) ** 2).mean().backward()
    optimizer.step()
digest = hashlib.sha256()
for name, tensor in model.state_dict().items():
    digest.update(name.encode() + tensor.numpy().tobytes())
print(f"rank {rank} weights {digest.hexdigest()}", flush=True)  # noqa: T201
linger()
end()
