"""Leaf switches: several of their hosts have trouble at once, and hardly any other host."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from .down_ports import DownPorts
from .link_flaps import LinkFlaps
from .port_errors import PortErrors

TOGETHER = 120.0
"""Trouble of one switch begins on its hosts within so many seconds."""

UNKNOWN = 60.0
"""Seconds of silence that count where it is not known how often a host reports."""

SOURCES = (DownPorts(hold=5.0), LinkFlaps(), PortErrors())
"""Detectors whose findings are trouble of a host's ports. Ports of one switch are found together
before each of them has been down for long enough to be found alone."""


class Switches(Detector):
    """Name a leaf switch whose hosts have trouble with their ports, or fall silent, together.

    A host has trouble where one of its ports is down, lost its link or counts errors, or where it
    reports nothing any more. A switch counts when two of its hosts of this job and `share` of them
    have trouble that began within two minutes, and at most a tenth of the hosts of other switches.
    Needs `network.switch` of the hosts, or the switch of a port, and a job on two switches.

    Parameters
    ----------
    share : of a switch's hosts that must have trouble.

    Examples
    --------
    Both hosts of the second leaf lose their port at second 40.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.vocabulary.topology import Placement, Topology
    >>> from rankscope.vocabulary.ids import Job
    >>> hosts = tuple(f"host-{number}" for number in range(4))
    >>> layout = Topology(Job("example"), hosts=hosts,
    ...     placements=[Placement(rank, hosts[rank // 2]) for rank in range(8)],
    ...     switches={host: f"leaf-{number // 2}" for number, host in enumerate(hosts)})
    >>> up = np.ones((4, 13))
    >>> up[2:, 8:] = 0
    >>> window = sketch(np.full((8, 60), 0.8), hosts=4, placed=layout, host_readings={
    ...     "hw.network.up|mlx5_0|1": readings(START + np.arange(0, 61, 5), up)})
    >>> [(str(found.entity), found.magnitude) for found in Switches().evaluate(window)]
    [('switch leaf-1', 1.0)]

    Fails where nobody says which switch a host is on, and where the job uses a single host of it.

    References: facts on node telemetry 4.4; contract section 2 (`network.switch`).
    """

    name = "switches"
    kinds = ("switch.trouble",)
    cadence_seconds = 5.0

    def __init__(self, *, share: float = 0.6) -> None:
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a switch."""
        switch_of = _switches(window)
        names = sorted({name for name in switch_of if name})
        if len(names) < 2:
            return []
        began = self._troubled(window)
        if not np.isfinite(began).any():
            return []
        of = np.array([names.index(name) if name else -1 for name in switch_of])
        findings = []
        for number, name in enumerate(names):
            mine = of == number
            starts = began[mine & np.isfinite(began)]
            together = starts[starts <= starts.min() + TOGETHER] if len(starts) else starts
            elsewhere = ~mine & (of >= 0)
            others = float(np.isfinite(began[elsewhere]).mean()) if elsewhere.any() else 1.0
            share = len(together) / max(int(mine.sum()), 1)
            if len(together) < 2 or share < self.share or others > 0.1:
                continue
            findings.append(
                report(
                    window,
                    self.name,
                    "switch.trouble",
                    window.topology.switch_entity(name),
                    onset=(float(together.min()), float(together.max())),
                    magnitude=share,
                    # Worth knowing before the job slows down or stops, and no page until then.
                    score=1.9,
                    signal="hw.network.up",
                    observed=share,
                    expected=others,
                    text=f"switch {name}: {len(together)} of its {int(mine.sum())} hosts have "
                    f"trouble at once, {others:.0%} of the others",
                )
            )
        return findings

    def _troubled(self, window: JobWindow) -> Floats:
        """Return [hosts], when each one's trouble began; NaN where it has none."""
        began = np.full(len(window.hosts), np.inf)
        index = {host: number for number, host in enumerate(window.hosts)}
        for source in SOURCES:
            for finding in source.evaluate(window):
                number = index.get(finding.entity.host or "")
                if number is not None:
                    began[number] = min(began[number], finding.onset[1])
        silent = window.now - window.host_last_received
        # At the start nobody can say how often hosts report: once in 30 s is not silence.
        limit = np.maximum(10.0, 3 * np.nan_to_num(window.host_interval))
        limit = np.where(window.host_interval > 0, limit, UNKNOWN)
        if len(silent) and silent.min() <= 10.0:
            gone = np.isfinite(silent) & (silent > limit)
            if len(window.host_announced) == len(gone):
                gone &= ~window.host_announced
            began[gone] = np.minimum(began[gone], window.host_last_received[gone])
        return np.where(np.isfinite(began), began, np.nan)


def _switches(window: JobWindow) -> list[str]:
    """Return [hosts], the leaf switch of each host, "" where unknown."""
    held = dict(window.topology.switches)
    for nic in window.topology.nics:
        if nic.switch:
            held.setdefault(nic.host, nic.switch)
    return [held.get(host, "") for host in window.hosts]
