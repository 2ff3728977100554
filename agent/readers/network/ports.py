"""What the network ports count: bytes, errors, congestion; and the rate they run at.

Only mapped files are read (counters.toml), since some reads make a driver complain in the kernel
log. Counters go on over resets and restarts. One that crosses its limit is an event at once.
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....vocabulary.device_faults import thresholds
from ....vocabulary.samples import Attributes, Event, Sample, attributes
from ... import kernel_files
from ...baselines import CounterBaselines
from ...health import AgentHealth
from ...kernel_files import HeldFile
from . import counters
from .crossings import ThresholdCrossings
from .inventory import NetworkPort, PortInventory

_RATE = re.compile(r"([0-9.]+)\s*Gb/sec")
_AGAIN_SECONDS = 30.0
_MOST_HELD = 384
"""Files that are held open: a process may have 1,024 as a rule. Those beyond are opened anew."""
_WIDEST_LEGACY = 32
"""Counters of more bits than this are not of the old kind that stops at its highest value."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _CountedFile:
    """One file that counts, the name of its baseline, and what stood in it when last read."""

    counter: counters.CounterFile
    held: HeldFile
    key: str
    data: bytes | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class _CountedSeries:
    """One series, and the files that are its sum."""

    metric: str
    pairs: Attributes
    files: Sequence[_CountedFile]


@dataclass(frozen=True, slots=True)
class _PortState:
    """What a port has, as of a look. `rate` in bytes a second, None while it has none."""

    at: float
    pairs: Attributes
    rate: float | None
    found: Sequence[counters.PortCounter]
    series: Sequence[_CountedSeries]


class NetworkPorts:
    """Reads sysfs: /sys/class/infiniband, and /sys/class/net for plain interfaces."""

    name = "network_ports"
    ask_again = 60.0  # seconds; drivers of cards are loaded late

    def __init__(
        self,
        *,
        period: float,
        inventory: PortInventory,
        state: Path | None = None,
        boot: str = "",
        health: AgentHealth,
        emit: Callable[[Event], None],
    ) -> None:
        self.period = period
        self._inventory = inventory
        self._health = health
        path = state / "network_ports.json" if state else None
        self._baselines = CounterBaselines(path, boot=boot)
        self._crossings = ThresholdCrossings(thresholds.infiniband(), emit=emit)
        self._found: dict[str, _PortState] = {}
        self._full: dict[str, bool] = {}

    def supported(self) -> tuple[bool, str]:
        if self._inventory.ports(0.0, look=True):
            return True, ""
        return False, (
            "no RDMA device in /sys/class/infiniband and no interface with hardware behind it in "
            "/sys/class/net (in a container: hostNetwork, or name it in network.include)"
        )

    def read(self, now: float) -> list[Sample]:
        """Return counters and rates; a file that has no value now is left out."""
        samples: list[Sample] = []
        for port in self._inventory.ports(now):
            there = self._there(port, now)
            if there.rate is not None:
                samples.append(Sample("hw.network.bandwidth.limit", there.rate, now, there.pairs))
            for series in there.series:
                total: float | None = None
                for file in series.files:
                    count = self._count(port, file, now)
                    if count is not None:
                        total = count if total is None else total + count
                if total is not None:
                    samples.append(Sample(series.metric, total, now, series.pairs))
        self._baselines.keep(now)
        return samples

    def close(self) -> None:
        """Save the baselines."""
        self._baselines.close()

    def _count(self, port: NetworkPort, file: _CountedFile, now: float) -> float | None:
        counter, grown = file.counter, 0
        data = file.held.data()
        if data is None or data != file.data:  # most errors are what they were
            file.data, file.total = data, None
            raw = kernel_files.parsed(data)
            if raw is None or raw < 0:
                return None
            step = self._baselines.advance(file.key, raw)
            file.total = step.total
            grown = 0 if step.reset else step.grown
            if counter.bits <= _WIDEST_LEGACY:
                self._note_full(port, counter, raw)
        if file.total is None:
            return None
        if counter.metric == "hw.network.errors":
            self._crossings.take(port, counter.label[1], grown, now)
        return float(file.total * counter.times)

    def _note_full(self, port: NetworkPort, counter: counters.CounterFile, raw: int) -> None:
        """Tell a counter that stands at the highest value of its kind: it can count no more."""
        key = f"{port.key}/{counter.file}"
        full = raw == counter.highest
        if full == self._full.get(key, False):
            return
        self._full[key] = full
        self._health.show("port_saturated", float(full), port.device, port.port, counter.file)
        if full:
            _log.warning(
                "%s port %s: %s stands at %d, where a counter of %d bits stops; clear it with "
                "perfquery -R, or read this port's errors at the switch",
                port.device, port.port, counter.file, raw, counter.bits,
            )  # fmt: skip

    def _there(self, port: NetworkPort, now: float) -> _PortState:
        known = self._found.get(port.key)
        if known is not None and 0 <= now - known.at < _AGAIN_SECONDS:
            return known
        net = self._inventory.net(port.interface) if port.interface else ""
        found, rate = counters.of(port, net), _rate(port, net)
        if known is not None and known.found == found:
            known = replace(known, at=now, rate=rate)
        else:
            self._found.pop(port.key, None)
            pairs = attributes({"device": port.device, "port": port.port})
            known = _PortState(now, pairs, rate, found, self._series(port, found))
        self._found[port.key] = known
        return known

    def _series(
        self, port: NetworkPort, found: Sequence[counters.PortCounter]
    ) -> list[_CountedSeries]:
        held = sum(len(one.found) for one in self._found.values())
        series: dict[tuple[str, Attributes], list[_CountedFile]] = {}
        for number, one in enumerate(found, start=held):
            counter = one.counter
            name, value = counter.label
            pairs = attributes({"device": port.device, "port": port.port, name: value})
            series.setdefault((counter.metric, pairs), []).append(
                _CountedFile(
                    counter,
                    HeldFile(one.path, keep=number < _MOST_HELD),
                    f"{port.key}/{counter.folder}/{counter.file}",
                )
            )
        return [_CountedSeries(metric, pairs, files) for (metric, pairs), files in series.items()]


def _rate(port: NetworkPort, net: str) -> float | None:
    """Return the bytes a second that a port runs at now, None while it has no rate."""
    if port.folder and port.kind != "efa":
        found = _RATE.match(kernel_files.text(f"{port.folder}/rate"))
        if found:
            return float(found[1]) * 1e9 / 8
    megabits = kernel_files.number(f"{net}/speed") if net else None
    return megabits * 1e6 / 8 if megabits is not None and megabits > 0 else None
