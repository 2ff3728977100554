"""Two replicas that evaluate for longer than a heartbeat, without announcing it."""

import time

import torch
import torch.distributed as dist
from ending import end
from torch.nn.parallel import DistributedDataParallel

from rankscope import probe

probe.attach()
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rows = torch.randn(24, 16)


def train() -> None:
    for batch in torch.utils.data.DataLoader(rows, batch_size=8):  # type: ignore[arg-type]
        optimizer.zero_grad()
        (model(batch) ** 2).mean().backward()
        optimizer.step()


def evaluate() -> None:
    for batch in torch.utils.data.DataLoader(rows, batch_size=2):  # type: ignore[arg-type]
        loss = (model.module(batch) ** 2).mean()
        time.sleep(1.0)
        dist.all_reduce(loss)


train()
with torch.no_grad():
    evaluate()
train()
end()
