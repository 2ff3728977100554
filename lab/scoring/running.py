"""One case through the real pipeline, as a replay of its recording would do it."""

import hashlib
import math
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ...collector.evaluation.schedule import EvaluationSchedule, ScheduleHooks
from ...collector.intake.payloads import DecodedPayload
from ...collector.pipeline.pipeline import DetectionPipeline
from ...detectors.window import JobWindow
from ...formats.otlp.columns import MetricsBatch, PointColumns
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Incident
from ...vocabulary.samples import Event
from ..simulator import arrivals, recording
from ..simulator.devices import MODELS
from ..simulator.memory import HOST_MEMORY
from ..simulator.shape import EPOCH, SimulationScenario
from ..suites.cases import SuiteCase
from . import baselines, results
from .results import PIPELINE, CaseResult
from .seen import GROWTH, CaseTruth, SeenIncident, of_incident, of_observation

RUN_ON_SECONDS = 30.0
"""Time runs on for so long after the last delivery, as at the end of a recording."""

_PACKAGES = ("alerts", "collector", "detectors", "formats", "vocabulary", "lab/simulator")
_OWN = ("lab/scoring/running.py", "lab/scoring/seen.py", "lab/scoring/baselines")


class RecordingRun:
    """One recording driven through a pipeline; keeps every incident and what was delivered."""

    def __init__(self) -> None:
        self.pipeline = DetectionPipeline()
        self.incidents: dict[str, Incident] = {}
        self.seen: dict[str, SeenIncident] = {}
        self.delivered: list[tuple[float, PointColumns]] = []
        self.events: list[tuple[float, Event]] = []
        self.grows: dict[tuple[str, Entity], float] = {}
        self._found_at: dict[tuple[str, str, str], float] = {}

    def play(self, made: recording.SimulatedRecording) -> None:
        """Deliver a recording, and let time run on. Raises what the pipeline raised."""
        self.end(*self.deliver(made))

    def deliver(
        self, made: recording.SimulatedRecording, *, until: float = math.inf
    ) -> tuple[EvaluationSchedule, float]:
        """Deliver a recording, as far as that is asked for; return its time with its schedule.

        Raises what the pipeline raised.
        """
        evaluation = EvaluationSchedule(
            self.pipeline, ScheduleHooks(changed=self._changed, failed=_raise)
        )
        if self.pipeline.watch is None:
            self.pipeline.watch = self._watch
        now = 0.0
        for at, what in made.batches(self.pipeline.table):
            if at > until:
                break
            now = max(now, at)
            if isinstance(what, MetricsBatch):
                self.delivered.append((now, what.columns))
                evaluation.apply(DecodedPayload(metrics=what), now)
            else:
                self.events += [(now, event) for event in what]
                evaluation.apply(DecodedPayload(events=what), now)
        return evaluation, now

    def end(self, evaluation: EvaluationSchedule, now: float) -> None:
        """Let time run on after the last delivery, and keep what is observed then."""
        evaluation.until(now + RUN_ON_SECONDS)
        for row in self.pipeline.tracker.observations():
            key = (row.kind, row.entity.type, row.entity.id)
            one = of_observation(row, self._found_at.get(key, row.at))
            self.seen[one.id] = one

    def _changed(self, changes: Sequence[Any], now: float) -> None:
        for change in changes:
            incident = change.incident
            self.incidents[incident.id] = incident
            before = self.seen.get(incident.id)
            self.seen[incident.id] = of_incident(incident, now, before, self.grows)

    def _watch(self, window: JobWindow, findings: Sequence[Finding]) -> None:
        """Keep when each thing was first found, and how fast memory was first said to grow."""
        for row in findings:
            self._found_at.setdefault((row.kind, row.entity.type, row.entity.id), window.now)
            if row.kind in GROWTH and isinstance(row.observed, float):
                self.grows.setdefault((row.kind, row.entity), row.observed)


def truth_of(made: recording.SimulatedRecording) -> CaseTruth | None:
    """Return what went wrong in a recording."""
    found = _truth(made.truth, made.scenario.fault, made.scenario.cluster.accelerator)
    if found is None or made.truth is None:
        return found
    return replace(found, shown=arrivals.first_reports(made, made.truth))


