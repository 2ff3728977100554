"""What runs in the demo: collector, one agent a host, the training job, and the fault."""

import importlib.util
import os
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..jobs import orders
from .hosts import Host
from .processes import Process, Processes

JOB = "demo-job"
CONTENTION = "host.cpu_contention"


_LONGEST_SOCKET_PATH = 107
"""Bytes that the path of a Unix socket may have on Linux."""


def new_folder() -> Path:
    """Make a temporary folder: in /tmp, if TMPDIR is too long for the path of a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="rankscope-demo-"))
    if len(os.fsencode(folder / "demo-a.sock")) > _LONGEST_SOCKET_PATH:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="rankscope-demo-", dir="/tmp"))
    return folder


def trainer_module(choice: str) -> str:
    """Return the trainer to run: "torch" where torch can be imported, if the choice is "auto"."""
    if choice == "auto":
        choice = "torch" if importlib.util.find_spec("torch") else "numpy"
    return choice


def free_port() -> int:
    """Return a port on the loopback that stays free for the program that is given it.

    A socket of this process keeps it until the process ends: bound, so that the kernel gives the
    port to nobody else, but not listening, and open to reuse, so that a server that allows reuse
    too may bind and listen. Nearly all do (asyncio, Go, gloo, torch's store).
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    port = int(keeper.getsockname()[1])
    keeper.detach()  # left open on purpose
    return port


class Stage:
    """Starts the parts of the demo in a folder, with settings by environment only."""

    def __init__(self, folder: Path, processes: Processes, hosts: Sequence[Host]) -> None:
        """Use this folder for state and sockets."""
        self._folder, self._processes, self._hosts = folder, processes, hosts
        self._orders = folder / "orders.json"
        self.address = f"http://127.0.0.1:{free_port()}"
        self.parts: list[Process] = []
        self.job: list[Process] = []

    def collector(self) -> Process:
        """Start the collector."""
        return self._part(
            "collector",
            ["collector"],
            {
                "RANKSCOPE_DATA_DIR": str(self._folder / "collector"),
                "RANKSCOPE_HTTP__LISTEN": self.address.removeprefix("http://"),
            },
        )

    def agent(self, host: Host) -> Process:
        """Start the agent of a host, on the host's CPUs: those are all it can see."""
        return self._part(
            f"agent-{host.name}",
            ["agent"],
            {
                "RANKSCOPE_NODE__HOST": host.name,
                "RANKSCOPE_NODE__CLUSTER": "demo",
                "RANKSCOPE_PROBE__SOCKET": str(self._socket(host)),
                "RANKSCOPE_PUSH__ENDPOINT": self.address,
                "RANKSCOPE_SPOOL__FOLDER": str(self._folder / f"spool-{host.name}"),
                "RANKSCOPE_NODE__STATE": str(self._folder / f"state-{host.name}"),
                "RANKSCOPE_EXPORT__LISTEN": f"127.0.0.1:{free_port()}",
            },
            host,
        )

    def train(self, trainer: str) -> None:
        """Start every rank of the job, as a launcher would."""
        port = free_port()
        world = sum(len(host.ranks) for host in self._hosts)
        for host in self._hosts:
            for local, rank in enumerate(host.ranks):
                environ = {
                    **clean_environment(),
                    "RANK": str(rank),
                    "LOCAL_RANK": str(local),
                    "WORLD_SIZE": str(world),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(port),
                    "RANKSCOPE_JOB_ID": JOB,
                    "RANKSCOPE_AGENT": f"unix://{self._socket(host)}",
                    orders.VARIABLE: str(self._orders),
                    # One thread a rank: the ranks share CPUs.
                    "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1",
                }
                module = f"rankscope.lab.jobs.{trainer}_trainer"
                process = self._processes.start(
                    f"rank-{rank}",
                    [sys.executable, "-m", module],
                    environ=environ,
                    host=host,
                    nice=host.nice,
                )
                self.job.append(process)

    def inject(self, fault: str, host: Host, rank: int) -> str:
        """Make the fault happen, and say in words what was done."""
        if fault != CONTENTION:
            orders.give(self._orders, fault=fault, rank=rank)
            done = {
                orders.STUCK: "its main thread stops before the next all-reduce",
                orders.NAN: "one activation of its next batch becomes NaN",
                orders.CRASH: "it raises an exception that nothing catches",
                orders.SLOW_LOADER: "its data loader takes "
                f"{1000 * orders.LOADER_SECONDS:.0f} ms longer for each batch",
                orders.EXTRA_WORK: "it calculates for "
                f"{1000 * orders.EXTRA_SECONDS:.0f} ms of CPU time in each step beside training",
            }
            return f"rank {rank} on {host.name}: {done[fault]}"
        self.parts.append(
            self._processes.start(
                "neighbours",
                [sys.executable, "-m", "rankscope.lab.jobs.neighbours", str(host.neighbours)],
                environ=clean_environment(),
                host=host,
                nice=host.neighbours_nice,
            )
        )
        return f"{host.neighbours} busy neighbours on the CPUs of {host.name}"

    def relieve(self) -> None:
        """End the neighbours, if there are any: the machine is wanted for reading now."""
        loud = [process for process in self.parts if process.name == "neighbours"]
        self._processes.stop(*loud)
        self.parts = [process for process in self.parts if process not in loud]

    def _part(
        self, name: str, words: Sequence[str], environ: Mapping[str, str], host: Host | None = None
    ) -> Process:
        process = self._processes.start(
            name,
            [sys.executable, "-m", "rankscope.cli.main", *words],
            environ={**clean_environment(), **environ},
            host=host,
        )
        self.parts.append(process)
        return process

    def _socket(self, host: Host) -> Path:
        return self._folder / f"{host.name}.sock"


def clean_environment() -> dict[str, str]:
    """Return this process's environment without anybody's settings of Rankscope in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RANKSCOPE_")}
