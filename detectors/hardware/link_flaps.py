"""Ports that go down and up again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import counters, ports

ERRORS = "hw.network.errors"
DOWNED = ("link_downed", "carrier_changes")


@dataclass(slots=True)
class _PortFlaps:
    """How often one port went down, by each of the sources that count it, and when."""

    entity: Entity
    counts: dict[str, float] = field(default_factory=dict[str, float])
    first: float = np.inf
    last: float = -np.inf

    def add(self, source: str, count: float, first: float, last: float) -> None:
        self.counts[source] = self.counts.get(source, 0.0) + count
        self.first, self.last = min(self.first, first), max(self.last, last)

    @property
    def times(self) -> float:
        """Return how often: by the source that saw most of them."""
        return max(self.counts.values(), default=0.0)


class LinkFlapsDetector(Detector):
    """Count how often ports of the job went down within the newest `seconds`.

    Three sources are counted apart and the highest counts: the port's own counter of lost links,
    changes of its readings, and events of the agent. Once or twice is evidence: transfers wait for
    the retries of their queue pairs and go on. `often` is a symptom by itself: each time the job
    stands still for as long as the link takes to train, and at the next one retries may run out.

    Parameters
    ----------
    seconds : the newest time range evaluated.
    often : from how many times on it is a symptom.

    Examples
    --------
    The port of the second host lost its link four times between second 20 and 50.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> lost = np.zeros((2, 13))
    >>> lost[1] = np.clip(np.arange(13) - 4, 0, 4)
    >>> window = sketch(np.full((4, 60), 0.8), host_readings={
    ...     "hw.network.errors|mlx5_0|link_downed|1": readings(START + np.arange(0, 61, 5), lost)})
    >>> (flaps,) = LinkFlapsDetector().evaluate(window)
    >>> flaps.kind, str(flaps.entity), flaps.magnitude
    ('nic.flapping', 'nic host-1/mlx5_0:1', 4.0)

    Fails where a link flaps between two readings and no counter keeps count.

    References: InfiniBand PortCounters (LinkDowned).
    """

    name = "link_flaps"
    kinds = ("nic.flapped", "nic.flapping")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 900.0, often: int = 3) -> None:
        self.seconds = seconds
        self.often = often

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a port that went down and is up again, or flaps."""
        key = (LinkFlapsDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window))

    def _evaluated(self, window: JobWindow) -> Sequence[Finding]:
        found: dict[str, _PortFlaps] = {}
        self._counters(window, found)
        self._readings(window, found)
        self._events(window, found)
        findings = []
        for flaps in found.values():
            often = flaps.times >= self.often
            times = "once" if flaps.times < 2 else f"{flaps.times:.0f} times"
            findings.append(
                report(
                    window,
                    self.name,
                    "nic.flapping" if often else "nic.flapped",
                    flaps.entity,
                    onset=flaps.first,
                    magnitude=flaps.times,
                    score=3.0 if often else 2.0,
                    signal=ERRORS,
                    observed=flaps.times,
                    expected=0.0,
                    text=f"{flaps.entity} lost its link {times} in {self.seconds / 60:.0f} minutes",
                )
            )
        return findings

    def _counters(self, window: JobWindow, found: dict[str, _PortFlaps]) -> None:
        down = _down(window)
        for plane in ports.planes(window, ERRORS, DOWNED):
            grown = counters.growth(plane.readings, self.seconds)
            for number, row in enumerate(grown.rows.tolist()):
                entity = plane.entity(window, row)
                if entity is None or grown.last[number, 1] < window.attempt_started_at:
                    continue
                # The carrier changes twice a flap.
                count = float(grown.total[number])
                count = np.ceil(count / 2) if plane.middle == "carrier_changes" else count
                # The newest loss of a port that is down is no flap yet.
                count -= entity.id in down
                if count <= 0:
                    continue
                first, last = float(grown.first[number, 1]), float(grown.last[number, 1])
                held = found.setdefault(entity.id, _PortFlaps(entity))
                held.add(plane.middle, float(count), first, last)

    def _readings(self, window: JobWindow, found: dict[str, _PortFlaps]) -> None:
        for plane in ports.planes(window, "hw.network.up"):
            newest = plane.readings.newest_at()
            if newest == -np.inf:
                continue
            held = plane.readings.between(newest - self.seconds, np.inf)
            some = np.flatnonzero((held.value == 0).any(axis=1) & (held.value == 1).any(axis=1))
            for row in some.tolist():
                order = np.argsort(held.at[row], kind="stable")
                at, state = held.at[row][order], held.value[row][order]
                valid = np.isfinite(at) & np.isfinite(state) & (at >= newest - self.seconds)
                at, state = at[valid], state[valid]
                down = np.flatnonzero((state[1:] == 0) & (state[:-1] == 1)) + 1
                # The newest one, if the port has stayed down since, is no flap yet.
                if len(down) and (state[down[-1] :] == 0).all():
                    down = down[:-1]
                entity = plane.entity(window, row)
                if len(down) and entity is not None:
                    first, last = float(at[down[0]]), float(at[down[-1]])
                    held_port = found.setdefault(entity.id, _PortFlaps(entity))
                    held_port.add("readings", float(len(down)), first, last)

    def _events(self, window: JobWindow, found: dict[str, _PortFlaps]) -> None:
        for event in ports.events(window, "network.link"):
            entity = ports.of_event(window, event)
            old = event.at < window.now - self.seconds
            if entity is None or old or event.attributes.get("reason") == "admin":
                continue
            changes = event.attributes.get("count")
            # Folded events count changes; of single ones the coming up closes a flap.
            count = 0.0
            if isinstance(changes, int) and changes > 1:
                count = changes / 2
            elif event.attributes.get("state") == "up":
                count = 1.0
            if count:
                held = found.setdefault(entity.id, _PortFlaps(entity))
                held.add("events", count, event.at, event.at)


def _down(window: JobWindow) -> set[str]:
    """Return the ids of the ports that are down by their newest reading."""
    return {
        entity.id
        for plane in ports.planes(window, "hw.network.up")
        for row in np.flatnonzero(plane.readings.latest()[0] == 0).tolist()
        if (entity := plane.entity(window, row)) is not None
    }
