"""The node agent before eight GPUs and their network: cost, scrapes, and time from fault to event.

A real agent process, all readers on, against the doubles of lab/node: a driver by the C stub, sysfs
as folders, the kernel log as a FIFO, and an OTLP endpoint here that notes when an event arrives.
"""

import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope.lab.demo.processes import DemoProcess, DemoProcesses
from rankscope.lab.demo.stage import free_port
from rankscope.lab.node.nvml import NvmlScenario, bus_address

from ..node import trees
from ..node.kernel_log import KernelLogDouble
from ..steady import PartReadings
from .listening import EventEndpoint

GPUS = 8
SETTLE_SECONDS = 20.0
SCRAPES = 200
REPEATS = 10
RARE_REPEATS = 3
"""Of what takes ten seconds or more."""


class BenchNode:
    """An agent's process and the hands on what it sees."""

    def __init__(self, folder: Path, processes: DemoProcesses, *, dcgm_names: str = "off") -> None:
        self.scenario = NvmlScenario(folder / "driver", gpus=GPUS)
        self.scenario.processes(0, {4242: 10 << 30})
        self.trees = trees.build(folder / "node", gpus=GPUS, network="ndr")
        self.kernel = KernelLogDouble(folder / "kmsg")
        self.endpoint = EventEndpoint()
        self.port = free_port()
        self.process: DemoProcess = processes.start(
            f"agent-{dcgm_names}",
            [sys.executable, "-m", "rankscope.cli.main", "agent"],
            environ={
                **self.scenario.environment(),
                "RANKSCOPE_EXPORT__LISTEN": f"127.0.0.1:{self.port}",
                "RANKSCOPE_EXPORT__DCGM_NAMES": dcgm_names,
                "RANKSCOPE_PUSH__ENDPOINT": self.endpoint.url,
                "RANKSCOPE_PROBE__SOCKET": str(folder / "probe.sock"),
                "RANKSCOPE_SPOOL__FOLDER": str(folder / "spool"),
                "RANKSCOPE_NODE__STATE": str(folder / "state"),
                "RANKSCOPE_NODE__SYS": str(self.trees.files.sys),
                "RANKSCOPE_NODE__DEV": str(self.trees.files.dev),
                "RANKSCOPE_KERNEL_LOG__PATH": str(self.kernel.path),
            },
        )

    def page(self) -> str:
        """Return what /metrics answers."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    def uuid(self, gpu: int) -> str:
        """Return a device's id."""
        return self.scenario.get(gpu, "uuid") or ""

    def close(self) -> None:
        """Let go of the endpoint and the log."""
        self.endpoint.close()
        self.kernel.close()


def measure(seconds: float) -> dict[str, Any]:
    """Return cost, scrapes and times to event; the cost is measured for `seconds`, 30 at least."""
    with _node() as node:
        cost = _cost(node, max(seconds, 30.0))
        page = node.page()
        result: dict[str, Any] = {
            "cost": cost,
            "series": _series(page),
            "scrape": _scrapes(node),
            "fault_to_event_seconds": _detection(node),
            "events_before_any_fault": cost.pop("events"),
        }
        node.scenario.hang_everything()
        time.sleep(8.0)
        result["scrape_while_every_driver_call_hangs"] = _scrapes(node)
        node.scenario.hang_everything(hung=False)
    with _node(dcgm_names="both") as node:
        time.sleep(SETTLE_SECONDS)
        result["series_with_dcgm_names"] = _series(node.page())
        result["scrape_with_dcgm_names"] = _scrapes(node)
    return result


@contextmanager
def _node(**more: Any) -> Generator[BenchNode]:
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        with DemoProcesses(logs) as processes:
            node = BenchNode(Path(folder), processes, **more)
            try:
                _until(lambda: node.endpoint.samples > 0, "the agent's first push", node)
                yield node
            finally:
                node.close()


def _cost(node: BenchNode, seconds: float) -> dict[str, Any]:
    """Return memory and CPU of the agent and its workers, scraped every 15 s as Prometheus does."""
    time.sleep(SETTLE_SECONDS)
    track = PartReadings(node.process)
    begun, scraped = time.monotonic(), 0.0
    while (at := time.monotonic() - begun) < seconds:
        track.read(at)
        if at - scraped >= 15.0:
            node.page()
            scraped = at
        time.sleep(1.0)
    track.read(time.monotonic() - begun)
    first, last = track.readings[0], track.readings[-1]
    memory = [pss / 2**20 for _, pss, _ in track.readings]
    return {
        "pss_mib_median": round(statistics.median(memory), 2),
        "pss_mib_most": round(max(memory), 2),
        "cpu_percent_of_a_core": round(100 * (last[2] - first[2]) / (last[0] - first[0]), 3),
        "seconds": round(last[0] - first[0], 1),
        "events": [f"{name} {pairs.get('code', '')}" for _, name, pairs in node.endpoint.events],
    }


