"""The end of a job on gloo: when all was told, and so that no thread of gloo can spoil it."""

import atexit
import os
import time
from pathlib import Path
from typing import NoReturn

import torch.distributed as dist


def linger() -> None:
    """Say that this rank has done everything, and wait until heartbeats have told of it, if asked.

    By `Job.run(lingers=True)` of the tests.
    """
    if "LINGER_IN" not in os.environ:
        return
    folder = Path(os.environ["LINGER_IN"])
    (folder / f"done_{dist.get_rank()}").touch()
    while not (folder / "told").exists():
        time.sleep(0.05)


def end() -> NoReturn:
    """Wait for all ranks, run what is registered to run at exit, and end the process at once.

    The threads of gloo now and then abort an interpreter that ends (std::terminate in a
    destructor).
    """
    dist.barrier()
    dist.destroy_process_group()
    atexit._run_exitfuncs()
    os._exit(0)
