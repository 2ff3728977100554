"""The one pipeline of live and replay: batches and events in, incident changes out.

`now` is always passed in. One thread owns a pipeline; the same calls in the same order give the
same incidents, to the byte.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..alerts.causes.engine import explain, explanations
from ..alerts.lifecycle import Change, JobHealth, is_symptom
from ..alerts.tracker import IncidentTracker
from ..detectors import catalogue
from ..detectors.contract import Detector
from ..detectors.own_time import step_ends
from ..detectors.window import JobWindow
from ..formats.otlp.columns import MetricsBatch, SeriesTable
from ..vocabulary import metrics
from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import Incident
from ..vocabulary.samples import Event
from ..vocabulary.topology import Placement, Topology
from .windows import Windows
from .windows.attempt import Attempt

IDLE_SECONDS = 900.0
"""A job that nobody has reported for so long, and without an open case, is not evaluated."""

FORGET_EVERY = 600

UNKEPT = frozenset(row.name for row in metrics.catalogue().values() if row.cadence == "sample")
"""Samples of single operations: in the journal, but no detector of this version looks at them."""

_log = logging.getLogger(__name__)


class Pipeline:
    """Windows, detectors, cases."""

    def __init__(self, *, detectors: Sequence[Detector] | None = None) -> None:
        self.table = SeriesTable(unkept=UNKEPT)
        self.windows = Windows(self.table)
        self.tracker = IncidentTracker()
        self.detector_failures: dict[str, int] = {}
        self._detectors = tuple(detectors) if detectors is not None else catalogue.detectors()
        self._findings: dict[str, tuple[Finding, ...]] = {}

    @property
    def incidents(self) -> Mapping[IncidentId, Incident]:
        """Return every incident by id, as the machine sees it."""
        return self.tracker.incidents

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take a decoded batch, received at `now`."""
        self.windows.metrics(batch, now)

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events, received at `now`."""
        self.windows.events(events, now)

    def evaluate(self, now: float) -> list[Change]:
        """Evaluate every job at a whole second; return what changed."""
        changes: list[Change] = []
        for attempt in self.windows.current():
            idle = now - attempt.last_received > IDLE_SECONDS
            if idle and not self.tracker.has_open(attempt.job):
                continue
            window = self.windows.window(attempt, now)
            findings = self._found(window)
            self._findings[attempt.job] = findings
            there = partial(
                explanations,
                topology=_topology(window),
                observed=_observed(window),
                clock_skew=window.clock_skew,
            )
            changes += self.tracker.update(
                attempt.job,
                attempt.number,
                findings,
                there,
                _scene(window, attempt),
                now,
            )
        if int(now) % FORGET_EVERY == 0:
            self.windows.forget(now)
        return changes

    def explain(self, job: str, start: float, end: float) -> dict[str, Any] | None:
        """Return the root cause of what happened to a job in [start, end], None if nothing did.

        Looks at what the windows still hold, as if `end` were now.
        """
        attempt = self.windows.attempt_of(job)
        if attempt is None:
            return None
        window = self.windows.window(attempt, end, until=end)
        findings = [f for f in self._found(window) if f.onset[1] >= start or f.window[1] >= start]
        if not any(is_symptom(finding) for finding in findings):
            return None
        return explain(
            findings,
            _topology(window),
            observed=_observed(window),
            clock_skew=window.clock_skew,
        ).document()

    def scores(self) -> list[tuple[str, str, int, float]]:
        """Return (job, detector, rank, score) of the ranks that stood out last."""
        return [
            (job, finding.detector, int(finding.entity.id), finding.score)
            for job, findings in sorted(self._findings.items())
            for finding in findings
            if finding.entity.type == "rank"
        ]

    def _found(self, window: JobWindow) -> tuple[Finding, ...]:
        findings: list[Finding] = []
        for detector in self._detectors:
            try:
                findings += detector.evaluate(window)
            except Exception:  # noqa: BLE001
                # The edge of one detector: its defect is counted and reported, the others go on.
                count = self.detector_failures.get(detector.name, 0)
                self.detector_failures[detector.name] = count + 1
                if count == 0:
                    _log.exception("detector %s failed on job %s", detector.name, window.job)
        return tuple(findings)


def _scene(window: JobWindow, attempt: Attempt) -> JobHealth:
    ends = step_ends(window.steps)
    ends = ends[np.isfinite(ends)]
    return JobHealth(
        ranks=window.world_size,
        nodes=max(len(window.hosts), 1),
        cluster=window.cluster,
        attempt=attempt.number,
        last_step_at=float(ends[-1]) if len(ends) else float("-inf"),
        silent_seconds=window.now - attempt.last_received,
    )


def _observed(window: JobWindow) -> frozenset[str]:
    """Return the names of the metrics and events that some source of the job reports."""
    observed = {name.partition("|")[0] for name in window.steps.planes}
    for readings in (window.rank_readings, window.host_readings):
        observed |= {name.partition("|")[0] for name in readings}
    if window.steps.at.size:
        observed.add("training.step")
    for group in window.groups:
        for name, valid in (("enqueued", group.enqueued), ("completed", group.completed)):
            if np.isfinite(valid).any():
                observed.add(f"collective.{name}")
    return frozenset(observed | {event.name for event in window.events})


def _topology(window: JobWindow) -> Topology:
    placements = []
    for row, rank in enumerate(window.ranks):
        device = window.gpu_entity(row)
        pid = int(window.pids[row])
        placements.append(
            Placement(
                int(rank),
                window.host_name(row) or "",
                pid=pid if pid > 0 else None,
                hw_id=None if device is None else device.id,
            )
        )
    return Topology(
        Job(window.job),
        attempt=window.attempt,
        cluster=window.cluster,
        world_size=window.world_size,
        placements=placements,
        hosts=window.hosts,
    )
