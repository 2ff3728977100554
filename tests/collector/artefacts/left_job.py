"""A gloo job of which one rank never enters the third all-reduce; every rank leaves its dump.

`left_job.py FOLDER FAULT CULPRIT`: four ranks, forked from one process that has torch. Each writes
its dump once it has enqueued what it will ever enqueue, and ends at once.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d

from rankscope.lab.demo.stage import free_port

RANKS = 4


def completed() -> int:
    """Return how many collectives the recorder has seen to complete: it is told a moment later."""
    dump = getattr(_distributed_c10d, "_dump_fr_trace_json")  # noqa: B009  no stub has it
    status = json.loads(dump(includeCollectives=False))["pg_status"]
    return int(status["0"]["last_completed_collective"])


def reduced() -> None:
    """Run one all-reduce."""
    dist.all_reduce(torch.ones(4))


def train(folder: Path, fault: str, culprit: int) -> None:
    """Run a rank to its end."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for number, collective in enumerate((reduced, reduced, dist.barrier), 1):
        collective()
        # One at a time: the recorder keeps the last that it is told of, and gloo's threads may tell
        # of two in the other order.
        while completed() < number:
            time.sleep(0.01)
    if rank != culprit:
        dist.all_reduce(torch.ones(4), async_op=True)
    elif fault == "other-collective":
        dist.broadcast(torch.ones(4), src=culprit, async_op=True)
    dump = getattr(_distributed_c10d, "_dump_fr_trace")  # noqa: B009  no stub has it
    (folder / f"fr_{rank}").write_bytes(dump())
    (folder / f"written_{rank}").touch()
    while len(list(folder.glob("written_*"))) < RANKS:
        time.sleep(0.01)


def start(rank: int, port: int) -> int:
    """Fork a rank; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    os.environ.update({
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    })  # fmt: skip
    try:
        train(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def main() -> int:
    """Run all ranks to their ends; return 0 if all went well."""
    port = free_port()
    pids = [start(rank, port) for rank in range(RANKS)]
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return int(any(ends))


sys.exit(main())
