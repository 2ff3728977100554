"""A soak of 100,000 cycles of the agent in minutes, to see whether its memory grows.

    python -m bench.node.soak --cycles 100000
    python -m bench.node.soak --worker --cycles 100000

One process with the agent's own parts (see `within`) before a node on which everything comes and
goes (see `churn`); five seconds pass in each cycle, so that 100,000 are almost six
days. With --worker: turns of the process that asks NVML, against the stub.
"""

import argparse
import gc
import json
import math
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankscope.agent.nvml import SUBJECTS
from rankscope.agent.settings import AgentSettings
from rankscope.lab.node.nvml import NvmlScenario

from . import trees
from .churn import PageConnection, PodChurn, host_files
from .kernel_log import KernelLogDouble
from .within import AgentWithin
from .worker_within import ToldClock, WorkerWithin, under_stub

_MODULE = "bench.node.soak"
_BEGIN = 1_763_700_000.0
_CONFIDENT = 1.96
NAMES = ("rss_kib", "anonymous_kib", "pss_kib", "blocks", "objects")
_WARM = 0.05


@dataclass
class MemoryReadings:
    """Readings of this process, by NAMES after the cycle.

    Resident memory moves in steps, as the allocator takes and keeps pages; blocks are what Python
    itself has allocated, and show a leak of a few bytes a cycle at once.
    """

    rows: list[tuple[float, ...]] = field(default_factory=list)

    def read(self, cycle: int) -> None:
        """Take one, after what nobody holds any more is let go."""
        gc.collect()
        said = {
            name: float(value.split()[0])
            for file in ("status", "smaps_rollup")
            for name, _, value in (
                line.partition(":") for line in Path("/proc/self", file).read_text().splitlines()
            )
            if name in ("VmRSS", "RssAnon", "Pss")
        }
        blocks = sys.getallocatedblocks()
        objects = len(gc.get_objects())
        self.rows.append((cycle, said["VmRSS"], said["RssAnon"], said["Pss"], blocks, objects))

    def summary(self) -> dict[str, Any]:
        """Return slopes in KiB (or blocks, objects) a 1,000 cycles, with 95 % intervals.

        Of the second half, too: by then what is bounded has come to its bound.
        """
        cycles = [row[0] / 1000 for row in self.rows]
        half = len(cycles) // 2
        valid: dict[str, Any] = {"readings": len(self.rows)}
        for place, name in enumerate(NAMES, 1):
            values = [row[place] for row in self.rows]
            valid[name] = {
                "first": round(values[0], 1),
                "last": round(values[-1], 1),
                "most": round(max(values), 1),
                "per_1000_cycles": slopes(cycles, values),
                "second_half": slopes(cycles[half:], values[half:]),
            }
        return valid


