"""A collector or an agent, watched from outside: memory, CPU, lag, whether it answers."""

import contextlib
import os
import re
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from rankscope.lab.demo.processes import DemoProcess, DemoProcesses

LAG = re.compile(r"^rankscope_collector_evaluation_lag_seconds ([0-9.e+-]+)$", re.MULTILINE)
_ANSWER_SECONDS = 30.0
_START_SECONDS = 60.0
_END_SECONDS = 60.0
MIB = 2**20


@dataclass
class ProgramReadings:
    """What was read of a program, each with its time (s since the epoch)."""

    memory: list[tuple[float, int]] = field(default_factory=list)
    cpu: list[tuple[float, float]] = field(default_factory=list)
    answers: list[tuple[float, float]] = field(default_factory=list)
    """Seconds until its page was there."""
    lag: list[tuple[float, float]] = field(default_factory=list)

    def between(self, start: float, end: float) -> dict[str, Any]:
        """Return the most of a phase, and the CPU time that it took."""
        cpu = _within(self.cpu, start, end)
        return {
            "mib": round(max(_within(self.memory, start, end), default=0) / MIB, 1),
            "cpu_seconds": round(cpu[-1] - cpu[0], 2) if cpu else None,
            "answer_seconds": round(max(_within(self.answers, start, end), default=0.0), 2),
            "lag_seconds": round(max(_within(self.lag, start, end), default=0.0), 1),
        }


def _within(rows: Sequence[tuple[float, Any]], start: float, end: float) -> list[Any]:
    return [value for at, value in rows if start <= at < end]


class WatchedProgram:
    """A program of this project that has a page over HTTP, and can be started again."""

    def __init__(
        self, name: str, command: Sequence[str], processes: DemoProcesses, *, path: str
    ) -> None:
        self.readings = ProgramReadings()
        self.address = ""
        """HOST:PORT of its page, once somebody set it."""
        self._name, self._command, self._processes, self._path = name, command, processes, path
        self._process: DemoProcess | None = None
        self._starts = 0
        self._ending = threading.Event()
        self._watching: list[threading.Thread] = []

    def start(self) -> Path:
        """Start it; return the file of its output."""
        self._starts += 1
        self._process = self._processes.start(
            f"{self._name}-{self._starts}", self._command, environ=os.environ
        )
        return self._process.log

    def until(self, done: Callable[[], Any]) -> None:
        """Wait for it to have started. Raises SystemExit with its last lines where it does not."""
        end = time.monotonic() + _START_SECONDS
        while not done():
            process = self._process
            if process is None or process.ended is not None or time.monotonic() > end:
                said = process.log.read_text("utf-8", "replace")[-2000:] if process else ""
                raise SystemExit(f"{self._name} did not start: {said}")
            time.sleep(0.05)

    def watch(self) -> None:
        """Begin to take readings, until `rest`."""
        self._ending.clear()
        self._watching = [
            threading.Thread(target=one, daemon=True) for one in (self._usage, self._pages)
        ]
        for thread in self._watching:
            thread.start()

    def rest(self) -> None:
        """Take no more readings."""
        self._ending.set()

    def mib(self) -> float:
        """Return the memory of it and of what it started: PSS, so that nothing counts twice."""
        return round(self._memory() / MIB, 1)

    def stop(self) -> float:
        """End it; return the seconds that its end took."""
        self.rest()
        assert self._process is not None  # noqa: S101  it was started
        began = time.monotonic()
        self._process.handle.terminate()
        try:
            self._process.handle.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._processes.stop(self._process, grace_seconds=0.0)
        return round(time.monotonic() - began, 1)

    def page(self, path: str, headers: dict[str, str] | None = None) -> str | None:
        """Return what it answers, None where it does not in time or refuses."""
        asked = urllib.request.Request(f"http://{self.address}{path}", headers=headers or {})
        try:
            with urllib.request.urlopen(asked, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310
                return str(answer.read().decode("utf-8", "replace"))
        except OSError:
            return None

    def lag(self) -> float:
        """Return how far its evaluation is behind; what does not answer is, by so long at least."""
        found = LAG.search(self.page("/metrics") or "")
        return float(found[1]) if found else _ANSWER_SECONDS

    def _all(self) -> list[psutil.Process]:
        assert self._process is not None  # noqa: S101  it was started
        leader = psutil.Process(self._process.handle.pid)
        return [leader, *leader.children(recursive=True)]

    def _memory(self) -> int:
        held = 0
        with contextlib.suppress(psutil.Error):
            for one in self._all():
                with contextlib.suppress(psutil.Error):
                    held += one.memory_full_info().pss
        return held

    def _usage(self) -> None:
        while not self._ending.wait(0.25):
            with contextlib.suppress(psutil.Error):
                times = [one.cpu_times() for one in self._all()]
                at, held = time.time(), self._memory()
                self.readings.cpu.append((at, sum(one.user + one.system for one in times)))
                self.readings.memory.append((at, held))

    def _pages(self) -> None:
        while not self._ending.wait(1.0):
            asked = time.time()
            text = self.page(self._path)
            self.readings.answers.append((asked, time.time() - asked))
            if text and (found := LAG.search(text)):
                self.readings.lag.append((asked, float(found[1])))
