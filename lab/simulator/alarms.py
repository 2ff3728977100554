"""What the agents of the hosts conclude at once, as events: devices, ports, logs, restarts.

The conclusions are those of the real agent: its own code looks at the simulated readings, second
by second, from where a fault begins.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ...agent.device_faults.tracker import FaultTracker
from ...agent.nvml.conditions import DeviceConditions as NvmlConditions
from ...agent.nvml.device_readings import HUNG_SECONDS
from ...agent.readers.network.crossings import ThresholdCrossings
from ...agent.readers.network.flapping import LinkFlaps
from ...agent.readers.network.inventory import NetworkPort
from ...vocabulary.device_faults import thresholds
from ...vocabulary.samples import Event, Scalar, attributes
from .conditions import ClusterConditions
from .events import TimedEvent
from .fabric import device_name
from .faults.records import FaultRecord
from .placement import device_id, device_index
from .series import SimulatedSeries, exporters
from .series.resources import of_node
from .site import SimulatedSite

_CRITICAL = frozenset({48, 62, 63, 64, 74, 79, 94, 95, 119, 120})
"""XIDs that NVML reports by itself, without the kernel's log."""
_ASCEND = {"48": "ascend.80e18402", "95": "ascend.80e18402", "79": "ascend.8c1fa006"}
"""Codes of Ascend for what has a public one; other vendors publish none."""
_HARMLESS = (
    ("pcie.aer_corrected", "confirmation", "AER: Corrected error received from 0000:3b:00.0"),
    ("cpu.thermal_throttle", "confirmation", "CPU12: Core temperature above threshold"),
    ("peermem.invalid_context", "cascade", "nvidia-peermem: detected invalid context"),
)


