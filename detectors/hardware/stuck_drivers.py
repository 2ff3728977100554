"""Hosts whose processes wait inside the kernel and do not come back."""

import re
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report
from ..tenants import own_events, signature_of, text_of
from ..window import JobWindow
from .lost_devices import last_readings, reading_period

HUNG_TASKS = (
    "task.hung", "cpu.soft_lockup", "cpu.hard_lockup", "cpu.rcu_stall", "driver.hung",
    "driver.hang",
)  # fmt: skip
ELSEWHERE = re.compile(r"(?:storage|nfs|lustre|ceph|gpfs)\.task_hung")
"""Signatures of a task whose own stack says that no driver of a device keeps it."""
HUNG_LINE = re.compile(
    r"blocked for more than \d+ seconds|soft lockup|hard lockup|rcu\w* detected stalls",
    re.IGNORECASE,
)
_BLOCKED_FOR = re.compile(r"blocked for more than (\d{1,6}) seconds", re.IGNORECASE)
_LONGEST_SECONDS = 1200.0
"""Linux repeats the line of a task that stays blocked, up to ten times by default."""
CALLS = ("nvml.hung",)
BLOCKED = "system.processes.blocked"

NOT_SAID = 1.0
"""Score of what is concluded from readings that do not come: worth knowing, it pages nobody."""


class StuckDriversDetector(Detector):
    """Name hosts whose driver hangs: by the kernel's own log, or by calls that do not return.

    The kernel logs tasks that were blocked for two minutes and CPUs that do not leave it; the agent
    reports calls into a driver that hang. A call about one device of several is that device's; of
    half of a host's devices, two at least, it is the driver's. So it is where no device of a host
    gives a reading any more while the host itself reports, those of others do, no step ends, and
    processes of the host wait in state D that did not before: who asks such a driver never returns.
    Evidence: the symptom is that steps stop. They may go on for long, for kernels are launched past
    the driver; where none of the calls has returned after `unanswered` seconds, and no device of
    the host has given a reading since, that is a symptom of its own: the next allocation, reset or
    exit of a process waits for ever, and so does a restart on that host. Where it is an exporter
    that reads the devices nobody reports such calls: that no device of the host has given a reading
    for as long, and a process more than usual waits in state D all the while, is worth knowing.

    Parameters
    ----------
    share : of a host's devices whose calls must hang.
    blocked : processes in state D that count, beyond four times the usual.
    periods, seconds : how long the devices of a host must have given no reading.
    unanswered : seconds of steps after which calls that have not returned are a symptom.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> line = Event("log.fault", START + 50, {"signature": "task.hung", "role": "cascade",
    ...     "text": "INFO: task python:1002 blocked for more than 120 seconds"},
    ...     TelemetryResource("host-1"))
    >>> window = sketch(np.full((4, 60), 0.8), events=(line,))
    >>> [str(finding.entity) for finding in StuckDriversDetector().evaluate(window)]
    ['host host-1']

    Fails where the kernel's log may not be read (restricted profile) and every call returns late
    instead of never. An exporter that waits for something else in state D looks like one that waits
    for the driver.

    References: Linux Documentation/admin-guide/sysctl/kernel (hung_task_timeout_secs). One lock of
    the driver's resource manager can freeze every client.
    """

    name = "stuck_drivers"
    kinds = ("host.driver_stuck", "host.driver_unresponsive")

    def __init__(
        self,
        *,
        share: float = 0.5,
        blocked: float = 2.0,
        periods: float = 2.5,
        seconds: float = 15.0,
        unanswered: float = 60.0,
    ) -> None:
        self.share = share
        self.blocked = blocked
        self.periods = periods
        self.seconds = seconds
        self.unanswered = unanswered

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        lines: dict[str, list[Event]] = {}
        calls: dict[str, dict[str, Event]] = {}
        elsewhere = _waiting_elsewhere(window)
        for event in own_events(window):
            host = event.resource.host
            if host not in window.hosts:
                continue
            if (host, event.attributes.get("pid")) in elsewhere:
                continue
            if event.name == "log.fault" and _hung(window, event):
                lines.setdefault(host, []).append(event)
            elif event.name == "gpu.fault" and event.attributes.get("code") in CALLS:
                device = str(event.attributes.get("hw.id", event.attributes.get("gpu", "")))
                calls.setdefault(host, {}).setdefault(device, event)
        unanswered: list[Finding] = []
        for host, hung in calls.items():
            placed = int((window.host_of == window.hosts.index(host)).sum())
            if len(hung) >= max(2, self.share * placed):
                lines.setdefault(host, []).extend(hung.values())
                unanswered += self._unanswered(window, host, list(hung.values()))
        findings = [self._finding(window, host, lines[host]) for host in sorted(lines)]
        findings += unanswered
        return findings + [f for f in self._silent(window) if f.entity.id not in lines]

    def _unanswered(self, window: JobWindow, host: str, hung: Sequence[Event]) -> list[Finding]:
        """Return that no device of a host has answered for long, though the job goes on stepping.

        Kernels are launched past the driver. A job that stands has its own symptom.
        """
        since = min(event.at for event in hung)
        ends = window.features.step_ends
        stepped = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
        here = window.host_of == window.hosts.index(host)
        answered = float(last_readings(window)[here].max(initial=-np.inf))
        lasted = stepped - since
        if lasted < self.unanswered or answered > since + reading_period(window):
            return []
        return [
            report(
                window,
                self.name,
                "host.driver_unresponsive",
                window.topology.host_entity(host),
                onset=since,
                seen=(since, stepped),
                magnitude=lasted,
                score=2.0,
                signal="gpu.fault",
                observed=lasted,
                expected=0.0,
                text=f"host {host}: calls about {len(hung)} devices have not returned for "
                f"{lasted:.0f} s; the job goes on until it asks the driver for something",
            )
        ]

    def _silent(self, window: JobWindow) -> list[Finding]:
        """Return hosts without any reading of their devices whose processes wait in state D."""
        held = window.host_readings.get(BLOCKED)
        if held is None or len(window.hosts) < 2:
            return []
        silent = silent_hosts(window, periods=self.periods, seconds=self.seconds)
        if not silent:
            return []
        ends, last, period = (
            window.features.step_ends,
            last_readings(window),
            reading_period(window),
        )
        newest, limit = float(last.max()), max(self.periods * period, self.seconds)
        stepped = float(np.max(ends, initial=-np.inf, where=np.isfinite(ends)))
        findings = []
        for host, began in silent.items():
            stands = stepped <= began + limit < newest
            stands &= float(last[window.host_of == host].min()) >= stepped - 2 * limit
            goes_on = min(stepped, newest) >= began + max(self.unanswered, limit)
            if not stands and not goes_on:
                continue
            one = held.of(np.array([host]))
            now, usual = float(one.mean(began, np.inf)[0]), float(one.mean(-np.inf, began)[0])
            # A process that never comes back is one at every reading of a minute.
            settled = float(one.mean(began + limit, np.inf)[0])
            enough = settled >= self.blocked if stands else now >= 1.0
            if not enough or not now > 4 * np.nan_to_num(usual):
                continue
            if goes_on and one.newest_at() < newest - limit:
                continue  # the host does not report either
            name = window.hosts[host]
            entity = window.topology.host_entity(name)
            words = (
                f"host {name}: no device has given a reading for {newest - began:.0f} s, "
                f"and {now:.3g} processes wait in state D"
            )
            if goes_on:
                words += "; the job goes on until it asks the driver for something"
            findings += [
                report(
                    window,
                    self.name,
                    kind,
                    entity,
                    onset=(began, began + period),
                    magnitude=now,
                    score=3.0 if stands else NOT_SAID,
                    signal=BLOCKED,
                    observed=now,
                    expected=np.nan_to_num(usual),
                    text=words,
                )
                for kind in (("host.driver_stuck",) if stands else self.kinds)
            ]
        return findings

    def _finding(self, window: JobWindow, host: str, events: list[Event]) -> Finding:
        first = min(events, key=lambda event: event.at)
        pids = {event.attributes.get("pid") for event in events}
        ours = {int(pid) for pid in window.pids if pid > 0}
        mine = any(isinstance(pid, int) and pid in ours for pid in pids)
        text = str(first.attributes.get("text") or first.attributes.get("signature") or "")
        return report(
            window,
            self.name,
            "host.driver_stuck",
            window.topology.host_entity(host),
            onset=_began(first),
            magnitude=float(len(events)),
            score=3.0 if mine or len(events) > 1 else 2.0,
            signal=first.name,
            observed=float(len(events)),
            expected=0.0,
            text=f"host {host}: {text.strip()[:160] or 'calls into a driver do not return'}",
        )


