"""Hosts whose processes wait inside the kernel and do not come back."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import JobWindow

HUNG_TASKS = ("task.hung", "cpu.soft_lockup", "cpu.hard_lockup", "driver.hung", "driver.hang")
CALLS = ("nvml.hung",)


class StuckDrivers(Detector):
    """Name hosts whose driver hangs: by the kernel's own log, or by calls that do not return.

    The kernel logs tasks that were blocked for two minutes and CPUs that do not leave it; the agent
    reports calls into a driver that hang. A call about one device of several is that device's; of
    half of a host's devices, two at least, it is the driver's. Evidence: the symptom is that steps
    stop.

    Parameters
    ----------
    share : of a host's devices whose calls must hang.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, Resource
    >>> line = Event("log.fault", START + 50, {"signature": "task.hung", "role": "cascade",
    ...     "text": "INFO: task python:1002 blocked for more than 120 seconds"}, Resource("host-1"))
    >>> window = sketch(np.full((4, 60), 0.8), events=(line,))
    >>> [str(finding.entity) for finding in StuckDrivers().evaluate(window)]
    ['host host-1']

    Fails where the kernel's log may not be read (restricted profile) and every call returns late
    instead of never.

    References: Linux Documentation/admin-guide/sysctl/kernel (hung_task_timeout_secs); facts on
    node telemetry 8 (one lock of the resource manager can freeze every client).
    """

    name = "stuck_drivers"
    kinds = ("host.driver_stuck",)

    def __init__(self, *, share: float = 0.5) -> None:
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        lines: dict[str, list[Event]] = {}
        calls: dict[str, dict[str, Event]] = {}
        for event in own_events(window):
            host = event.resource.host
            if host not in window.hosts:
                continue
            if event.name == "log.fault" and event.attributes.get("signature") in HUNG_TASKS:
                lines.setdefault(host, []).append(event)
            elif event.name == "gpu.fault" and event.attributes.get("code") in CALLS:
                device = str(event.attributes.get("hw.id", event.attributes.get("gpu", "")))
                calls.setdefault(host, {}).setdefault(device, event)
        for host, hung in calls.items():
            placed = int((window.host_of == window.hosts.index(host)).sum())
            if len(hung) >= max(2, self.share * placed):
                lines.setdefault(host, []).extend(hung.values())
        return [self._finding(window, host, lines[host]) for host in sorted(lines)]

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
            onset=first.at,
            magnitude=float(len(events)),
            score=3.0 if mine or len(events) > 1 else 2.0,
            signal=first.name,
            observed=float(len(events)),
            expected=0.0,
            text=f"host {host}: {text.strip()[:160] or 'calls into a driver do not return'}",
        )