class HostAlarms:
    """Collects the events of the hosts, and the states of devices that follow from them."""

    def __init__(
        self, site: SimulatedSite, *, onset: float | None, records: Sequence[FaultRecord]
    ) -> None:
        """Prepare; `onset` is when a fault begins (None: there is none).

        By hw.id, `status` is filled with the states of devices, `codes` with their fault codes.
        """
        self._site, self._onset, self._records = site, onset, records
        self._random = np.random.default_rng([site.seed, 25])
        self._reader = exporters.reader(site.cluster, site.reporting)
        self.sayings: list[TimedEvent] = []
        self.status: dict[str, list[tuple[float, str]]] = {}
        self.codes: dict[str, list[tuple[float, str]]] = {}

    def collect(self, ports: Sequence[SimulatedSeries]) -> None:
        """Collect all; `ports` are the series of the network ports."""
        found: list[list[Event]] = [[] for _ in range(self._site.cluster.hosts)]
        for host, event in self._written():
            found[host].append(event)
        seconds = self._seconds()
        for host, event in self._devices(seconds) if self._reader == "agent" else ():
            found[host].append(event)
        for host, event in self._links(seconds):
            found[host].append(event)
        for host, event in self._counters(ports):
            found[host].append(event)
        for host, event in self._daily():
            found[host].append(event)
        for host, events in enumerate(found):
            events.sort(key=lambda event: event.at)
            self._send(host, events)

    def _seconds(self) -> list[tuple[float, ClusterConditions]]:
        """Return the conditions second by second, from shortly before the onset."""
        if self._onset is None:
            return []
        begin = max(np.floor(self._onset) - 60.0, 0.0)
        at = np.arange(begin, self._site.seconds, 1.0)
        return [(float(moment), self._site.conditions(float(moment))) for moment in at]

    def _send(self, host: int, events: list[Event]) -> None:
        """Send a host's events as its agent does: faults of devices with what is known of them."""
        tracker = FaultTracker(boot_id="boot", now=0.0)
        last = self._site.conditions(self._site.seconds)
        gone = last.lost_at if last.silent[host] else np.inf
        reporting, cluster = self._site.reporting, self._site.cluster
        resource = of_node(host, cluster.name, self._site.switch(host))
        for event in events:
            if event.at >= min(gone, self._site.seconds) or event.at < self._site.up_since(host):
                continue
            leaving = tracker.take(event, event.at)
            hw_id = event.attributes.get("hw.id")
            if hw_id is not None:
                self.status.setdefault(str(hw_id), []).append(
                    (event.at, tracker.status(str(hw_id)))
                )
                self.codes.setdefault(str(hw_id), []).append(
                    (event.at, str(event.attributes["code"]))
                )
            if leaving is None or not reporting.shows(event.name):
                continue
            slow = reporting.push if self._reader != "agent" and hw_id is not None else 0.0
            sent = event.at + slow + 0.3 * float(self._random.uniform(0.3, 1.5))
            dated = Event(leaving.name, leaving.at, leaving.attributes, resource)
            self.sayings.append(TimedEvent(host, event.at, sent, dated))

    def _written(self) -> Iterator[tuple[int, Event]]:
        """Yield what fault records say, where somebody reads them."""
        reporting, vendor = self._site.reporting, self._site.cluster.accelerator
        for record in self._records:
            pairs = dict(record.pairs)
            if record.name == "gpu.fault":
                code = str(pairs["code"])
                pairs["vendor"] = vendor
                pairs["hw.id"] = device_id(record.host, record.place)
                pairs["gpu"] = record.place
                if vendor == "ascend" and code in _ASCEND:
                    pairs |= {"code": _ASCEND[code], "source": "exporter", "text": "error code"}
                elif vendor != "nvidia":
                    continue
                elif self._reader == "dcgm" and not reporting.kernel_log:
                    pairs |= {"source": "exporter", "text": f"XID {code}"}
                elif reporting.kernel_log:
                    pairs["source"] = "kmsg"
                elif int(code) in _CRITICAL:
                    pairs |= {"source": "nvml", "text": f"XID {code} by NVML's events"}
                else:
                    continue
            elif record.source == "kernel" and not reporting.kernel_log:
                continue
            yield record.host, Event(record.name, record.at, pairs)

    def _devices(
        self, seconds: Sequence[tuple[float, ClusterConditions]]
    ) -> Iterator[tuple[int, Event]]:
        """Yield what our agent concludes from the devices' own readings."""
        cluster = self._site.cluster
        if not cluster.gpus or not seconds:
            return
        odd = np.zeros(cluster.hosts * cluster.slots, dtype=bool)
        for _, state in seconds:
            row = state.devices
            odd |= row.lost | row.hung | row.thermal_hw | row.brake | row.pending | row.failed
            odd |= (row.uncorrected > 0) | np.repeat(state.nodes.driver, cluster.slots)
        for slot in np.flatnonzero(odd).tolist():
            yield from self._device(slot // cluster.slots, slot % cluster.slots, seconds)

    def _device(
        self, host: int, place: int, seconds: Sequence[tuple[float, ClusterConditions]]
    ) -> Iterator[tuple[int, Event]]:
        slot = device_index(host, place, self._site.cluster.slots)
        found: list[Event] = []

        def report(code: str, text: str, at: float) -> None:
            pairs: dict[str, Scalar] = {
                "hw.id": device_id(host, place), "gpu": place, "code": code, "vendor": "nvidia",
                "source": "nvml", "text": f"GPU {place}: {text}",
            }  # fmt: skip
            found.append(Event("gpu.fault", at, pairs))

        conditions = NvmlConditions(report)
        told, hung_since = False, np.inf
        for at, state in seconds:
            row = state.devices
            if row.lost[slot]:
                if not told:
                    report("nvml.lost", "GPU is lost, by nvmlDeviceGetTemperature", at)
                told = True
                continue
            if row.hung[slot] or state.nodes.driver[host]:
                hung_since = min(hung_since, at)
                if at - hung_since >= HUNG_SECONDS and not told:
                    text = f"nvmlDeviceGetTemperature does not return for {at - hung_since:.0f} s"
                    report("nvml.hung", text, hung_since)
                    told = True
                continue
            told, hung_since = False, np.inf
            flags = {
                "thermal_hw": row.thermal_hw[slot],
                "slowdown_hw": row.thermal_hw[slot] | row.brake[slot],
                "power_brake": row.brake[slot],
            }
            names = [("hw.gpu.throttle", attributes({"reason": name})) for name in flags]
            conditions.take("gpu_throttling", at, names, [float(flag) for flag in flags.values()])
            counted = ("hw.errors", attributes({"error.type": "uncorrected", "hw.part": "hbm"}))
            conditions.take("gpu_ecc", at, [counted], [float(row.uncorrected[slot])])
            remaps = {"pending": row.pending[slot], "failed": row.failed[slot]}
            names = [("hw.gpu.row_remap", attributes({"state": name})) for name in remaps]
            conditions.take("gpu_row_remap", at, names, [float(flag) for flag in remaps.values()])
        yield from ((host, event) for event in found)

    def _links(
        self, seconds: Sequence[tuple[float, ClusterConditions]]
    ) -> Iterator[tuple[int, Event]]:
        """Yield ports that went down or came up, as the agent folds them."""
        if not seconds or not self._site.reporting.shows("hw.network.up"):
            return
        up = np.array([state.ports.up for _, state in seconds])
        downs = np.array([state.ports.downs for _, state in seconds])
        moved = (up != up[0]).any(axis=0) | (downs != downs[0]).any(axis=0)
        for host, port in np.argwhere(moved).tolist():
            flapping, name = LinkFlaps(), device_name(port)
            flapping.take(up=True, now=-1.0, changes=0)
            for number, (at, _) in enumerate(seconds):
                before = bool(up[max(number - 1, 0), host, port])
                now = bool(up[number, host, port])
                fell = downs[number, host, port] - downs[max(number - 1, 0), host, port]
                changes = max(int(2 * fell) - (not now), int(before != now))
                count = flapping.take(up=now, now=at, changes=changes)
                if count:
                    yield host, _link_event(name, at, up=now, count=count)

    def _counters(self, ports: Sequence[SimulatedSeries]) -> Iterator[tuple[int, Event]]:
        """Yield error counters that grew too fast, by the agent's own thresholds."""
        rows = [row for row in ports if row.metric == "hw.network.errors"]
        for row in rows:
            if row.value[-1] == row.value[0]:
                continue
            named = dict(row.attributes)
            found: list[Event] = []
            crossings = ThresholdCrossings(thresholds.infiniband(), emit=found.append)
            port = NetworkPort(str(named["device"]), "1", "infiniband", "", "", "")
            code = str(named["error.type"])
            crossings.take(port, code, 0, float(row.at[0]))
            grown = np.diff(row.value).astype(np.int64)
            for at, more in zip(row.at[1:].tolist(), grown.tolist(), strict=True):
                crossings.take(port, code, more, at)
            yield from ((row.host, event) for event in found)

    def _daily(self) -> Iterator[tuple[int, Event]]:
        """Yield normal life: agents that start with their host, harmless lines of logs."""
        cluster, random = self._site.cluster, np.random.default_rng([self._site.seed, 26])
        for host, at in cluster.booted:
            phase: dict[str, Scalar] = {
                "phase": "start", "interval_seconds": self._site.reporting.node,
            }  # fmt: skip
            yield host, Event("agent.lifecycle", at + 0.5, phase)
        if not cluster.warnings or not self._site.reporting.kernel_log:
            return
        for host in range(cluster.hosts):
            count = int(random.poisson(cluster.warnings * self._site.seconds / 3600))
            for at in np.sort(random.uniform(0, self._site.seconds, count)).tolist():
                signature, role, text = _HARMLESS[int(random.integers(len(_HARMLESS)))]
                yield (
                    host,
                    Event("log.fault", at, {"signature": signature, "role": role, "text": text}),
                )


def _link_event(device: str, at: float, *, up: bool, count: int) -> Event:
    """Return the event of a link that changed, in the agent's words."""
    state = "up" if up else "down"
    pairs: dict[str, Scalar] = {"device": device, "port": "1", "state": state}
    name = f"{device} port 1"
    if count > 1:
        text = f"{name} went up and down {count} times; now it is {state}"
        return Event(
            "network.link", at, {**pairs, "count": count, "reason": "flapping", "text": text}
        )
    if up:
        return Event("network.link", at, {**pairs, "text": f"{name} is up again"})
    text = f"{name} is down: no carrier: cable, transceiver or the switch's port"
    return Event("network.link", at, {**pairs, "text": text, "reason": "carrier"})
