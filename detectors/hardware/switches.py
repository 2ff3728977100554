"""Leaf switches: several of their hosts have trouble at once, and hardly any other host."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import silence
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import sudden_errors
from .congestion import CongestionDetector
from .down_ports import DownPortsDetector
from .link_flaps import LinkFlapsDetector
from .port_errors import PortErrorsDetector

TOGETHER = 120.0
"""Trouble of one switch begins on its hosts within so many seconds."""

SOURCES = (DownPortsDetector(hold=5.0), LinkFlapsDetector(), PortErrorsDetector())
"""Detectors whose findings are trouble of a host's ports. Ports of one switch are found together
before each of them has been down for long enough to be found alone."""

_CONGESTION = CongestionDetector()


class SwitchesDetector(Detector):
    """Name a leaf switch whose hosts have trouble with their ports, or fall silent, together.

    A host has trouble where one of its ports is down, lost its link or counts errors, or where it
    reports nothing any more. A switch counts when two of its hosts of this job and `share` of them
    have trouble that began within two minutes, and at most a tenth of the hosts of other switches.
    Needs `network.switch` of the hosts, or the switch of each port (with a switch a rail, a host
    hangs on several, and only its ports there count). Of a job behind one switch it counts where
    the ports of all hosts began to count errors within two minutes, and none is marked more often:
    of all whose ports were read again since, and of `share` of them.

    Parameters
    ----------
    share : of a switch's hosts that must have trouble.

    Examples
    --------
    Both hosts of the second leaf lose their port at second 40.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.vocabulary.topology import RankPlacement, JobTopology
    >>> from rankscope.vocabulary.ids import Job
    >>> hosts = tuple(f"host-{number}" for number in range(4))
    >>> layout = JobTopology(Job("example"), hosts=hosts,
    ...     placements=[RankPlacement(rank, hosts[rank // 2]) for rank in range(8)],
    ...     switches={host: f"leaf-{number // 2}" for number, host in enumerate(hosts)})
    >>> up = np.ones((4, 13))
    >>> up[2:, 8:] = 0
    >>> window = sketch(np.full((8, 60), 0.8), hosts=4, placed=layout, host_readings={
    ...     "hw.network.up|mlx5_0|1": readings(START + np.arange(0, 61, 5), up)})
    >>> [(str(found.entity), found.magnitude) for found in SwitchesDetector().evaluate(window)]
    [('switch leaf-1', 1.0)]

    Fails where nobody says which switch a host is on, and where the job uses a single host of it.

    References: the resource attribute `network.switch`.
    """

    name = "switches"
    kinds = ("switch.trouble",)
    cadence_seconds = 5.0

    def __init__(self, *, share: float = 0.6) -> None:
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        hosts_of = window.topology.hosts_of_switch
        if len(hosts_of) == 1:
            return self._behind_one(window, *hosts_of)
        began = self._troubled(window) if hosts_of else {}
        if not began:
            return []
        in_all = sum(len(hosts) for hosts in hosts_of.values())
        findings = []
        for name in sorted({switch for switch, _ in began}):
            starts = np.array([at for (switch, _), at in began.items() if switch == name])
            together = starts[starts <= starts.min() + TOGETHER]
            mine = len(hosts_of[name])
            share = len(together) / mine
            others = (len(began) - len(starts)) / max(in_all - mine, 1)
            if len(together) < 2 or share < self.share or others > 0.1:
                continue
            text = (
                f"switch {name}: {len(together)} of its {mine} hosts have trouble at once, "
                f"{others:.0%} of the others"
            )
            findings.append(self._finding(window, name, together, share, others, text))
        return findings

    def _behind_one(self, window: JobWindow, name: str) -> list[Finding]:
        """Return the one switch of a job where the ports of all hosts began to lose packets.

        What hosts share is the switch. Not where they are marked more often as well: a fabric that
        is too full loses packets in a sound switch.
        """
        began = sudden_errors.began(window)
        hosts = {host for host, _ in began}
        if len(hosts) < max(2, self.share * len(window.hosts)):
            return []
        starts = np.array(sorted(began.values()))
        if sudden_errors.read_since(window, float(starts[-1])) - hosts:
            return []
        if np.ptp(starts) > TOGETHER or _CONGESTION.evaluate(window):
            return []
        many = f"all {len(hosts)}" if len(hosts) == len(window.hosts) else str(len(hosts))
        text = f"switch {name}: the ports of {many} hosts began to count errors"
        return [self._finding(window, name, starts, 1.0, 0.0, text)]

    def _finding(
        self, window: JobWindow, name: str, starts: Floats, share: float, others: float, text: str
    ) -> Finding:
        return report(
            window,
            self.name,
            "switch.trouble",
            window.topology.switch_entity(name),
            onset=(float(starts.min()), float(starts.max())),
            magnitude=share,
            # Worth knowing before the job slows down or stops, and no page until then.
            score=1.9,
            signal="hw.network.up",
            observed=share,
            expected=others,
            text=text,
        )

    def _troubled(self, window: JobWindow) -> dict[tuple[str, str], float]:
        """Return when the trouble of each (switch, host) began, of those that have some."""
        began: dict[tuple[str, str], float] = {}

        def take(host: str, nic: str | None, at: float) -> None:
            for switch in window.topology.switches_of(host, nic):
                began[switch, host] = min(began.get((switch, host), np.inf), at)

        for source in SOURCES:
            for finding in source.evaluate(window):
                if finding.entity.host is not None:
                    take(finding.entity.host, finding.entity.id, finding.onset[1])
        for (host, port), at in sudden_errors.began(window).items():
            take(host, port, at)
        silent = window.now - window.host_last_received
        if len(silent) and silent.min() <= 10.0:
            gone = np.isfinite(silent) & (silent > silence.limits(window, least=10.0))
            if len(window.host_announced) == len(gone):
                gone &= ~window.host_announced
            for number in np.flatnonzero(gone).tolist():
                take(window.hosts[number], None, float(window.host_last_received[number]))
        return began
