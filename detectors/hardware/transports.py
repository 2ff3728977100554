"""Hosts whose training traffic takes the slow way: sockets in the place of RDMA."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import INFORMATION, first_line, report
from ..tenants import own_logs, signature_of
from ..window import Floats, JobWindow, PeriodicReadings
from . import counters, devices, ports

SIGNATURE = re.compile(
    r"fall.?back|using.?socket|net.?socket|no.?(?:rdma|ib)\b|ib.?disabled|"
    r"(?:rdma|ib|verbs).?(?:unavailable|not.?found|failed)",
    re.IGNORECASE,
)
"""What log signatures of a library that chose a slower transport are called."""

NOT_FOUND = "nccl.ib_not_found"
"""The signature of NCCL's word that there is no RDMA device."""

MB = 1e6

BEFORE_SECONDS = 900.0
"""So long before a restart shows what the attempt before sent over which ports."""


class TransportsDetector(Detector):
    """Name hosts whose RDMA ports are silent while their peers' carry the job's traffic.

    Bytes a second that leave through the ports of the fabric (`hw.network.io`), against those
    through ordinary interfaces (`system.network.io`), over the newest `seconds` of the attempt: the
    transport is chosen as it starts, and what left before was another attempt's. A host counts
    whose ports carry less than `silent` of the median host's, while its interfaces carry `factor`
    times the median host's, and a hundredth of what the ports of peers do; of two hosts, the other
    is what is usual. Where the ports of the others are as silent, a host is compared with itself
    before the restart, once the job steps: all of them may have fallen back. One whose ports did
    carry traffic earlier in the attempt is left out: it has chosen RDMA. It is a symptom by itself,
    since such a host has been slow from its first step and no earlier step of the job shows it. A
    line of a log that says so is evidence about its host.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    silent : share of the usual RDMA traffic below which ports count as silent.
    factor : how much more than usual the interfaces must carry.
    over : when the job was over, of which nothing but its log is known, s since the epoch: that
        NCCL found no RDMA device on a host and sends over sockets is news then.

    Examples
    --------
    The third of three hosts sends over its interface what the others send over RDMA.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> second = np.arange(0.0, 61, 5)
    >>> fabric = np.array([[9e9], [9e9], [0.0]]) * second
    >>> plain = np.array([[1e5], [1e5], [8e8]]) * second
    >>> window = sketch(np.full((6, 60), 0.8), hosts=3, host_readings={
    ...     "hw.network.io|mlx5_0|transmit|1": readings(START + second, fabric),
    ...     "system.network.io|eth0|transmit": readings(START + second, plain)})
    >>> [str(finding.entity) for finding in TransportsDetector().evaluate(window)]
    ['host host-2']

    Fails where every host fell back alike in the first attempt that is seen, on a single
    host, and where RDMA goes over the ordinary interface and is counted with it.

    References: NCCL, environment variables (NCCL_IB_DISABLE, NCCL_NET).
    """

    name = "transports"
    kinds = ("host.slow_transport", "host.transport_message")
    cadence_seconds = 10.0

    def __init__(
        self,
        *,
        seconds: float = 60.0,
        silent: float = 0.05,
        factor: float = 10.0,
        over: float = np.inf,
    ) -> None:
        self.seconds = seconds
        self.silent = silent
        self.factor = factor
        self.over = over

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        found = self._logs(window)
        if window.now >= self.over:
            found += [
                replace(one, kind="host.slow_transport", score=INFORMATION)
                for one in found
                if one.observed == NOT_FOUND
            ]
        start = _start(window)
        if len(window.hosts) < 2 or start == np.inf:
            return found
        newest = (start, np.inf)
        fabric, plain = self._fabric(window, *newest), self._plain(window, *newest)
        said = {one.entity.host for one in found if one.observed == NOT_FOUND}
        if np.isfinite(fabric).sum() >= 2 and (np.isfinite(plain).any() or said):
            others = devices.median_of_others(fabric)
            beside = np.nan_to_num(devices.median_of_others(plain))
            alike = np.zeros(len(others), np.bool_)
            if window.baselines.before is not None and self._steps(window):
                # Where nobody shows what is usual, the host itself does: before the restart.
                alike = ~(others > MB)
                range_before = (start - BEFORE_SECONDS, start)
                others = np.where(alike, self._fabric(window, *range_before), others)
                own = np.nan_to_num(self._plain(window, *range_before))
                beside = np.where(alike, own, beside)
            told = np.array([name in said for name in window.hosts]) & np.isnan(plain)
            with np.errstate(invalid="ignore"):
                odd = (others > MB) & (fabric < self.silent * others)
                least = np.maximum(np.maximum(self.factor * beside, others / 100), MB)
                odd &= told | (plain >= least)
            for host in np.flatnonzero(odd).tolist():
                usual, entity = float(others[host]), window.host_entity(host)
                if self._carried(window, host, start) >= self.silent * usual:
                    continue
                finding = report(
                    window,
                    self.name,
                    "host.slow_transport",
                    entity,
                    onset=start,
                    magnitude=float(fabric[host]) / usual,
                    signal="hw.network.io",
                    observed=float(fabric[host]),
                    expected=usual,
                    text=f"{entity}: {fabric[host] / MB:.3g} MB/s over its RDMA ports and "
                    f"{_over_interfaces(plain[host])}, "
                    f"{'before the restart' if alike[host] else 'its peers'} "
                    f"{usual / MB:.3g} MB/s over RDMA",
                )
                found.append(finding)
        return found

    def _steps(self, window: JobWindow) -> bool:
        """Tell whether the attempt has stepped for half of the range that is evaluated."""
        ends = window.features.step_ends
        ends = ends[np.isfinite(ends)]
        return len(ends) > 1 and float(ends[-1] - ends[0]) >= self.seconds / 2

    def _fabric(self, window: JobWindow, start: float, end: float) -> Floats:
        """Return [hosts], bytes a second that left through the ports of the fabric."""
        total = np.full(len(window.hosts), np.nan)
        for readings in _sent(window):
            rate = _rate(readings, self.seconds, start, end)
            total = np.where(np.isfinite(rate), np.nan_to_num(total) + rate, total)
        return total

    def _carried(self, window: JobWindow, host: int, start: float) -> float:
        """Return the bytes a second that left through a host's ports over the whole attempt."""
        one = np.array([host])
        rates = [_rate(readings.of(one), np.inf, start, np.inf)[0] for readings in _sent(window)]
        return float(np.nansum(rates))

    def _plain(self, window: JobWindow, start: float, end: float) -> Floats:
        """Return [hosts], bytes a second that left through the busiest ordinary interface."""
        most = np.full(len(window.hosts), np.nan)
        fabric = {plane.device for plane in ports.planes(window, "hw.network.io")}
        for values, name in counters.variants(window.host_readings, "system.network.io"):
            if len(values) == 2 and values[1] == "transmit" and values[0] not in fabric | {"lo"}:
                readings = window.host_readings[name]
                most = np.fmax(most, _rate(readings, self.seconds, start, end))
        return most

    def _logs(self, window: JobWindow) -> list[Finding]:
        found: dict[str, Finding] = {}
        for event in own_logs(window):
            signature, host = signature_of(event), event.resource.host
            if not window.searches.found(SIGNATURE, event, signature_of):
                continue
            if host in found and (signature != NOT_FOUND or found[host].observed == NOT_FOUND):
                continue
            if host not in window.hosts:
                continue
            line = first_line(event.attributes.get("text")) or "no text"
            found[host] = report(
                window,
                self.name,
                "host.transport_message",
                window.topology.host_entity(host),
                onset=event.at,
                score=2.5,
                signal="log.fault",
                observed=signature,
                text=f"host {host} logged {signature}: {line}",
            )
        return list(found.values())


