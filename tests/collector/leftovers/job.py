"""A gloo job of which one rank never enters the third all-reduce; every rank leaves its dump.

Each rank writes its dump once it has enqueued what it will ever enqueue, and ends at once.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d


def completed() -> int:
    """Return how many collectives the recorder has seen to complete: it is told a moment later."""
    dump = getattr(_distributed_c10d, "_dump_fr_trace_json")  # noqa: B009  no stub has it
    status = json.loads(dump(includeCollectives=False))["pg_status"]
    return int(status["0"]["last_completed_collective"])


def reduced() -> None:
    """Run one all-reduce."""
    dist.all_reduce(torch.ones(4))


folder, fault, culprit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
rank = dist.get_rank()
for number, collective in enumerate((reduced, reduced, dist.barrier), 1):
    collective()
    # One at a time: the recorder keeps the last that it is told of, and gloo's threads may tell of
    # two in the other order.
    while completed() < number:
        time.sleep(0.01)
if rank != culprit:
    dist.all_reduce(torch.ones(4), async_op=True)
elif fault == "other-collective":
    dist.broadcast(torch.ones(4), src=culprit, async_op=True)
(folder / f"fr_{rank}").write_bytes(getattr(_distributed_c10d, "_dump_fr_trace")())  # noqa: B009
(folder / f"written_{rank}").touch()
while len(list(folder.glob("written_*"))) < dist.get_world_size():
    time.sleep(0.01)
os._exit(0)
