"""The end of a job on gloo that no thread of gloo can spoil."""

import atexit
import os
from typing import NoReturn

import torch.distributed as dist


def end() -> NoReturn:
    """Wait for all ranks, run what is registered to run at exit, and end the process at once.

    The threads of gloo now and then abort an interpreter that ends (std::terminate in a
    destructor).
    """
    dist.barrier()
    dist.destroy_process_group()
    atexit._run_exitfuncs()
    os._exit(0)