def _series(page: str) -> dict[str, int]:
    lines = [line for line in page.splitlines() if line and not line.startswith("#")]
    own = sum(line.startswith("rankscope_agent_") for line in lines)
    dcgm = sum(line.startswith("DCGM_") for line in lines)
    return {"contract": len(lines) - own - dcgm, "dcgm": dcgm, "agents_own_health": own}


def _scrapes(node: BenchNode) -> dict[str, float]:
    """Return milliseconds of scrapes far enough apart that each is rendered anew."""
    took = []
    for _ in range(SCRAPES):
        begun = time.perf_counter()
        node.page()
        took.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.26)
    return _percentiles(took)


def _detection(node: BenchNode) -> dict[str, dict[str, float]]:
    scenario, network = node.scenario, node.trees.network
    found: dict[str, dict[str, float]] = {}
    found["kernel_log_xid"] = _times(
        node,
        lambda n: node.kernel.xid(bus_address(n % GPUS), 40 + n, "a made-up fault"),
        lambda n: ("gpu.fault", {"code": str(40 + n)}),
    )
    found["nvml_xid"] = _times(
        node,
        lambda n: scenario.xid(n % GPUS, 200 + n),
        lambda n: ("gpu.fault", {"code": str(200 + n)}),
    )
    found["link_down"] = _times(
        node,
        lambda n: network.down(node.trees.nics[n % len(node.trees.nics)]),
        lambda n: ("network.link", {"device": node.trees.nics[n % len(node.trees.nics)]}),
        repeats=len(node.trees.nics),
    )
    for gpu in range(GPUS):
        scenario.set(gpu, "ecc_dbe", 0)
    found["ecc_uncorrected"] = _times(
        node,
        lambda n: scenario.set(n, "ecc_dbe", 1),
        lambda n: ("gpu.fault", {"code": "ecc.uncorrectable", "hw.id": node.uuid(n)}),
        repeats=GPUS,
    )
    found["row_remap_pending"] = _times(
        node,
        lambda n: scenario.set(n, "remap_pending", 1),
        lambda n: ("gpu.fault", {"code": "row_remap.pending", "hw.id": node.uuid(n)}),
        repeats=GPUS,
    )
    found["sustained_slowdown"] = _times(
        node,
        lambda n: scenario.set(n, "throttle_reasons", 0x48),
        lambda n: ("gpu.fault", {"code": "slowdown.sustained", "hw.id": node.uuid(n)}),
        repeats=RARE_REPEATS,
    )
    found["hung_driver_call"] = _times(
        node,
        scenario.hang,
        lambda n: ("gpu.fault", {"code": "nvml.hung", "hw.id": node.uuid(n)}),
        repeats=RARE_REPEATS,
        after=scenario.recover,
    )
    found["lost_gpu"] = _times(
        node,
        scenario.lose,
        lambda n: ("gpu.fault", {"code": "nvml.lost", "hw.id": node.uuid(n)}),
        repeats=GPUS,
        after=scenario.recover,
    )
    return found


def _times(
    node: BenchNode,
    inflict: Callable[[int], object],
    expected: Callable[[int], tuple[str, Mapping[str, str]]],
    *,
    repeats: int = REPEATS,
    after: Callable[[int], object] | None = None,
) -> dict[str, float]:
    """Return seconds from a fault's beginning to its event at the endpoint, over the repeats."""
    took = []
    for number in range(repeats):
        name, pairs = expected(number)
        begun = time.time()
        inflict(number)
        _until(
            lambda begun=begun, name=name, pairs=pairs: (
                node.endpoint.first(  # type: ignore[misc]
                    name, pairs, since=begun
                )
                is not None
            ),
            f"{name} {pairs}",
            node,
        )
        took.append((node.endpoint.first(name, pairs, since=begun) or begun) - begun)
        if after:
            after(number)
        time.sleep(0.37)  # not in step with the agent's own seconds
    return _percentiles(took)


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 3),
        "p99": round(ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))], 3),
        "most": round(ordered[-1], 3),
        "count": len(ordered),
    }


def _until(done: Callable[[], bool], what: str, node: BenchNode, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        if node.process.ended is not None or time.monotonic() > end:
            log = node.process.log.read_text(errors="replace")[-3000:]
            raise SystemExit(f"{what} never came; the agent says:\n{log}")
        time.sleep(0.002)