def truths_of(made: recording.SimulatedRecording) -> tuple[CaseTruth, ...]:
    """Return everything that went wrong in a recording, the first fault first."""
    accelerator = made.scenario.cluster.accelerator
    both = (truth_of(made), _truth(made.also, made.scenario.also, accelerator))
    return tuple(truth for truth in both if truth is not None)


def _truth(
    true: recording.RecordingTruth | None, settings: Mapping[str, Any] | None, accelerator: str
) -> CaseTruth | None:
    if true is None:
        return None
    until = float((settings or {}).get("until", "inf"))
    growth = _growth(settings or {}, accelerator)
    return CaseTruth(
        true.fault, true.entity, true.job, true.onset, EPOCH + until, growth, true.effects,
        accepted=true.accepted,
    )  # fmt: skip


def _growth(fault: Mapping[str, Any], accelerator: str) -> float | None:
    """Return the bytes a second by which a leak grows, None where there is none."""
    size = {
        "gpu_leak": MODELS[accelerator].memory,
        "host_leak": HOST_MEMORY,
        "dataloader_leak": HOST_MEMORY / max(int(fault.get("workers", 1)), 1),
    }.get(str(fault.get("kind")))
    return None if size is None else float(fault["rate"]) / 60 * size


def run(case: SuiteCase, *, key: str = "", with_baselines: bool = True) -> CaseResult:
    """Return the result of a case; an exception of any part becomes its `error`."""
    cpu: dict[str, float] = {}
    found: dict[str, tuple[SeenIncident, ...]] = {}
    error, truths, samples, failures = "", tuple[CaseTruth, ...](), 0, dict[str, int]()
    began = time.process_time()
    try:
        made = recording.simulate(case.scenario, case.seed)
        truths, samples = truths_of(made), made.samples
        cpu["simulation"], began = _lap(began)
        played = RecordingRun()
        played.play(made)
        cpu[PIPELINE], began = _lap(began)
        found[PIPELINE] = in_order(played.seen.values())
        failures = dict(played.pipeline.detector_failures)
        if with_baselines:
            job = case.scenario.jobs[0].name
            found |= baselines.found(played.pipeline.table, played.delivered, played.events, job)
            cpu["baselines"], began = _lap(began)
    except Exception:  # noqa: BLE001  the edge of one case: it is kept, and the others go on
        error = traceback.format_exc()
    return replace(
        results.empty(case, key, error=error),
        samples=samples,
        truth=truths[0] if truths else None,
        also=truths[1:],
        found=found,
        cpu=cpu,
        detector_failures=failures,
    )


def in_order(rows: Any) -> tuple[SeenIncident, ...]:
    """Return incidents by when they opened."""
    return tuple(sorted(rows, key=lambda row: (row.opened_at, row.id)))


def key(case: SuiteCase, *, with_baselines: bool) -> str:
    """Return what a result is kept under: it changes with the case and with any code behind it."""
    text = f"{code_version()} {case.suite} {with_baselines} {case.seed} {_text(case.scenario)}"
    return f"{case.name} {hashlib.sha256(text.encode()).hexdigest()[:20]}"


@cache
def code_version() -> str:
    """Return a hash over the code and tables that decide what a case gives."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for part in (*_PACKAGES, *_OWN):
        at = root / part
        files = [at] if at.is_file() else sorted(at.rglob("*"))
        for file in files:
            if file.suffix in (".py", ".toml"):
                digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _text(scenario: SimulationScenario) -> str:
    """Return a scenario as text: its settings are plain values, in the order of their fields."""
    fault = sorted((scenario.fault or {}).items())
    also = sorted((scenario.also or {}).items())
    parts = (scenario.seconds, scenario.cluster, scenario.jobs, scenario.reporting, fault, also)
    return repr(parts)


def _lap(began: float) -> tuple[float, float]:
    now = time.process_time()
    return now - began, now


def _raise(_stage: str, error: Exception) -> None:
    raise error