def _began(event: Event) -> tuple[float, float]:
    """Return the range in which what a line is about began.

    Tasks are looked at once in the time after which a blocked one is reported.
    """
    found = _BLOCKED_FOR.search(text_of(event))
    seconds = min(float(found[1]), _LONGEST_SECONDS) if found else 0.0
    return event.at - 2 * seconds, event.at - seconds


def silent_hosts(
    window: JobWindow, *, periods: float = 2.5, seconds: float = 15.0
) -> dict[int, float]:
    """Return when the hosts all of whose devices fell silent last gave a reading of one.

    Those of other hosts are read as ever. periods, seconds: how long none must have come.
    """
    last = last_readings(window)
    newest = float(last.max(initial=-np.inf))
    if newest == -np.inf or not (newest - last > seconds).any():
        return {}  # no device is read at all, or all were just now, as nearly always
    limit = max(periods * reading_period(window), seconds)
    late = np.isfinite(last) & (newest - last > limit)
    return {
        host: float(last[window.host_of == host].max())
        for host in np.unique(window.host_of[late & (window.host_of >= 0)]).tolist()
        if late[window.host_of == host].all()
    }


def _waiting_elsewhere(window: JobWindow) -> set[tuple[str, object]]:
    """Return (host, pid) of tasks whose stacks say that they wait for storage."""
    return {
        (event.resource.host, event.attributes["pid"])
        for event in own_events(window)
        if ELSEWHERE.fullmatch(signature_of(event)) and "pid" in event.attributes
    }


def _hung(window: JobWindow, event: Event) -> bool:
    """Tell whether a line is the kernel's about a task or a CPU that does not come back."""
    if event.attributes.get("signature") in HUNG_TASKS:
        return True
    return window.searches.found(HUNG_LINE, event, text_of)
