"""DDP on gloo with one line for the probe: a slow loader on one rank, extra work on rank 0."""

import os
import time

import torch
import torch.distributed as dist
from ending import end
from torch.nn.parallel import DistributedDataParallel

from rankscope import probe

STEPS = 12
SLOW_LOADER = int(os.environ.get("SLOW_LOADER", "-1"))
EXTRA_WORK = int(os.environ.get("EXTRA_WORK", "-1"))
SLEEP_SECONDS = 0.1

probe.attach()
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)


class Rows(torch.utils.data.Dataset[torch.Tensor]):
    """Rows of one tensor, slow on one rank."""

    def __init__(self) -> None:
        self.rows = torch.randn(STEPS * 8, 16)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        if rank == SLOW_LOADER and index % 8 == 0:
            time.sleep(SLEEP_SECONDS)
        return self.rows[index]


model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.Linear(32, 1))
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in torch.utils.data.DataLoader(Rows(), batch_size=8):
    if rank == EXTRA_WORK:
        time.sleep(SLEEP_SECONDS)  # preprocessing
    optimizer.zero_grad()
    loss = (model(batch) ** 2).mean()
    loss.backward()
    optimizer.step()
    if rank == EXTRA_WORK:
        time.sleep(SLEEP_SECONDS)  # logging
end()
