"""Minutes of a healthy job: memory and CPU of agent and collector, and whether they grow.

`python -m bench.steady --minutes 10` runs the demo's parts without any fault and samples
the proportional memory (PSS) and CPU time of each part with all its children. The figures go to a
JSON file; nothing is asserted but that every part lives to the end.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from rankscope.lab.demo import hosts as places
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.processes import DemoProcess, DemoProcesses
from rankscope.lab.demo.stage import JOB, DemoStage, trainer_module

START_SECONDS = 120.0
SETTLE_SECONDS = 30.0
"""The first readings, loading and filling buffers, are left out of growth."""


@dataclass
class PartReadings:
    """What was read of one part: seconds since the start, PSS bytes, CPU seconds used so far."""

    part: DemoProcess
    readings: list[tuple[float, int, float]] = field(default_factory=list)

    def read(self, at: float) -> None:
        """Take one reading of the process and its children."""
        leader = psutil.Process(self.part.handle.pid)
        pss, cpu = 0, 0.0
        for process in (leader, *leader.children(recursive=True)):
            try:
                memory, times = process.memory_full_info(), process.cpu_times()
            except psutil.NoSuchProcess:
                continue  # a child that has just ended
            pss += memory.pss
            cpu += times.user + times.system
        self.readings.append((at, pss, cpu))

    def summary(self) -> dict[str, Any]:
        """Return MiB, cores, and the slope of memory over the settled part, in KiB a minute."""
        settled = [row for row in self.readings if row[0] >= SETTLE_SECONDS] or self.readings
        seconds = settled[-1][0] - settled[0][0]
        memory = [pss / 2**20 for _, pss, _ in settled]
        return {
            "pss_mib_median": round(statistics.median(memory), 2),
            "pss_mib_most": round(max(memory), 2),
            "pss_growth_kib_per_minute": round(_slope(settled) * 60 / 1024, 2),
            "cpu_cores": round((settled[-1][2] - settled[0][2]) / seconds, 4) if seconds else None,
        }


def _slope(readings: Sequence[tuple[float, int, float]]) -> float:
    """Return bytes a second.

    The median over pairs half the time range apart, deaf to single jumps.
    """
    half = len(readings) // 2
    pairs = zip(readings[:half], readings[-half:], strict=True)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs if b[0] > a[0]]
    return statistics.median(slopes) if slopes else 0.0


def main() -> int:
    """Run, watch, write; 1 when a part did not live to the end."""
    parser = argparse.ArgumentParser(prog="python -m bench.steady", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two readings")
    parser.add_argument("--trainer", choices=("auto", "torch", "numpy"), default="auto")
    parser.add_argument("--out", type=Path, help="default: bench-results/steady-<time>.json")
    wanted = parser.parse_args()
    hosts, division = places.divide(places.usable_cpus())
    with tempfile.TemporaryDirectory(prefix="rankscope-steady-") as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        with DemoProcesses(logs) as processes:
            stage = DemoStage(Path(folder), processes, hosts)
            client = DemoClient(stage.address)
            tracks = [PartReadings(stage.collector())]
            _wait(client.ready, "the collector", tracks[0].part)
            tracks += [PartReadings(stage.agent(host)) for host in hosts]
            stage.train(trainer_module(wanted.trainer))
            world = sum(len(host.ranks) for host in hosts)
            _wait(lambda: len(client.ranks(JOB)) == world, "the job", tracks[0].part)
            print(f"two hosts, {division}; {wanted.minutes} minutes begin", file=sys.stderr)
            lived = _watch(tracks, wanted.minutes * 60, wanted.every)
            incidents = [row["summary"] for row in client.incidents(JOB)]
            if not lived:
                for track in tracks:
                    print(track.part.log.read_text(errors="replace")[-2000:], file=sys.stderr)
    results = {
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "minutes": wanted.minutes,
        "lived": lived,
        "parts": {track.part.name: track.summary() for track in tracks if track.readings},
        "incidents": incidents,
    }
    out = wanted.out or Path("bench-results") / f"steady-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2)
    out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0 if lived else 1


def _wait(done: Callable[[], bool], what: str, part: DemoProcess) -> None:
    end = time.monotonic() + START_SECONDS
    while not done():
        if part.ended is not None or time.monotonic() > end:
            raise SystemExit(
                f"{what} did not start: {part.log.read_text(errors='replace')[-2000:]}"
            )
        time.sleep(0.2)


def _watch(tracks: Sequence[PartReadings], seconds: float, every: float) -> bool:
    """Read every part until the time is over; False when one of them ended."""
    begun = time.monotonic()
    while (at := time.monotonic() - begun) < seconds:
        if any(track.part.ended is not None for track in tracks):
            return False
        for track in tracks:
            track.read(at)
        time.sleep(every)
    return all(track.part.ended is None for track in tracks)


if __name__ == "__main__":
    sys.exit(main())
