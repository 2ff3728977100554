"""Simulated cases, each twice from one seed: with its fault, and without it.

The step time without the fault is that of the same steps in the second world. Random draws of both
worlds agree as far as their steps do: what healthy ranks do by chance is mostly the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankscope.alerts.lifecycle import TrackedIncident
from rankscope.collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from rankscope.collector.intake.payloads import DecodedPayload
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp.columns import MetricsBatch
from rankscope.lab.scoring import placing, running
from rankscope.lab.simulator import recording
from rankscope.lab.suites.cases import SuiteCase
from rankscope.vocabulary.counterfactuals import StepComparison
from rankscope.vocabulary.ids import IncidentId, Job

from .figures import MeasuredCase

LONG = 5.0
"""Steps so many times longer than the median are none: as the meter does."""


@dataclass(slots=True)
class _MeteredRun:
    """One recording driven through a pipeline; keeps the last comparison of each incident."""

    pipeline: DetectionPipeline
    job: Job
    found: dict[IncidentId, tuple[StepComparison, TrackedIncident]]

    def play(self, made: recording.SimulatedRecording) -> None:
        schedule = EvaluationSchedule(
            self.pipeline, ScheduleHooks(changed=self._changed, failed=_raise)
        )
        now = 0.0
        for at, what in made.batches(self.pipeline.table):
            now = max(now, at)
            payload = (
                DecodedPayload(metrics=what)
                if isinstance(what, MetricsBatch)
                else DecodedPayload(events=what)
            )
            schedule.apply(payload, now)
        schedule.until(now + running.RUN_ON_SECONDS)

    def _changed(self, _changes: Sequence[object], _now: float) -> None:
        for incident in self.pipeline.tracker.of_job(self.job):
            part = incident.parts.get(self.job)
            if part is not None and incident.announced and part.measured.steps is not None:
                self.found[incident.id] = (part.measured.steps, incident)


def measured(case: SuiteCase) -> list[MeasuredCase]:
    """Return what the incidents of a case say of its steps, beside the truth."""
    made = recording.simulate(case.scenario, case.seed)
    truth = running.truth_of(made)
    if truth is None:
        return []
    run = _MeteredRun(DetectionPipeline(), Job(truth.job), {})
    run.play(made)
    if not run.found:
        return []
    without = replace(case.scenario, fault=None, also=None)
    healthy = step_times(recording.simulate(without, case.seed))
    faulty = step_times(made)
    found = []
    for number, (steps, incident) in enumerate(run.found.values()):
        true = mean(healthy, steps)
        now = mean(faulty, steps)
        if true is None or now is None or incident.first is None:
            continue
        first = incident.first.cause.hypotheses[0]
        right = first.fault == truth.fault and placing.at_fault(first.entity, truth)
        found.append(
            MeasuredCase(
                name=f"{case.name}/{number}",
                fault=truth.fault,
                named=first.fault,
                right=right,
                basis=steps.basis,
                now=now,
                truth=true,
                estimate=steps.without.step_seconds,
                low=steps.without.low,
                high=steps.without.high,
            )
        )
    return found


def step_times(made: recording.SimulatedRecording) -> dict[int, float]:
    """Return how long each step of the first job's last attempts took (s), by its index."""
    found: dict[int, float] = {}
    for attempt in made.attempts:
        if attempt.job.name != made.scenario.jobs[0].name or not attempt.steps.index:
            continue
        took = np.stack(attempt.steps.end) - np.stack(attempt.steps.start)
        found |= dict(zip(attempt.steps.index, np.median(took, axis=1).tolist(), strict=True))
    return found


def mean(steps: dict[int, float], of: StepComparison) -> float | None:
    """Return the mean of the steps that were compared, None where too few of them were made."""
    held = [steps[index] for index in range(of.first, of.last + 1) if index in steps]
    if len(held) < 0.8 * (of.last - of.first + 1):
        return None
    taken = np.array(held)
    return float(taken[taken <= LONG * np.median(taken)].mean())


def _raise(_stage: str, error: Exception) -> None:
    raise error
