"""Polling of a Prometheus: CPU of a collector that asks for 1,000 GPUs every 15 s.

A real Prometheus is given the series of remote_write.py as they are scraped, every 15 s, by remote
write; a collector of its own process polls it. The CPU time is that of the collector's process: the
queries, their JSON, journal, windows, and the evaluation of what came. `asking` is the same poll in
this process without journal and evaluation: queries, JSON and what is made of it.

Budget: 3 % of a core.
"""

import http.client
import json
import math
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from rankscope.collector.prometheus.asking import PrometheusClient
from rankscope.collector.prometheus.reading import StoreReading
from rankscope.collector.settings.prometheus import PrometheusSettings
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

from . import remote_write
from .remote_write import INTERVAL_SECONDS, cpu, send, until_ready

POLLS = 4
"""Polls that are measured at least; two more come before."""
_POLLS = "rankscope_collector_polls_total"
_SAMPLES = "rankscope_collector_polled_samples_total"


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured, over so many seconds or four polls, whichever is longer."""
    program = shutil.which("prometheus")
    if program is None:
        return {"polling": "prometheus is not installed"}
    labels = remote_write.series()
    polls = max(POLLS, math.ceil(seconds / INTERVAL_SECONDS))
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as name:
        folder = Path(name)
        with DemoProcesses(folder) as processes:
            store = _prometheus(processes, program, folder)
            feeding = _PrometheusFeed(store, labels)
            try:
                row = _polled(processes, folder, store, polls)
                row["asking"] = _asked(store)
            finally:
                feeding.stop()
    return {
        "devices": remote_write.HOSTS * remote_write.GPUS,
        "series": len(labels),
        "interval_seconds": INTERVAL_SECONDS,
        **row,
    }


class _PrometheusFeed:
    """Gives a Prometheus a scrape of everything every 15 s, from a thread."""

    def __init__(self, address: str, labels: list[bytes]) -> None:
        self._address = address.removeprefix("http://")
        self._labels = labels
        self._stopping = threading.Event()
        self._scrape(time.time())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL_SECONDS - time.time() % INTERVAL_SECONDS):
            self._scrape(time.time())

    def _scrape(self, at: float) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        for body, _ in remote_write.tick(self._labels, at):
            send(connection, body)
        connection.close()


def _prometheus(processes: DemoProcesses, program: str, folder: Path) -> str:
    address = f"127.0.0.1:{free_port()}"
    (folder / "prometheus.yml").write_text("{}\n", encoding="utf-8")
    command = [
        program, f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={address}",
        "--web.enable-remote-write-receiver", f"--config.file={folder / 'prometheus.yml'}",
    ]  # fmt: skip
    processes.start("prometheus", command, environ=clean_environment())
    until_ready(f"http://{address}/-/ready")
    return f"http://{address}"


def _polled(processes: DemoProcesses, folder: Path, store: str, polls: int) -> dict[str, Any]:
    address = f"127.0.0.1:{free_port()}"
    settings = {
        "data_dir": str(folder / "data"),
        "http": {"listen": address},
        "prometheus": [{"url": store, "interval_seconds": INTERVAL_SECONDS}],
    }
    (folder / "collector.yaml").write_text(json.dumps(settings), encoding="utf-8")
    process = processes.start(
        "collector",
        [sys.executable, "-m", "rankscope.cli.main", "collector", "--config",
         str(folder / "collector.yaml")],
        environ=clean_environment(),
    )  # fmt: skip
    until_ready(f"http://{address}/readyz")
    watched = psutil.Process(process.handle.pid)
    while _counted(address, _POLLS) < 2:  # discovery, and every series for the first time
        time.sleep(1.0)
    time.sleep(INTERVAL_SECONDS / 2)  # halfway to the next poll: whole ones are measured
    before, samples = cpu(watched), _counted(address, _SAMPLES)
    time.sleep(polls * INTERVAL_SECONDS)
    used, samples = cpu(watched) - before, _counted(address, _SAMPLES) - samples
    return {
        "polls": polls,
        "samples": samples,
        "cpu_seconds": round(used, 2),
        "cores": round(used / (polls * INTERVAL_SECONDS), 4),
        "rss_bytes": watched.memory_info().rss,
    }


def _counted(address: str, name: str) -> int:
    """Return what a counter of the collector shows, the sum of its series."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return sum(
        int(float(line.rpartition(" ")[2]))
        for line in text.splitlines()
        if line.startswith(name + "{")
    )


def _asked(store: str) -> dict[str, Any]:
    """Return what one poll costs here, the second of two."""
    settings = PrometheusSettings(url=store)
    asking = PrometheusClient(settings)
    reading = StoreReading(settings, asking)
    found: dict[str, Any] = {}
    for _ in range(2):
        end = time.time()
        began = time.thread_time()
        stretch = reading.read(end - 2 * INTERVAL_SECONDS, end)
        bodies = list(stretch.bodies())
        used = time.thread_time() - began
        found = {
            "samples": stretch.samples,
            "bytes_of_remote_write": sum(map(len, bodies)),
            "cpu_seconds": round(used, 3),
            "cores": round(used / INTERVAL_SECONDS, 4),
        }
    asking.close()
    return found
