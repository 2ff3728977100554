"""What a message costs beside its samples, as agents send them: many, small, at their own moments.

Each host pushes once a second over a connection of its own, another ninth of its series each time;
all of it is evaluated. CPU time is that of the collector's process.
"""

import http.client
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

from ..budgets.pool import PreparedRequest
from ..budgets.remote_write import cpu, until_ready
from ..budgets.stream import SampleStream

HOSTS, SECONDS = 250, 30
_METRICS, _A_MESSAGE = 36, 4
_WARM_SECONDS = 20
"""Every series has come twice: new ones cost several times as much."""


def measured(a_sample: float) -> float:
    """Return the CPU seconds of a message; `a_sample`: those of a sample, taken off."""
    hosts = _prepared()
    with tempfile.TemporaryDirectory(prefix="rankscope-capacity-") as name:
        folder = Path(name)
        address = f"127.0.0.1:{free_port()}"
        environ = {
            **clean_environment(),
            "RANKSCOPE_DATA_DIR": str(folder / "data"),
            "RANKSCOPE_HTTP__LISTEN": address,
        }
        with DemoProcesses(folder) as processes:
            process = processes.start(
                "collector", [sys.executable, "-m", "rankscope.cli.main", "collector"],
                environ=environ,
            )  # fmt: skip
            until_ready(f"http://{address}/readyz")
            watched = psutil.Process(process.handle.pid)
            agents = [
                _PushingAgent(address, parts, number / HOSTS) for number, parts in enumerate(hosts)
            ]
            time.sleep(_WARM_SECONDS)
            before, sent = cpu(watched), _sent(agents)
            time.sleep(SECONDS)
            used, sent = cpu(watched) - before, _sent(agents) - sent
            for agent in agents:
                agent.stop()
    points = sum(part.points for part in hosts[0]) / len(hosts[0])
    return max(used / sent - points * a_sample, 0.0)


class _PushingAgent:
    """Pushes the parts of a host in turn, one a second, from a thread."""

    def __init__(self, address: str, parts: Sequence[PreparedRequest], moment: float) -> None:
        """`moment`: of the second, in [0, 1)."""
        self.sent = 0
        self._parts = parts
        self._moment = moment
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and look whether everything was taken."""
        self._stopping.set()
        self._thread.join()
        self._connection.close()
        if self.sent == 0:
            raise RuntimeError("an agent whose messages were not taken")

    def _run(self) -> None:
        headers = {"Content-Type": "application/x-protobuf"}
        while not self._stopping.wait(1.0 - (time.time() - self._moment) % 1.0):
            turn, part = divmod(self.sent, len(self._parts))
            body = self._parts[part].later(turn, time.time())
            self._connection.request("POST", "/v1/metrics", body, headers)
            answer = self._connection.getresponse()
            answer.read()
            if answer.status != http.client.OK:
                raise RuntimeError(f"the collector answered {answer.status}")
            self.sent += 1


def _sent(agents: Sequence[_PushingAgent]) -> int:
    return sum(agent.sent for agent in agents)


def _prepared() -> list[list[PreparedRequest]]:
    """Return the messages of each host, in turn."""
    streams = [
        SampleStream(hosts=HOSTS, hosts_a_request=1, metrics=slice(first, first + _A_MESSAGE))
        for first in range(0, _METRICS, _A_MESSAGE)
    ]
    rounds = [map(PreparedRequest.of, stream.round(time.time())) for stream in streams]
    return [list(parts) for parts in zip(*rounds, strict=True)]
