"""The collector that is killed: a process of its own, always at the same address and folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.stage import free_port

_READY_SECONDS = 120.0
_END_SECONDS = 60.0


class VictimCollector:
    """Starts, kills and ends the collector; its output goes to a file in the folder."""

    def __init__(self, folder: Path, *, url: str, secret: str, store: str = "") -> None:
        self.data = folder / "data"
        self.store = store or f"sqlite:///{self.data / 'rankscope.db'}"
        self._log = folder / "collector.log"
        self._config = folder / "collector.yaml"
        self.port = free_port()
        self.client = DemoClient(f"http://127.0.0.1:{self.port}")
        settings: dict[str, Any] = {
            "data_dir": str(self.data),
            "http": {"listen": f"127.0.0.1:{self.port}"},
            "webhooks": [{"name": "soak", "url": url, "secret": secret}],
        }
        if store:
            settings["store"] = {"url": store}
        self._config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it is not ready yet."""
        kept = {name: text for name, text in os.environ.items() if "RANKSCOPE" not in name}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rankscope.cli.main", "collector", "--config",
                 str(self._config)],
                stdout=log,
                stderr=log,
                env=kept,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        """Raise RuntimeError when it ends by itself, or does not get ready."""
        end = time.monotonic() + _READY_SECONDS
        while not self.client.ready():
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"the collector ended by itself; see {self._log}")
            if time.monotonic() > end:
                raise RuntimeError(f"the collector does not get ready; see {self._log}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_END_SECONDS)
            self._process = None
