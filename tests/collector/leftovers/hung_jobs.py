"""Gloo jobs of four ranks, one a fault and all at once; each leaves its logs and its dumps.

The faults are those of the laboratory and some of this file's own. Rank 2 has it in step 20. Its
peers wait in the all-reduce until gloo's time-out, log the error, dump their recorders and end;
then what still lives is killed, as a launcher does.
"""

import ctypes
import datetime
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d

from rankscope.lab import mechanisms

RANKS, CULPRIT, STEP, TIMEOUT_SECONDS = 4, 2, 20, 5.0


def holds_the_lock() -> NoReturn:
    """Sleep inside C without giving the interpreter's lock back, as a stuck extension does."""
    ctypes.PyDLL(None).pause()
    raise AssertionError


def load(fault: str, rank: int, step: int) -> None:
    """Load a batch; where the data loader is at fault, it never comes."""
    if (fault, rank, step) == ("dataloader", CULPRIT, STEP):
        time.sleep(10_000)


def train(fault: str, rank: int, step: int) -> None:
    load(fault, rank, step)
    size = 64
    if rank == CULPRIT and step == STEP:
        known = {one.name: one for one in mechanisms.MECHANISMS}.get(fault)
        if known is not None:
            if known.signal:
                os.kill(os.getpid(), known.signal)
            change = known.change() if known.change else mechanisms.Change()
            change.step(rank, step)
            if change.other_collective():
                dist.broadcast(torch.ones(size), src=rank)
                return
            if change.ends():
                dist.barrier()
                return
        if fault == "gil":
            holds_the_lock()
        if fault == "size":
            size = 32
    dist.all_reduce(torch.ones(size))


def run(fault: str, rank: int, folder: Path) -> None:
    began = 0.0
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder.parent}/{fault}.store",
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(seconds=TIMEOUT_SECONDS),
    )
    try:
        for step in range(1, STEP + 10):
            began = time.monotonic()
            train(fault, rank, step)
            time.sleep(0.02)
            if rank == 0:
                took = 1000 * (time.monotonic() - began)
                print(f"iter {step}: loss {2 - step / 100:.4f}, time {took:.2f}ms", flush=True)
    except RuntimeError:
        lines = traceback.format_exc().splitlines()
        sys.stderr.write("".join(f"[rank{rank}]: {line}\n" for line in lines))
        sys.stderr.flush()
        dump = getattr(_distributed_c10d, "_dump_fr_trace")()  # noqa: B009  no stub has it
        (folder / f"fr_{rank}").write_bytes(dump)
        os._exit(1)


def start(fault: str, rank: int, folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        log = os.open(folder / f"rank_{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        run(fault, rank, folder)
    except BaseException:  # noqa: BLE001  as Python itself prints what nothing catches
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main(into: Path, faults: list[str]) -> None:
    torch.set_num_threads(1)
    peers: list[int] = []
    culprits: list[int] = []
    for fault in faults:
        (into / fault).mkdir()
        for rank in range(RANKS):
            (culprits if rank == CULPRIT else peers).append(start(fault, rank, into / fault))
    for pid in peers:
        os.waitpid(pid, 0)
    for pid in culprits:
        os.kill(pid, signal.SIGKILL)  # not yet waited for: the number is still its own
        os.waitpid(pid, 0)


main(Path(sys.argv[1]), sys.argv[2:])