def _over_interfaces(rate: float) -> str:
    return "no RDMA device found" if np.isnan(rate) else f"{rate / MB:.3g} MB/s over its interfaces"


def _sent(window: JobWindow) -> list[PeriodicReadings]:
    """Return what counts the bytes that leave through ports of the fabric, one a port."""
    planes = ports.planes(window, "hw.network.io")
    return [one.readings for one in planes if one.middle == "transmit" and not one.by_rank]


def _start(window: JobWindow) -> float:
    """Return when the transports were chosen: when the attempt started, inf where it has not."""
    if np.isfinite(window.attempt_started_at):
        return window.attempt_started_at
    return float(np.min(window.steps.at, initial=np.inf, where=np.isfinite(window.steps.at)))


def _rate(readings: PeriodicReadings, seconds: float, start: float, end: float) -> Floats:
    """Return [hosts], bytes a second in [start, end]: where it has no end, the newest `seconds`."""
    newest = readings.newest_at()
    if newest == -np.inf:
        return np.full(len(readings.latest()[0]), np.nan)
    first, last = start, end
    if end == np.inf:
        first, last = max(newest - max(seconds, 3.2 * readings.period()), start), newest
    rate = readings.rate(first, last)
    return np.where(rate < counters.MOST, rate, np.nan)
