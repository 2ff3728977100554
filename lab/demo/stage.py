"""What runs in the demo: collector, one agent a host, the training job, and the fault."""

import importlib.util
import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..jobs import orders
from ..mechanisms.contract import NOTHING, FaultMechanism
from . import cpu_quota, private_shm
from .hosts import DemoHost
from .processes import DemoProcess, DemoProcesses

JOB = "demo-job"


@dataclass(frozen=True, slots=True)
class RemoteCollector:
    """A collector that runs already, and where the demo's agents show their pages to Prometheus."""

    address: str
    """Base URL of the collector."""
    token: str
    """Bearer token of role read: it sends, and it asks."""
    listen: tuple[str, int]
    """Host and port of the first agent's page; the second agent's is the next port."""


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


class DemoStage:
    """Starts the parts of the demo in a folder, with settings by environment only."""

    def __init__(
        self,
        folder: Path,
        processes: DemoProcesses,
        hosts: Sequence[DemoHost],
        mechanism: FaultMechanism = NOTHING,
        elsewhere: RemoteCollector | None = None,
    ) -> None:
        """Use this folder for state and sockets, and prepare for this fault."""
        self._folder, self._processes, self._hosts = folder, processes, hosts
        self._mechanism = mechanism
        self._within: dict[str, tuple[str, ...]] = {}
        self._orders = folder / "orders.json"
        self.elsewhere = elsewhere
        self.address = elsewhere.address if elsewhere else f"http://127.0.0.1:{free_port()}"
        # A collector that goes on may have seen a demo before: each is a job of its own there.
        self.job_id = time.strftime(f"{JOB}-%Y%m%d-%H%M%S", time.gmtime()) if elsewhere else JOB
        self.parts: list[DemoProcess] = []
        self.job: list[DemoProcess] = []

    def collector(self, more: Mapping[str, str] | None = None) -> DemoProcess:
        """Start the collector, with more settings of its own where they are given."""
        return self._part(
            "collector",
            ["collector"],
            {
                **(more or {}),
                "RANKSCOPE_DATA_DIR": str(self._folder / "collector"),
                "RANKSCOPE_HTTP__LISTEN": self.address.removeprefix("http://"),
                # A demo is over before slowness has cost what anybody would get up for.
                "RANKSCOPE_EVALUATION__UNNAMED_MINUTES": "0",
            },
        )

    def prepare(self) -> None:
        """Start what must be there before agents and ranks are.

        Raises InjectionUnsupportedError.
        """
        if self._mechanism.quota:
            cpu_quota.check()
        if self._mechanism.shm_mib:
            for host in self._hosts:
                self._within[host.name] = private_shm.mount(
                    self._processes, host.name, self._mechanism.shm_mib
                )
        if self._mechanism.beside:
            module, *words = (word.format(folder=self._folder) for word in self._mechanism.beside)
            self._beside("beside", module, *words)

    def agent(self, host: DemoHost, more: Mapping[str, str] | None = None) -> DemoProcess:
        """Start the agent of a host, on the host's CPUs, with more settings where given."""
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
                **self._page(host),
                # Every agent here could read the logs of all the hosts' ranks, and of other jobs.
                "RANKSCOPE_LOGS__FOLLOW": "false",
                **(more or {}),
            },
            host,
        )

    def train(self, trainer: str) -> None:
        """Start every rank of the job, as a launcher would."""
        port, detour = free_port(), 0
        world = sum(len(host.ranks) for host in self._hosts)
        if self._mechanism.link:
            detour = free_port()
            self._beside("link", "rankscope.lab.jobs.link", str(detour), str(port))
        extra = {
            name: value.format(folder=self._folder) for name, value in self._mechanism.job.items()
        }
        for number, host in enumerate(self._hosts):
            for local, rank in enumerate(host.ranks):
                environ = {
                    **clean_environment(),
                    "RANK": str(rank),
                    "LOCAL_RANK": str(local),
                    "WORLD_SIZE": str(world),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(detour if detour and number else port),
                    "RANKSCOPE_JOB_ID": self.job_id,
                    "RANKSCOPE_AGENT": f"unix://{self._socket(host)}",
                    orders.VARIABLE: str(self._orders),
                    # One thread a rank: the ranks share CPUs.
                    "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1",
                    **extra,
                }
                module = f"rankscope.lab.jobs.{trainer}_trainer"
                process = self._processes.start(
                    f"rank-{rank}",
                    [*self._within.get(host.name, ()), sys.executable, "-m", module],
                    environ=environ,
                    host=host,
                    nice=host.nice,
                )
                self.job.append(process)

    def inject(self, host: DemoHost, rank: int) -> str:
        """Make the fault happen, and say in words what was done."""
        mechanism = self._mechanism
        done = mechanism.text.format(rank=rank, host=host.name)
        if mechanism.neighbours:
            self.parts.append(
                self._processes.start(
                    "neighbours",
                    [sys.executable, "-m", "rankscope.lab.jobs.neighbours", str(host.neighbours)],
                    environ=clean_environment(),
                    host=host,
                    nice=host.neighbours_nice,
                )
            )
            return f"{host.neighbours} {done}"
        if mechanism.quota:
            pids = [self.job[number].handle.pid for number in host.ranks]
            self._processes.at_end(cpu_quota.limit(pids, mechanism.quota))
        elif mechanism.signal:
            os.kill(self.job[rank].handle.pid, mechanism.signal)
        else:
            ranks = range(len(self.job)) if mechanism.everywhere else [rank]
            orders.give(self._orders, mechanism=mechanism.name, ranks=list(ranks))
        return done

    def pids(self, rank: int, *, worker: bool) -> tuple[int, ...]:
        """Return the process of a rank, or those of its data loader's workers."""
        pid = self.job[rank].handle.pid
        return tuple(child.pid for child in psutil.Process(pid).children()) if worker else (pid,)

    def relieve(self) -> None:
        """End the neighbours, if there are any: the machine is wanted for reading now."""
        loud = [process for process in self.parts if process.name == "neighbours"]
        self._processes.stop(*loud)
        self.parts = [process for process in self.parts if process not in loud]

    def _beside(self, name: str, module: str, *words: str) -> None:
        environ = {**clean_environment(), orders.VARIABLE: str(self._orders)}
        command = [sys.executable, "-m", module, *words]
        self.parts.append(self._processes.start(name, command, environ=environ))

    def _part(
        self,
        name: str,
        words: Sequence[str],
        environ: Mapping[str, str],
        host: DemoHost | None = None,
    ) -> DemoProcess:
        within = self._within.get(host.name, ()) if host is not None else ()
        process = self._processes.start(
            name,
            [*within, sys.executable, "-m", "rankscope.cli.main", *words],
            environ={**clean_environment(), **environ},
            host=host,
        )
        self.parts.append(process)
        return process

    def _page(self, host: DemoHost) -> dict[str, str]:
        """Return where an agent shows its page, and with which token it sends."""
        if self.elsewhere is None:
            return {"RANKSCOPE_EXPORT__LISTEN": f"127.0.0.1:{free_port()}"}
        address, port = self.elsewhere.listen
        number = list(self._hosts).index(host)
        return {
            "RANKSCOPE_EXPORT__LISTEN": f"{address}:{port + number}",
            "RANKSCOPE_PUSH__TOKEN": self.elsewhere.token,
        }

    def _socket(self, host: DemoHost) -> Path:
        return self._folder / f"{host.name}.sock"


def clean_environment() -> dict[str, str]:
    """Return this process's environment without anybody's settings of Rankscope in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RANKSCOPE_")}
