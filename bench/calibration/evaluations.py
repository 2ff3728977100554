"""What the incident tracker of a case was given at each evaluation: findings, layout, health.

Causes are ranked again from it with other weights in a hundredth of the time that the detectors
take. Detectors look a little more carefully while an incident slows the job (`slows`); that this
incident would have been another one under other weights is left out of account.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from rankscope.alerts import repairs
from rankscope.alerts.affected_job import JobHealth
from rankscope.alerts.causes.catalogue import CauseCatalogue
from rankscope.alerts.causes.engine import RootExplanation, explanations
from rankscope.alerts.counterfactuals import StepMeter, unmeasured
from rankscope.alerts.lifecycle import IncidentChange
from rankscope.alerts.tracker import (
    Explain,
    IncidentTracker,
    Notes,
    Stacks,
    no_notes,
    no_stacks,
)
from rankscope.collector.pipeline.job_state import observed
from rankscope.detectors.window import JobWindow
from rankscope.lab.scoring.seen import CaseTruth, SeenIncident, of_incident
from rankscope.vocabulary.findings import Finding
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology


@dataclass(frozen=True, slots=True)
class JobEvaluation:
    """One second at which one job was evaluated; `clock_skew` in seconds."""

    now: float
    job: Job
    attempt: int
    findings: tuple[Finding, ...]
    topology: JobTopology
    observed: frozenset[str]
    clock_skew: float
    health: JobHealth


@dataclass(frozen=True, slots=True)
class TrackedCase:
    """A case with everything that its tracker was given.

    `case` is what was drawn, `truths` what went wrong (one for each fault), `found` the incidents
    of that run.
    """

    case: dict[str, Any]
    step_seconds: float
    truths: tuple[CaseTruth, ...]
    evaluations: tuple[JobEvaluation, ...]
    found: tuple[SeenIncident, ...] = ()
    error: str = ""


class RecordingTracker(IncidentTracker):
    """A tracker that keeps what it is given; equal findings are kept once."""

    def __init__(self) -> None:
        super().__init__()
        self.evaluations: list[JobEvaluation] = []
        self._kept: dict[tuple[object, ...], Finding] = {}

    def update(
        self,
        job: Job,
        attempt: int,
        findings: Sequence[Finding],
        explain: Explain,
        health: JobHealth,
        now: float,
        *,
        notes: Notes = no_notes,
        stacks: Stacks = no_stacks,
        seen: repairs.Seen = repairs.unread,
        meter: StepMeter = unmeasured,
    ) -> list[IncidentChange]:
        """Keep what is given, and take it."""
        window: JobWindow = cast("partial[Any]", explain).args[0]
        self.evaluations.append(
            JobEvaluation(
                now,
                job,
                attempt,
                tuple(self._once(finding) for finding in findings),
                window.topology,
                observed(window),
                window.clock_skew,
                health,
            )
        )
        return super().update(
            job, attempt, findings, explain, health, now, notes=notes, stacks=stacks, seen=seen,
            meter=meter,
        )  # fmt: skip

    def _once(self, finding: Finding) -> Finding:
        key = (finding.kind, finding.entity, finding.onset, finding.window, finding.text)
        held = self._kept.get(key)
        if held is None or held != finding:
            self._kept[key] = held = finding
        return held


@dataclass(slots=True)
class RerankedCase:
    """The incidents of a case, ranked again with a catalogue."""

    tracker: IncidentTracker = field(default_factory=IncidentTracker)
    seen: dict[str, SeenIncident] = field(default_factory=dict)

    def play(self, evaluations: Sequence[JobEvaluation], knowledge: CauseCatalogue | None) -> None:
        """Give a tracker what it was given; None for the catalogue that ships.

        From one second to the next findings are mostly the same: those are explained once.
        """
        held: tuple[tuple[object, ...], Sequence[RootExplanation]] = ((), ())
        for row in evaluations:

            def explain(
                live: Sequence[Finding], row: JobEvaluation = row
            ) -> Sequence[RootExplanation]:
                nonlocal held
                key = (*map(id, live), id(row.topology), row.observed, row.clock_skew)
                if key != held[0]:
                    made = explanations(
                        live,
                        row.topology,
                        observed=row.observed,
                        clock_skew=row.clock_skew,
                        knowledge=knowledge,
                    )
                    held = (key, made)
                return held[1]

            changes = self.tracker.update(
                row.job, row.attempt, row.findings, explain, row.health, row.now
            )
            for change in changes:
                incident = change.incident
                before = self.seen.get(incident.id)
                self.seen[incident.id] = of_incident(incident, row.now, before)
