"""A collector under attack, watched from outside: memory, CPU, lag, pages, honest answers."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from rankscope.lab.demo.processes import DemoProcess, DemoProcesses

from . import payloads
from .attacks import HostileAttack

_LAG = re.compile(r"^rankscope_collector_evaluation_lag_seconds ([0-9.e+-]+)$", re.MULTILINE)
_LISTENS = re.compile(r"listens on http://(\S+?)/?$", re.MULTILINE)
_ANSWER_SECONDS = 120.0
_START_SECONDS = 60.0
_CAUGHT_UP_SECONDS = 3.0
"""Evaluation that is behind by less keeps up."""


@dataclass
class CollectorReadings:
    """What was read of a collector, each with its time (s since the epoch)."""

    memory: list[tuple[float, int]] = field(default_factory=list)
    cpu: list[tuple[float, float]] = field(default_factory=list)
    pages: list[tuple[float, str, float]] = field(default_factory=list)
    """Path, seconds until it was there."""
    lag: list[tuple[float, float]] = field(default_factory=list)

    def between(self, start: float, end: float) -> dict[str, Any]:
        """Return the sum of a phase."""
        memory = [held for at, held in self.memory if start <= at < end]
        cpu = [used for at, used in self.cpu if start <= at < end]
        lag = [behind for at, behind in self.lag if start <= at < end]
        return {
            "rss_mib": round(max(memory, default=0) / 2**20),
            "cpu_seconds": round(cpu[-1] - cpu[0], 2) if cpu else None,
            "lag_most_seconds": round(max(lag, default=0.0), 1),
            "page_most_seconds": {
                path: round(max(rows), 2)
                for path in ("/metrics", "/api/v1/jobs")
                if (rows := [took for at, one, took in self.pages
                             if one == path and start <= at < end])
            },
        }  # fmt: skip


class WatchedCollector:
    """A collector in a folder of its own, started from a program of any build."""

    def __init__(self, program: Sequence[str], folder: Path, processes: DemoProcesses) -> None:
        self.readings = CollectorReadings()
        self._program, self._folder, self._processes = program, folder, processes
        self._settings = folder / "collector.yaml"
        self._settings.write_text(
            json.dumps({"data_dir": str(folder / "data"), "http": {"listen": "127.0.0.1:0"}})
        )
        self._starts = 0
        self._ending = threading.Event()
        self._watching: list[threading.Thread] = []
        self._process: DemoProcess | None = None
        self.address = ""

    def start(self) -> float:
        """Start it; return the seconds until evaluation keeps up."""
        began = time.monotonic()
        self._starts += 1
        self._process = self._processes.start(
            f"collector-{self._starts}",
            [*self._program, "--config", str(self._settings)],
            environ=os.environ,
        )
        log = self._process.log
        self._until(lambda: _LISTENS.search(log.read_text("utf-8", "replace")) is not None, log)
        found = _LISTENS.search(log.read_text("utf-8", "replace"))
        assert found is not None  # noqa: S101  it was waited for
        self.address = found[1]
        time.sleep(1.0)
        while (behind := self._lag_now()) is None or behind > _CAUGHT_UP_SECONDS:
            if time.monotonic() - began > _ANSWER_SECONDS:
                break
            time.sleep(0.2)
        return time.monotonic() - began

    def watch(self) -> None:
        """Begin to take readings, until `stop`."""
        self._ending.clear()
        self._watching = [
            threading.Thread(target=one, daemon=True) for one in (self._usage, self._pages)
        ]
        for thread in self._watching:
            thread.start()

    def stop(self) -> float:
        """End readings and process; return the seconds that its end took."""
        self._ending.set()
        assert self._process is not None  # noqa: S101  it was started
        began = time.monotonic()
        self._process.handle.terminate()
        try:
            self._process.handle.wait(_ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.handle.kill()
            self._process.handle.wait()
        return time.monotonic() - began

    def kept_bytes(self, name: str) -> int:
        """Return the size of what it keeps under this name in its data folder."""
        place = self._folder / "data" / name
        files = [place] if place.is_file() else place.rglob("*")
        return sum(one.stat().st_size for one in files if one.is_file())

    def _until(self, done: Any, log: Path) -> None:
        end = time.monotonic() + _START_SECONDS
        while not done():
            if time.monotonic() > end:
                raise SystemExit(f"the collector did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)

    def _usage(self) -> None:
        assert self._process is not None  # noqa: S101  it was started
        process = psutil.Process(self._process.handle.pid)
        with contextlib.suppress(psutil.Error):
            while not self._ending.wait(0.2):
                times, at = process.cpu_times(), time.time()
                self.readings.cpu.append((at, times.user + times.system))
                self.readings.memory.append((at, process.memory_info().rss))

    def _pages(self) -> None:
        while not self._ending.wait(1.0):
            for path in ("/metrics", "/api/v1/jobs"):
                asked = time.time()
                text = self._page(path)  # None: it ended before it answered
                self.readings.pages.append((asked, path, time.time() - asked))
                if text and (found := _LAG.search(text)):
                    self.readings.lag.append((asked, float(found[1])))

    def _lag_now(self) -> float | None:
        found = _LAG.search(self._page("/metrics") or "")
        return float(found[1]) if found else None

    def _page(self, path: str) -> str | None:
        try:
            address = f"http://{self.address}{path}"
            with urllib.request.urlopen(address, timeout=_ANSWER_SECONDS) as answer:
                return str(answer.read().decode("utf-8", "replace"))
        except OSError:
            return None


def attacked(
    attack: HostileAttack | None, program: Sequence[str], folder: Path, *, seconds: float
) -> dict[str, Any]:
    """Return what an attack of so many seconds did to a collector and to its honest sender.

    As long as half of it honest senders are alone before it, and again after it. None: no attack.
    """
    answers = folder / "honest.txt"
    with DemoProcesses(folder) as processes:
        collector = WatchedCollector(program, folder, processes)
        collector.start()
        collector.watch()
        honest = [sys.executable, "-m", "bench.hostile.honest", collector.address, str(answers)]
        processes.start("honest", honest, environ=os.environ)
        time.sleep(2.0)
        marks = [time.time()]
        time.sleep(seconds / 2)
        marks.append(time.time())
        sent = _send(attack, collector.address, seconds)
        time.sleep(max(0.0, marks[-1] + seconds - time.time()))
        marks.append(time.time())
        time.sleep(seconds / 2)
        marks.append(time.time())
        ended = collector.stop()
        rows = _answers(answers)
        found: dict[str, Any] = {
            "attack": "none" if attack is None else attack.name,
            "sent": sent,
            **{
                phase: {**collector.readings.between(start, end), **_honest(rows, start, end)}
                for phase, start, end in zip(
                    ("before", "during", "after"), marks[:-1], marks[1:], strict=True
                )
            },
            "stop_seconds": round(ended, 1),
            "snapshot_mib": round(collector.kept_bytes("snapshot") / 2**20, 1),
            "journal_mib": round(collector.kept_bytes("journal") / 2**20, 1),
        }
        found["restart_seconds"] = round(collector.start(), 1)
        collector.stop()
    return found


def _send(attack: HostileAttack | None, address: str, seconds: float) -> dict[str, int]:
    """Send for so many seconds; return bytes, and answers by status."""
    sent: dict[str, int] = {"bytes": 0}
    end, number = time.time() + seconds, 0
    while attack is not None and time.time() < end:
        due = time.time() + attack.every_seconds
        path, body = payloads.payload(attack.sends, number, dict(attack.arguments))
        request = urllib.request.Request(
            f"http://{address}{path}", body, {"content-type": "application/x-protobuf"}
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310
                status = str(answer.status) + (" partly" if answer.read() else "")
        except OSError as error:
            status = str(getattr(error, "code", type(error).__name__))
        sent["bytes"] += len(body)
        sent[status] = sent.get(status, 0) + 1
        number += 1
        if attack.payloads and number >= attack.payloads:
            break
        time.sleep(max(0.0, min(due, end) - time.time()))
    return sent


def _answers(file: Path) -> list[tuple[float, float, int]]:
    rows = [line.split() for line in file.read_text("utf-8").splitlines()]
    return [(float(row[0]), float(row[1]), int(row[2])) for row in rows if len(row) == 3]


def _honest(rows: list[tuple[float, float, int]], start: float, end: float) -> dict[str, Any]:
    mine = [row for row in rows if start <= row[0] < end]
    took = [seconds for _, seconds, _ in mine]
    return {
        "honest_requests": len(mine),
        "honest_p99_ms": round(1e3 * float(np.quantile(took, 0.99)), 1) if took else None,
        "honest_most_ms": round(1e3 * max(took), 1) if took else None,
        "honest_refused": sum(status != 200 for _, _, status in mine),
    }