def slopes(xs: Sequence[float], ys: Sequence[float]) -> dict[str, list[float]]:
    """Return [slope, low, high] by least squares and by Theil and Sen.

    The first takes readings for independent of each other, which memory is not quite: its interval
    is rather too narrow. The second is deaf to single jumps.
    """
    middle_x, middle_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    slope = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    left = sum((y - middle_y - slope * (x - middle_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    error = math.sqrt(left / max(1, len(xs) - 2) / spread)
    pairs = sorted(
        (ys[b] - ys[a]) / (xs[b] - xs[a]) for a in range(len(xs)) for b in range(a + 1, len(xs))
    )
    # Kendall's variance of the number of rising pairs gives the ranks of the interval's ends.
    count = len(xs)
    reach = _CONFIDENT * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, int((len(pairs) - reach) / 2))
    high = min(len(pairs) - 1, int((len(pairs) + reach) / 2) + 1)
    return {
        "least_squares": _rounded(slope, slope - _CONFIDENT * error, slope + _CONFIDENT * error),
        "theil_sen": _rounded(statistics.median(pairs), pairs[low], pairs[high]),
    }


def _rounded(*values: float) -> list[float]:
    return [round(value, 3) for value in values]


def soak(
    cycle: Callable[[int], None], cycles: int, *, trace: bool = False, every: int = 500
) -> dict[str, Any]:
    """Run cycles and return what memory did after the first twentieth."""
    memory = MemoryReadings()
    every = max(1, min(every, cycles // 20))
    begun, cpu = time.monotonic(), time.process_time()
    before: tracemalloc.Snapshot | None = None
    for number in range(1, cycles + 1):
        cycle(number)
        if number >= _WARM * cycles and number % every == 0:
            if trace and before is None:
                tracemalloc.start(8)
                before = tracemalloc.take_snapshot()
            memory.read(number)
            print(f"cycle {number}: {memory.rows[-1][1:]}", file=sys.stderr, flush=True)
    if before is not None:
        _print_growth(before)
    return {
        "cycles": cycles,
        "seconds": round(time.monotonic() - begun, 1),
        "cpu_milliseconds_per_cycle": round(1000 * (time.process_time() - cpu) / cycles, 3),
        **memory.summary(),
    }


def _print_growth(before: tracemalloc.Snapshot) -> None:
    ours = (tracemalloc.Filter(False, tracemalloc.__file__),)
    after = tracemalloc.take_snapshot().filter_traces(ours)
    for row in after.compare_to(before.filter_traces(ours), "lineno")[:25]:
        print(row, file=sys.stderr)


def _agents(folder: Path, gpus: int, closing: ExitStack) -> tuple[Callable[[int], None], list[str]]:
    """Return a cycle of a whole agent, and the readers that take part."""
    clock = ToldClock(_BEGIN)
    scenario = NvmlScenario(folder / "driver", gpus=gpus, clock=clock.now)
    os.environ["RANKSCOPE_NVML_STUB"] = str(scenario.path)
    node = trees.build(folder / "node", gpus=gpus, network="ndr")
    host_files(node.files)
    log = KernelLogDouble(folder / "kmsg", uptime=lambda: clock.now() - _BEGIN + 1000.0)
    closing.callback(log.close)
    page = PageConnection()
    closing.callback(page.close)
    (folder / "state").mkdir()
    settings = AgentSettings.model_validate(
        {
            "kernel_log": {"path": log.path},
            "exporters": {"targets": [{"url": page.url}], "period_seconds": 50},
            "attribution": {"period_seconds": 15},
            "export": {"dcgm_names": "both"},
        }
    )
    agent = AgentWithin(
        node, clock, state=folder / "state", settings=settings, spool=folder / "spool"
    )
    agent.keep_told = False
    closing.callback(agent.close)
    churn = PodChurn(agent, node, log, page)
    churn.learn()
    churn.cycle(0)
    return churn.cycle, agent.running


def _workers(folder: Path) -> Callable[[int], None]:
    """Return a turn of the worker over one device, all subjects each time, processes changing."""
    clock = ToldClock(_BEGIN)
    scenario = NvmlScenario(folder / "driver", gpus=1, clock=clock.now)
    os.environ["RANKSCOPE_NVML_STUB"] = str(scenario.path)
    worker = WorkerWithin(
        subjects=list(SUBJECTS), period=5.0, receive=lambda _worker, _told: None, clock=clock
    )
    worker.begin()

    def cycle(number: int) -> None:
        clock.at += 5.0
        if number % 20 == 0:
            with scenario.together():
                scenario.set("global", "now", f"{clock.at:.3f}")
                scenario.set(0, "ecc_sbe", number // 100)
                scenario.processes(0, {10_000 + number: 1 << 30})
        worker.turn()

    return cycle


def main(argv: Sequence[str] | None = None) -> int:
    """Soak and print what grew."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("--cycles", type=int, default=100_000)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--worker", action="store_true", help="the process that asks NVML instead")
    parser.add_argument("--trace", action="store_true", help="say which lines hold more at the end")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args(arguments)
    under_stub(_MODULE, arguments)
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="rs-", dir=in_memory) as folder, ExitStack() as closing:
        valid: dict[str, Any] = {}
        if wanted.worker:
            cycle = _workers(Path(folder))
        else:
            cycle, valid["readers"] = _agents(Path(folder), wanted.gpus, closing)
            valid["gpus"] = wanted.gpus
        valid |= soak(cycle, wanted.cycles, trace=wanted.trace)
    if wanted.json:
        print(json.dumps(valid, indent=1))
        return 0
    print(f"{valid['cycles']} cycles in {valid['seconds']:.0f} s")
    for name in NAMES:
        row = valid[name]
        print(f"{name}: first {row['first']}, last {row['last']}, most {row['most']}")
        for part in ("per_1000_cycles", "second_half"):
            for how, (slope, low, high) in row[part].items():
                print(f"  {part:15} {how:14} {slope:+10.3f} [{low:+.3f}, {high:+.3f}]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
