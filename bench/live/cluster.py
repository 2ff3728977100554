"""Starts the live cluster: a collector, an agent a node, and the ranks of one job."""

import dataclasses
import json
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.lab.node.nvml import NvmlScenario, gpu_uuid

from ..node import trees
from ..node.kernel_log import KernelLogDouble
from .ranks import JOB, LiveOrders, host_names

CLUSTER = "lab"
GPUS = 8
HOT_HOST, HOT_PLACE = 1, 5
_CARRY_SECONDS = 1.0
_PORT_BYTES = 50e9
"""A second, of an NDR port."""
_UNREADABLE = (
    b'{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "system.shm.usage",'
    b' "histogram": {"dataPoints": [{"count": "1", "timeUnixNano": "1"}]}}]}]}]}'
)
"""A histogram where there should be a number: accepted, and left out."""
_THERMAL = 0x48
"""Hardware slowdown by heat, in NVML's bits of reasons."""


class LiveNode:
    """One node: the driver's double, its folders, its kernel log, and the agent's port."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.port = free_port()
        self.socket = folder / "probe.sock"
        self.devices = [gpu_uuid(gpu, name) for gpu in range(GPUS)]
        self.driver = NvmlScenario(folder / "driver", gpus=GPUS, host=name)
        self.trees = trees.build(folder / "node", gpus=GPUS, network="ndr")
        self.kernel = KernelLogDouble(folder / "kmsg")

    def environment(self, collector: str, period: float) -> dict[str, str]:
        """Return the variables under which this node's agent runs."""
        return {
            **clean_environment(),
            **self.driver.environment(),
            "RANKSCOPE_EXPORT__LISTEN": f"127.0.0.1:{self.port}",
            "RANKSCOPE_EXPORT__GROUPS": "true",
            "RANKSCOPE_PUSH__ENDPOINT": collector,
            "RANKSCOPE_PROBE__SOCKET": str(self.socket),
            "RANKSCOPE_SPOOL__FOLDER": str(self.folder / "spool"),
            "RANKSCOPE_NODE__STATE": str(self.folder / "state"),
            "RANKSCOPE_NODE__HOST": self.name,
            "RANKSCOPE_NODE__CLUSTER": CLUSTER,
            "RANKSCOPE_NODE__SYS": str(self.trees.files.sys),
            "RANKSCOPE_NODE__DEV": str(self.trees.files.dev),
            "RANKSCOPE_KERNEL_LOG__PATH": str(self.kernel.path),
            "RANKSCOPE_READERS__PERIOD_SECONDS": str(period),
        }


class LiveCluster:
    """Two nodes of eight GPUs, a job of sixteen ranks, and from `onset` on a device that is hot.

    `job`, `hot` (host name, GPU index) and `targets` (job of Prometheus -> addresses to scrape).
    """

    def __init__(
        self, folder: Path, processes: DemoProcesses, *, onset: float, period: float = 2.0
    ) -> None:
        self.job = JOB
        self._processes = processes
        self._onset = onset
        self._period = period
        self.address = f"http://127.0.0.1:{free_port()}"
        self._data = folder / "collector"
        self.nodes = [LiveNode(name, folder / name) for name in host_names(2)]
        self.hot = (self.nodes[HOT_HOST].name, HOT_PLACE)
        self.client = DemoClient(self.address)
        self.begun_at = 0.0
        self._closing = threading.Event()
        self._carrying = threading.Thread(target=self.carry, name="traffic", daemon=True)
        self.targets = {
            "rankscope-agent": [f"127.0.0.1:{node.port}" for node in self.nodes],
            "rankscope-collector": [self.address.removeprefix("http://")],
        }

    def start(self, *, seconds: float, step_seconds: float = 1.0) -> None:
        """Start everything; the job runs for `seconds`. TimeoutError when a part does not come."""
        program = [sys.executable, "-m", "rankscope.cli.main"]
        environ = {
            **clean_environment(),
            "RANKSCOPE_DATA_DIR": str(self._data),
            "RANKSCOPE_HTTP__LISTEN": self.address.removeprefix("http://"),
        }
        self._processes.start("collector", [*program, "collector"], environ=environ)
        for node in self.nodes:
            self._processes.start(
                node.name,
                [*program, "agent"],
                environ=node.environment(self.address, self._period),
            )
        self._until(lambda: all(node.socket.exists() for node in self.nodes), "sockets of agents")
        self._until(self.client.ready, "the collector")
        self.begun_at = time.time() + 1.0
        orders = LiveOrders(
            sockets=[str(node.socket) for node in self.nodes],
            devices=[node.devices for node in self.nodes],
            at=self.begun_at,
            seconds=seconds,
            onset=self._onset,
            host=HOT_HOST,
            place=HOT_PLACE,
            step_seconds=step_seconds,
        )
        self._carrying.start()
        words = [sys.executable, "-m", "bench.live.ranks"]
        self._processes.start(
            "ranks", [*words, json.dumps(dataclasses.asdict(orders))], environ=clean_environment()
        )

    def carry(self) -> None:
        """Let the ports of every node carry what a job sends, and count, until `close`."""
        while not self._closing.wait(_CARRY_SECONDS):
            share = 0.35 + 0.1 * math.sin(time.time() / 20.0)
            for number, node in enumerate(self.nodes):
                for rail, device in enumerate(node.trees.nics):
                    octets = int(_PORT_BYTES * _CARRY_SECONDS * share * (1 + 0.02 * rail))
                    node.trees.network.carry(device, octets, octets)
                    node.trees.network.count(device, "port_xmit_wait", 40 * (rail + 1))
                if number == 0:
                    node.trees.network.count(node.trees.nics[2], "symbol_error", 3)

    def break_things(self) -> None:
        """Bring about what is rare: a port and a link down, an error of memory, a lost device.

        And what a collector refuses: a payload that is none, and one of a metric it cannot read.
        """
        first, second = self.nodes
        first.trees.network.down(first.trees.nics[3])
        with second.driver.together():
            second.driver.ramp(2, "ecc_dbe", 0.5)
            second.driver.set(3, "nvlink_state", 0)
            second.driver.ramp(4, "nvlink_crc_flit", 5.0)
            second.driver.set(4, "pcie_width", 8)
            second.driver.ramp(4, "pcie_replays", 2.0)
        first.driver.lose(7)
        self.client.send("/v1/metrics", b"{", "application/json")
        self.client.send("/v1/metrics", _UNREADABLE, "application/json")

    def heat(self) -> None:
        """Wait for the onset and let the driver report what the simulator has the rank suffer."""
        time.sleep(max(0.0, self.begun_at + self._onset - time.time()))
        driver = self.nodes[HOT_HOST].driver
        with driver.together():
            driver.set(HOT_PLACE, "temperature_c", 91)
            driver.set(HOT_PLACE, "throttle_reasons", _THERMAL)
            driver.set(HOT_PLACE, "clock_sm_mhz", 1090)
            driver.set(HOT_PLACE, "power_mw", 402_000)

    def close(self) -> None:
        """Stop the traffic, let go of the kernel logs."""
        self._closing.set()
        if self._carrying.is_alive():
            self._carrying.join()
        for node in self.nodes:
            node.kernel.close()

    def _until(self, question: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 60.0
        while not question():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not come within 60 s")
            time.sleep(0.1)
