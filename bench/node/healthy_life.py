"""What a healthy node does all day: jobs come and go, and nothing of it is a fault.

Everything here looks like one to somebody who evaluates too fast: an idle link of generation 1,
clocks held down by the power cap, heat for seconds, corrected errors, margins that nobody measures,
a kernel log that mentions XIDs, network counters that grow, a driver that answers late.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankscope.lab.node import nvml

from . import trees
from .churn import host_files
from .kernel_log import INFO, WARNING, KernelLogDouble
from .trees import Network
from .within import AgentWithin
from .worker_within import ToldClock

BEGIN = 1_763_683_200.0  # midnight
"""Seconds since the epoch at which days begin."""
NETWORKS: dict[str, Network] = {
    "H100": "ndr",
    "A100": "hdr",
    "T4": "ethernet",
    "L40S": "roce",
    "B200": "none",
}
"""Kinds of GPUs, and the network that each is tried with."""
_STEP = 60.0
_CLOSELY = 20
_MOMENT_SECONDS = 1500.0
_READ_SECONDS = 20.0

_CHATTER = (
    "usb 1-1: new high-speed USB device number 3 using xhci_hcd",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build",
    "nvidia 0000:1b:00.0: enabling device (0140 -> 0142)",
    "nvidia-uvm: Loaded the UVM driver, major device number 508.",
    "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  570.133.20",
    "mlx5_core 0000:18:00.0: firmware version: 28.39.3560",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:18:00.0: E-Switch: Total vports 1, per vport: max uc(128) max mc(2048)",
    "mlx5_core 0000:18:00.0 ens1np0: Link up",
    "systemd[1]: Started xid-watch.service - looks for Xid 79 and other Xid errors.",
    'audit: type=1400 comm="grep" name="NVRM: Xid (PCI:0000:1b:00): 79" requested_mask="r"',
    "python3[4242]: note: no OOM so far, Xid count 0, SXid count 0",
    "oom_reaper: statistics: 0 processes reaped",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode",
    "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate",
    "TCP: request_sock_TCP: Possible SYN flooding on port 29500. Sending cookies.",
    "cgroup: fork rejected by pids controller in /user.slice",
    "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us 4 times",
    "pcieport 0000:15:01.0: AER: Corrected error message received from 0000:1b:00.0",
)
_QUIET_COUNTERS = (
    "port_xmit_wait",
    "port_rcv_switch_relay_errors",
    "port_rcv_remote_physical_errors",
    "multicast_rcv_packets",
    "np_cnp_sent",
    "rp_cnp_handled",
    "np_ecn_marked_roce_packets",
    "duplicate_request",
    "rx_read_requests",
    "rx_write_requests",
)


@dataclass(frozen=True, slots=True)
class HarmlessEvent:
    """Something harmless that happens for some seconds; `after` ends it."""

    name: str
    seconds: int
    begin: Callable[[], object]
    after: Callable[[], object]


class NodeDay:
    """A node and its agent through a day. `step` lets time pass; `day` does what days do."""

    def __init__(self, folder: Path, *, profile: str, network: Network, gpus: int = 2) -> None:
        self.clock = ToldClock(BEGIN)
        self.profile = profile
        self.gpus = gpus
        self.scenario = nvml.NvmlScenario(
            folder / "driver", profile=profile, gpus=gpus, busy=False, clock=self.clock.now
        )
        self.trees = trees.build(folder / "node", profile=profile, gpus=gpus, network=network)
        self.log = KernelLogDouble(folder / "kmsg", uptime=lambda: self.clock.now() - BEGIN + 30.0)
        host_files(self.trees.files)
        self.network = network
        self.restarts = 0
        self._state = folder / "state"
        self._state.mkdir()
        self._lines = 0
        self._random = random.Random(profile)
        self._forms = {busy: nvml.load_profile(profile, busy=busy) for busy in (True, False)}
        self._pid = 5000
        self._busy = False
        self.agent = self._agent()

    @property
    def uuids(self) -> Sequence[str]:
        """Return the GPUs' ids."""
        return [self.scenario.get(gpu, "uuid") or "" for gpu in range(self.gpus)]

    def step(self, seconds: float = 1.0) -> None:
        """Let time pass, and the agent look once."""
        self.clock.at += seconds
        self.scenario.set("global", "now", f"{self.clock.at:.3f}")
        if self.agent.worker is not None:
            self.agent.worker.turn()
        self.agent.cycle()
        self._read_log()
        self.agent.settle()

    def closely(self, seconds: int = _CLOSELY) -> None:
        """Let seconds pass one by one, as the agent lives them."""
        for _ in range(seconds):
            self.step()

    def write(self, text: str, *, level: int = INFO) -> None:
        """Log a line."""
        self.log.write(text, level=level)

    def restart(self) -> None:
        """End the agent and start another on the same state."""
        self._read_log()
        self.agent.settle()
        valid = self.agent.reported
        self.agent.close()
        self._lines = self.log.sequence - 1
        self.restarts += 1
        self.agent = self._agent()
        self.agent.reported[:0] = valid

    def day(self, hours: float) -> None:
        """Live so many hours: a job of two hours and a half every three, and oddities between."""
        end = self.clock.at + hours * 3600
        oddities = self._oddities()
        restart_at = self.clock.at + hours * 1800
        moment_at = self.clock.at + 120.0
        while self.clock.at < end:
            self._work(busy=(self.clock.at - BEGIN) % 10_800 < 9_000)
            if self.clock.at >= restart_at:
                restart_at = end + 1
                self.restart()
                self.closely()
            if self.clock.at >= moment_at:
                moment_at = self.clock.at + _MOMENT_SECONDS
                self._moment(next(oddities))
            self._counters()
            self.step(_STEP)

    def close(self) -> None:
        self.agent.close()
        self.log.close()

    def _agent(self) -> AgentWithin:
        from rankscope.agent.settings import AgentSettings  # noqa: PLC0415  after the stub is found

        settings = AgentSettings.model_validate({"kernel_log": {"path": self.log.path}})
        return AgentWithin(self.trees, self.clock, state=self._state, settings=settings)

    def _read_log(self) -> None:
        """Wait until the log's thread has read what was written."""
        until = time.monotonic() + _READ_SECONDS
        while self._read() < self.log.sequence - 1:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"the agent read {self._read()} of {self.log.sequence - 1} lines of the log"
                )
            time.sleep(0.001)

    def _read(self) -> float:
        return self._lines + self.agent.health.counted("kernel_log_lines")

    def _work(self, *, busy: bool) -> None:
        if busy == self._busy:
            return
        self._busy = busy
        fresh, other = self._forms[busy], self._forms[True]
        self._pid += 1
        with self.scenario.together():
            for key, value in fresh.items():
                if "+" not in str(other.get(key, "")):  # counters do not stop with a job
                    self.scenario.set("all", key, value)
            for gpu in range(self.gpus):
                self.scenario.set(gpu, "power_mw", fresh["power_mw"])
                self.scenario.processes(gpu, {self._pid + gpu: 40 << 30} if busy else {})
        for address in self.trees.gpus:
            most = trees.GENERATION[self.profile]
            self.trees.pci.train(address, generation=most if busy else 1)
        self.closely(5)

    def _moment(self, oddity: HarmlessEvent) -> None:
        for _ in range(3):
            self.write(self._random.choice(_CHATTER), level=self._random.choice((INFO, WARNING)))
        oddity.begin()
        self.closely(oddity.seconds)
        oddity.after()
        self.closely(max(3, _CLOSELY - oddity.seconds))

    def _oddities(self) -> Iterator[HarmlessEvent]:
        calm = 0x4 if self._busy else 0x1
        while True:
            yield self._reasons("sync boost", 0x10, 15)
            yield self._reasons("application clocks", 0x2, 15)
            yield self._reasons("at the power cap", 0x4, 15)
            yield self._reasons("heat for seconds", 0x48, 6)
            yield self._reasons("a power brake for a moment", 0x88, 3)
            yield self._reasons("software keeps it cool", 0x20, 15)
            yield HarmlessEvent(
                "a driver that answers late",
                2,
                lambda: self.scenario.set("all", "slow_ms", 1),
                lambda: self.scenario.set("all", "slow_ms", 0),
            )
            yield HarmlessEvent("corrected errors", 3, self._corrected, lambda: self._hot(calm))
            yield HarmlessEvent(
                "margins and violations not supported",
                12,
                lambda: self.scenario.unsupported(
                    "all", "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetViolationStatus"
                ),
                lambda: self.scenario.unset("all", "not_supported"),
            )
            yield HarmlessEvent("corrected PCIe errors", 3, self._pcie, lambda: None)

    def _reasons(self, name: str, mask: int, seconds: int) -> HarmlessEvent:
        """Hold the clocks down for so long, then as before."""
        return HarmlessEvent(
            name,
            seconds,
            lambda: self._hot(mask),
            lambda: self._hot(int(str(self._forms[self._busy]["throttle_reasons"]), 0)),
        )

    def _hot(self, mask: int) -> None:
        self.scenario.set("all", "throttle_reasons", mask)

    def _corrected(self) -> None:
        for key in ("ecc_sbe", "ecc_sbe_aggregate"):
            self.scenario.set(0, key, int(self.scenario.now(0, key)) + self._random.randint(1, 9))

    def _pcie(self) -> None:
        self.trees.pci.count_errors(self.trees.gpus[0], "correctable", "BadTLP", 2)
        self.scenario.set(0, "pcie_replays", int(self.scenario.now(0, "pcie_replays")) + 2)

    def _counters(self) -> None:
        network = self.trees.network
        for nic in self.trees.nics:
            size = self._random.randint(1, 9) << 30 if self._busy else 4096
            if self.network == "ethernet":
                network.traffic(nic, size, size)
                continue
            network.carry(nic, size, size)
            for counter in self._random.sample(_QUIET_COUNTERS, 3):
                network.count(nic, counter, self._random.randint(1, 5000))
        if self.trees.nics and self.network != "ethernet" and self._random.random() < 0.02:
            network.count(self.trees.nics[0], "symbol_error", 1)
