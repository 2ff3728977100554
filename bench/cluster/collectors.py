"""Several collectors over one log and one database, each a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.stage import free_port

_READY_SECONDS = 240.0
_END_SECONDS = 60.0


class CollectorProcesses:
    """The collectors, by number. Output goes to a file in the folder."""

    def __init__(
        self,
        folder: Path,
        *,
        count: int,
        log: dict[str, Any],
        store: str,
        ahead_seconds: Mapping[int, float] | None = None,
        **settings: Any,
    ) -> None:
        """`ahead_seconds`: by how much the clocks of some are ahead."""
        self._ahead_seconds = ahead_seconds or {}
        self.count = count
        self._folder = folder
        self.ports = [free_port() for _ in range(count)]
        self.clients = [DemoClient(f"http://127.0.0.1:{port}") for port in self.ports]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * count
        folder.mkdir(parents=True, exist_ok=True)
        for number, port in enumerate(self.ports):
            document = {
                "data_dir": str(folder / f"collector-{number}"),
                "http": {"listen": f"127.0.0.1:{port}"},
                "log": log,
                "store": {"url": store},
                **settings,
            }
            self._config(number).write_text(json.dumps(document), encoding="utf-8")

    def start(self, number: int) -> None:
        """Start one; it is not ready yet."""
        kept = {name: text for name, text in os.environ.items() if "RANKSCOPE" not in name}
        program = ["rankscope.cli.main"]
        if ahead := self._ahead_seconds.get(number):
            program = ["bench.cluster.shifted", str(ahead)]
        with (self._folder / f"collector-{number}.log").open("ab") as log:
            self._processes[number] = subprocess.Popen(
                [sys.executable, "-m", *program, "collector", "--config",
                 str(self._config(number))],
                stdout=log,
                stderr=log,
                env=kept,
            )  # fmt: skip

    def wait_until_ready(self, number: int) -> None:
        """Raise RuntimeError when one ends by itself, or does not get ready."""
        end = time.monotonic() + _READY_SECONDS
        while not self.clients[number].ready():
            process = self._processes[number]
            if process is None or process.poll() is not None:
                raise RuntimeError(f"collector {number} ended by itself; see its log")
            if time.monotonic() > end:
                raise RuntimeError(f"collector {number} does not get ready; see its log")
            time.sleep(0.05)

    def alive(self, number: int) -> bool:
        process = self._processes[number]
        return process is not None and process.poll() is None

    def pid(self, number: int) -> int:
        process = self._processes[number]
        if process is None:
            raise RuntimeError(f"collector {number} does not run")
        return process.pid

    def send(self, number: int, how: signal.Signals) -> None:
        """Send one a signal, and do not wait."""
        os.kill(self.pid(number), how)

    def kill(self, number: int) -> None:
        """Kill -9 one."""
        self._end(number, signal.SIGKILL)

    def stop(self, number: int) -> None:
        self._end(number, signal.SIGTERM)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End all of them, at once."""
        for number, process in enumerate(self._processes):
            if process is not None and process.poll() is None:
                self.send(number, how)
        for number in range(self.count):
            self._end(number, how)

    def _end(self, number: int, how: signal.Signals) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"collector {number} did not end; see its log") from None

    def _config(self, number: int) -> Path:
        return self._folder / f"collector-{number}.json"
