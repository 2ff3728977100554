"""Jobs of four torch ranks over gloo at once, forked from one process that has torch.

`forked_jobs.py FOLDER AGENTS JOB...`: the ranks of each job send to the agents, whose sockets are
separated by commas, in equal shares. A job looks for its orders in FOLDER/JOB.json, its ranks' pids
are in FOLDER/JOB-RANK.pid. What lives when this process is asked to end is killed.
"""

import os
import signal
import sys
import threading
from pathlib import Path

# Once for all, the ranks are forked: a rank that imports what its first optimizer asks for takes
# seconds of a CPU.
import torch._dynamo  # noqa: F401

from rankscope.lab.demo.stage import free_port
from rankscope.lab.jobs import orders, torch_trainer

RANKS = 4


def start(job: str, rank: int, port: int, folder: Path, agents: list[str]) -> int:
    """Fork one rank; return its pid."""
    pid = os.fork()
    if pid:
        (folder / f"{job}-{rank}.pid").write_text(str(pid))
        return pid
    try:
        log = os.open(folder / "logs" / f"{job}-{rank}.log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        number, local = divmod(rank, RANKS // len(agents))
        os.environ.update({
            "RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": str(RANKS),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo",
            "RANKSCOPE_JOB_ID": job, "RANKSCOPE_AGENT": agents[number],
            orders.VARIABLE: str(folder / f"{job}.json"),
        })  # fmt: skip
        torch_trainer.train(os.environ)
    except BaseException:  # a rank that loses its peers ends, as under a launcher
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def main(folder: Path, agents: list[str], jobs: list[str]) -> None:
    pids = [
        start(job, rank, port, folder, agents)
        for job in jobs
        for port in (free_port(),)
        for rank in range(RANKS)
    ]
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)  # not yet waited for: the number is still its own
        os.waitpid(pid, 0)


main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:])
