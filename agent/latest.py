"""The latest value of every series of this node, for the page; what is stale is not shown.

A rank's per-step values live as long as the rank reports, and a value that its next step does not
bring (a checkpoint's duration) goes with that step. Readings live three periods.
"""

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..vocabulary import metrics
from ..vocabulary.samples import Attributes, Sample, TelemetryResource

PERIODS = 3
_INFO_SECONDS = 600.0
_MOST = 2000
"""Series kept of one rank: what it sends is a tenant's to choose."""

Series = tuple[str, Attributes]


@dataclass(slots=True)
class _RankValues:
    resource: TelemetryResource
    last_received: float
    steps: dict[Series, float] = field(default_factory=dict)
    others: dict[Series, tuple[float, float]] = field(default_factory=dict)  # value, stale at
    claimed: bool = False


@dataclass(slots=True)
class _ReaderValues:
    period: float
    stale_at: float
    values: list[tuple[TelemetryResource, Sample]]


class LatestValues:
    """Written by the agent's main thread, read by those who serve the page."""

    def __init__(self, *, period_seconds: float) -> None:
        self._period = period_seconds
        self._lock = threading.Lock()
        self._ranks: dict[Hashable, _RankValues] = {}
        self._readings: dict[str, _ReaderValues] = {}
        self._cadences: Mapping[str, str] = {
            name: metric.cadence for name, metric in metrics.catalogue().items()
        }

    def receive(
        self,
        sender: Hashable,
        resource: TelemetryResource,
        samples: Sequence[Sample],
        now: float,
        *,
        claimed: bool = False,
    ) -> None:
        """Note what a rank sent; `claimed`: nobody could check that it is that rank."""
        steps: dict[Series, float] = {}
        others: dict[Series, tuple[float, float]] = {}
        for sample in samples:
            cadence = self._cadences.get(sample.metric)
            if cadence is None:
                continue
            series = (sample.metric, sample.attributes)
            if cadence == "step":
                steps[series] = sample.value
            elif cadence != "sample":
                period = _INFO_SECONDS if cadence == "info" else self._period
                others[series] = (sample.value, now + PERIODS * period)
        with self._lock:
            rank = self._ranks.get(sender)
            if rank is None or rank.resource != resource:
                rank = self._ranks[sender] = _RankValues(resource, now)
            rank.last_received, rank.claimed = now, claimed
            if any(metric == "training.step" for metric, _ in steps):
                rank.steps = steps
            elif len(rank.steps) < _MOST:
                rank.steps.update(steps)
            if len(rank.others) < _MOST:
                rank.others.update(others)

    def read(
        self,
        reader: str,
        values: Iterable[tuple[TelemetryResource, Sample]],
        *,
        period: float,
        now: float,
    ) -> None:
        """Note a reading: it replaces the reader's last one.

        What was measured before it was read is as old as it was measured.
        """
        reading = _ReaderValues(period, now + PERIODS * period, list(values))
        with self._lock:
            self._readings[reader] = reading

    def forget(self, sender: Hashable) -> None:
        """Forget a rank whose process ended."""
        with self._lock:
            self._ranks.pop(sender, None)

    def forget_pid(self, pid: int) -> None:
        """Forget what readers reported of a process that ended."""
        mark = ("pid", pid)
        with self._lock:
            for reading in self._readings.values():
                reading.values = [one for one in reading.values if mark not in one[1].attributes]

    def series(self, now: float) -> list[tuple[TelemetryResource, str, Attributes, float]]:
        """Return what is fresh: the node's readings, then ranks, newest attempts first.

        Ranks that are only claimed come last.
        """
        with self._lock:
            for reader in [name for name, one in self._readings.items() if one.stale_at <= now]:
                del self._readings[reader]
            silent = now - PERIODS * self._period
            ranks = [rank for rank in self._ranks.values() if rank.last_received > silent]
            ranks.sort(
                key=lambda rank: (rank.claimed, -(rank.resource.attempt or 0), -rank.last_received)
            )
            found = [
                (resource, sample.metric, sample.attributes, sample.value)
                for reading in self._readings.values()
                for resource, sample in reading.values
                if sample.at + PERIODS * reading.period > now
            ]
            for rank in ranks:
                rank.others = {name: one for name, one in rank.others.items() if one[1] > now}
                found += [
                    (rank.resource, metric, pairs, value)
                    for (metric, pairs), (value, _) in rank.others.items()
                ]
                found += [
                    (rank.resource, metric, pairs, value)
                    for (metric, pairs), value in rank.steps.items()
                ]
        return found
