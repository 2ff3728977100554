"""Runs a case of a suite: what it found, and the pipeline where its leading causes are close."""

import math
import pickle
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from rankscope.collector.evaluation.schedule import ScheduleTime
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.lab.scoring import matching, results, running
from rankscope.lab.scoring.results import PIPELINE, CaseResult
from rankscope.lab.scoring.running import RecordingRun
from rankscope.lab.simulator import recording
from rankscope.lab.suites.cases import SuiteCase
from rankscope.vocabulary.incidents import Incident

from . import leads

CLOSE_NATS = 2.0
"""Leading causes that are at most so far apart are close: e^2 is seven to one."""


@dataclass(frozen=True, slots=True)
class AskedMoment:
    """A close incident when it is asked about: when it last changed while it and its fault lasted.

    `now` in epoch seconds. `evaluated`: how far evaluation had come. `pipeline` is pickled: each
    course of checks goes on from a copy. `run`: what was seen until then.
    """

    now: float
    evaluated: ScheduleTime
    pipeline: bytes
    incident: Incident


@dataclass(frozen=True, slots=True)
class CollectedCase:
    """A case as it came out, and the moment at which its incident is asked about, None: not close.

    `lead` in nats, of the first cause of the incident that is about the fault; None: none is.
    """

    result: CaseResult
    lead: float | None = None
    asked: AskedMoment | None = None


class OpenRun(RecordingRun):
    """Keeps each incident as it was when it last changed while it was open, and before `until`."""

    def __init__(self, until: float = math.inf) -> None:
        super().__init__()
        self._until = until
        self.open: dict[str, tuple[Incident, float]] = {}

    def _changed(self, changes: Sequence[object], now: float) -> None:
        super()._changed(changes, now)
        for identity, incident in self.incidents.items():
            held = self.open.get(identity)
            if (
                incident.status != "resolved"
                and now < self._until
                and (held is None or held[0] is not incident)
            ):
                self.open[identity] = (incident, now)


def collect(case: SuiteCase) -> CollectedCase:
    """Run a case; what any part raises becomes the error of its result."""
    empty = results.empty(case, case.name)
    try:
        made = recording.simulate(case.scenario, case.seed)
        truths = running.truths_of(made)
        run = OpenRun(max((truth.until for truth in truths), default=math.inf))
        run.play(made)
        result = _result(empty, made, run)
        outcome = matching.outcome(
            truths[0] if truths else None,
            result.found[PIPELINE],
            step_seconds=result.step_seconds,
            report_seconds=float(result.case["report_seconds"]),
        )
        if outcome.found is None or outcome.found.id not in run.open:
            return CollectedCase(result)
        incident, at = run.open[outcome.found.id]
        lead = leads.lead(incident.root_cause)
        asked = _moment(made, incident.id, at) if lead <= CLOSE_NATS else None
    except Exception:  # noqa: BLE001  the edge of one case: it is kept, and the others go on
        return CollectedCase(results.empty(case, case.name, error=traceback.format_exc()))
    return CollectedCase(result, lead, asked)


def _result(empty: CaseResult, made: recording.SimulatedRecording, run: RecordingRun) -> CaseResult:
    truths = running.truths_of(made)
    document = {name: getattr(empty, name) for name in CaseResult.__dataclass_fields__}
    document["samples"] = made.samples
    document["truth"] = truths[0] if truths else None
    document["also"] = truths[1:]
    document["found"] = {PIPELINE: running.in_order(run.seen.values())}
    document["detector_failures"] = dict(run.pipeline.detector_failures)
    return CaseResult(**document)


def _moment(made: recording.SimulatedRecording, identity: str, at: float) -> AskedMoment | None:
    """Play a recording up to a time, and return the pipeline as it is then."""
    run = OpenRun()
    schedule, now = run.deliver(made, until=at)
    schedule.until(max(now, at))
    held = run.open.get(identity)
    pipeline: DetectionPipeline = run.pipeline
    return held and AskedMoment(max(now, at), schedule.moment, pickle.dumps(pipeline), held[0])
