"""Ranks of one job, forked from a process that has torch.

`forked.py RANKS PORT SCRIPT ARGUMENT...`: it fails where any of them does.

To import torch, and what its first optimizer asks for, takes each process seconds of a CPU.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

import torch._dynamo  # noqa: F401

ranks, port, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
for rank in range(ranks):
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.update({
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
        })  # fmt: skip
        sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
        runpy.run_path(words[0], run_name="__main__")
        break
else:
    ended = [os.wait()[1] for _ in range(ranks)]
    sys.exit(any(ended))
