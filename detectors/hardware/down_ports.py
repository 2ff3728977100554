"""Ports of the job's network that are down."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import INFORMATION, report
from ..tenants import guessed
from ..window import JobWindow
from . import devices, ports
from .link_flaps import LinkFlapsDetector

UP = "hw.network.up"
LINK = "network.link"

_Down = tuple[Entity, tuple[float, float], str, float]
"""A port that is down, between which moments it went down, in words, and a finding's score."""

_DOWN, _UNANSWERED = 3.0, 1.0
"""Scores of a port that is read down, and of one through which several peers got no answer: it may
be up, and the host behind it gone.
"""


class DownPortsDetector(Detector):
    """Name ports that are down and were up, or that nearly all other hosts have up.

    By the newest reading, or the newest event of the port. A port that nobody ever saw up is not in
    use, unless the ports of its name are up on nine of ten other hosts, three at least. One that a
    person set down is left alone. It is a symptom by itself: the traffic of the devices behind the
    port takes another way, at a fraction of the bandwidth, or waits until it times out.

    A link that is trained anew comes back within seconds: a port counts once it has been down for
    `hold` (link_flaps.py counts the others). One that went down and came back before has to be read
    down twice: where readings are rare, one of them proves no more than another flap.

    Peers that got no answer through a port, each of them, say so too (`unanswered`): it may be up
    then and its host gone, which counts less.

    Parameters
    ----------
    hold : seconds that a port must have been down.
    share : of the other hosts that must have the port up where it never was.

    Examples
    --------
    The port of the second host goes down at second 40.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> up = np.ones((2, 13))
    >>> up[1, 8:] = 0
    >>> window = sketch(np.full((4, 60), 0.8), host_readings={
    ...     "hw.network.up|mlx5_0|1": readings(START + np.arange(0, 61, 5), up)})
    >>> (down,) = DownPortsDetector().evaluate(window)
    >>> str(down.entity), down.onset[0] - START, down.onset[1] - START
    ('nic host-1/mlx5_0:1', 35.0, 40.0)

    Fails where only the switch sees that the link is down, and cannot tell cable from switch.

    References: Linux Documentation/ABI/stable/sysfs-class-infiniband (state, phys_state).
    """

    name = "down_ports"
    kinds = ("nic.down",)

    def __init__(self, *, hold: float = 10.0, share: float = 0.9) -> None:
        self.hold = hold
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        down = self._down(window)
        due = self._due(window, down)
        return [
            report(
                window,
                self.name,
                "nic.down",
                entity,
                onset=onset,
                score=score,
                signal=UP,
                observed="down",
                expected="up",
                text=f"{entity} {said}",
            )
            for name, (entity, onset, said, score) in down.items()
            if window.now >= due[name]
        ]

    def next_due(self, window: JobWindow) -> float:
        """Return when a port that is down will have been so for long enough."""
        due = self._due(window, self._down(window)).values()
        return min((at for at in due if at > window.now), default=np.inf)

    def _due(self, window: JobWindow, down: Mapping[str, _Down]) -> dict[str, float]:
        """Return by port from when on it has been down for long enough."""
        flaps = _flaps(window) if down else ()
        first = {found.entity.id: found.onset[1] for found in flaps}
        return {
            name: last + self.hold + (1.2 * (last - begun) if first.get(name, last) < begun else 0)
            for name, (_, (begun, last), *_) in down.items()
        }

    def _down(self, window: JobWindow) -> Mapping[str, _Down]:
        """Return (port, onset, words, score) of each port that is down, by id; once a window."""
        key = (DownPortsDetector, *vars(self).values())
        return window.features.once(key, lambda: self._looked_up(window))

    def _looked_up(self, window: JobWindow) -> dict[str, _Down]:
        found: dict[str, _Down] = {}
        for plane in ports.planes(window, UP):
            state, _ = plane.readings.latest()
            others = int((state == 1).sum())
            for row in np.flatnonzero(state == 0).tolist():
                entity = plane.entity(window, row)
                if entity is None:
                    continue
                was_up = bool((plane.readings.of(np.array([row])).value == 1).any())
                if not was_up and not (others >= 3 and others >= self.share * (len(state) - 1)):
                    continue
                first = devices.since(plane.readings, row, 0.5, below=True)
                since = first - plane.readings.period() if was_up else first
                found[entity.id] = (entity, (since, first), "is down", _DOWN)
        self._events(window, found)
        return found

    def _events(self, window: JobWindow, found: dict[str, _Down]) -> None:
        """Take in the newest event of each port: events come before readings."""
        newest = {
            port.id: (port, event)
            for event in ports.events(window, LINK)
            if (port := ports.of_event(window, event)) is not None
        }
        for name, (port, event) in newest.items():
            pairs = event.attributes
            if pairs.get("reason") == "admin":
                found.pop(name, None)
            elif pairs.get("state") == "up" and name in found:
                if event.at >= found[name][1][1]:
                    del found[name]
            elif pairs.get("state") == "down" and not ports.up_since(window, port, event.at):
                found[name] = (port, (event.at, event.at), *_said(event))


def _said(event: Event) -> tuple[str, float]:
    """Return in words what an event says of a port that is down, and the score of that."""
    why = str(event.attributes.get("text", ""))
    why = f": {why}" if why else ""
    if event.attributes.get("reason") == "unanswered":
        return f"did not answer{why}", INFORMATION if guessed(event) else _UNANSWERED
    return f"is down{why}", _DOWN


def _flaps(window: JobWindow) -> Sequence[Finding]:
    """Return the ports that flap."""
    return LinkFlapsDetector().evaluate(window)
