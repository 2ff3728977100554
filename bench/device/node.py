"""This machine as a node: a collector, an agent that reports every second, jobs of one rank."""

import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.processes import DemoProcess, DemoProcesses
from rankscope.lab.demo.stage import free_port

from . import FOREIGN_BYTES
from .surroundings import alone, environment, on_double, told, until

_PROGRAM = [sys.executable, "-m", "rankscope.cli.main"]


class TriedNode:
    """What runs here for the trial. `page_address`: the agent's page; `host`: its name.

    `began`: when each job was started, by its kind (monotonic seconds).
    """

    host = "node-0"

    def __init__(self, folder: Path, processes: DemoProcesses) -> None:
        self.folder = folder
        self._processes = processes
        self._held: dict[int, int] = {}
        self.began: dict[str, float] = {}
        self.client = DemoClient(f"http://127.0.0.1:{free_port()}")
        listen = f"127.0.0.1:{free_port()}"
        self.page_address = f"http://{listen}/metrics"
        self._socket = folder / "probe.sock"
        self._agent = {
            "RANKSCOPE_EXPORT__LISTEN": listen,
            "RANKSCOPE_EXPORT__DCGM_NAMES": "both",
            "RANKSCOPE_PUSH__ENDPOINT": self.client.address,
            "RANKSCOPE_PROBE__SOCKET": str(self._socket),
            "RANKSCOPE_SPOOL__FOLDER": str(folder / "spool"),
            "RANKSCOPE_NODE__STATE": str(folder / "state"),
            "RANKSCOPE_NODE__HOST": self.host,
            "RANKSCOPE_READERS__PERIOD_SECONDS": "1",
            "RANKSCOPE_LOGS__FOLLOW": "false",
        }

    def collector(self) -> None:
        more = {
            "RANKSCOPE_DATA_DIR": str(self.folder / "collector"),
            "RANKSCOPE_HTTP__LISTEN": self.client.address.removeprefix("http://"),
        }
        self._processes.start("collector", [*_PROGRAM, "collector"], environ=environment(more))

    def agent(self) -> None:
        """Start the agent; it keeps what it sends until there is a collector."""
        self._processes.start("agent", [*_PROGRAM, "agent"], environ=environment(self._agent))

    def ready(self, seconds: float) -> bool:
        """Wait until agent and collector take something; False after so many seconds."""
        return until(seconds, lambda: self._socket.exists() and self.client.ready())

    def job(self, kind: str, *words: str, rank: bool = True) -> DemoProcess:
        """Start bench/device/job.py; with `rank` as the only rank of a job of its kind's name."""
        more = {**alone(), "RANKSCOPE_JOB_ID": kind, "RANKSCOPE_AGENT": f"unix://{self._socket}"}
        process = self._processes.start(
            kind,
            [sys.executable, "-m", "bench.device.job", kind, *words],
            environ=environment(more if rank else {}),
        )
        self.began[kind] = time.monotonic()
        self._held[process.handle.pid] = 1 << 30 if rank else FOREIGN_BYTES
        self._tell()
        return process

    def stop(self, process: DemoProcess) -> None:
        """End a job."""
        self._processes.stop(process)
        self._held.pop(process.handle.pid, None)
        self._tell()

    def _tell(self) -> None:
        """Let the double's device have the processes of the jobs, as a real one has by itself."""
        if on_double():
            held = ", ".join(f"{pid}:{size}" for pid, size in self._held.items())
            told(f"gpu0.processes = {held}")

    def page(self) -> bytes:
        """Return the agent's page, nothing where it does not answer."""
        try:
            with urllib.request.urlopen(self.page_address, timeout=3.0) as answer:  # noqa: S310
                return bytes(answer.read())
        except OSError:
            return b""

    def causes(self, job: str) -> list[dict[str, Any]]:
        """Return the first hypothesis of each incident of a job, with its `incident`."""
        return [
            {**row["root_cause"]["hypotheses"][0], "incident": row}
            for row in self.client.incidents(job)
            if row["root_cause"]["hypotheses"]
        ]

    def trains(self, job: str) -> bool:
        """Return whether the collector has steps of a job."""
        return any(row["last_step"] is not None for row in self.client.ranks(job))
