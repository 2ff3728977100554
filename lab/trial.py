"""One fault tried out: a simulated job that has it, through the pipeline, and what was found."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..vocabulary.times import rfc3339
from . import catalogue, layouts, phases, recordings
from .catalogue import FaultError
from .scoring import matching, running
from .scoring.matching import CaseOutcome
from .scoring.seen import CaseTruth
from .simulator import recording
from .simulator.recording import SimulatedRecording
from .simulator.shape import ScenarioError, SimulationScenario, Strength

Report = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class LabTrial:
    """What to try; `fault` is a fault id or a kind of the simulator.

    ranks: of the job; None: 16, or as many as the fault needs.
    """

    fault: str
    ranks: int | None = None
    seed: int = 0
    strength: Strength = "plain"
    out: Path | None = None


def run(trial: LabTrial, report: Report, *, as_json: bool) -> int:
    """Simulate the fault, print the truth and the incidents; return the exit code.

    0: it ran, found or not. 1: the recording could not be written. 2: there is no such fault, or no
    job of so many ranks can have it. 130: Ctrl-C.
    """
    unwritten = trial.out
    try:
        chosen = scenario(trial)
        with phases.phase(f"simulating {chosen.text}", sys.stderr):
            made = recording.simulate(chosen, trial.seed)
        if trial.out is not None:
            recordings.write(made, trial.out, progress=sys.stderr)
            unwritten = None
        played = running.RecordingRun()
        with phases.phase("evaluating the telemetry", sys.stderr) as done:
            played.play(phases.watched(made, done))
    except (FaultError, ScenarioError) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{trial.out}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return recordings.stopped(unwritten)
    _show(made, played, report, as_json=as_json)
    return 0


def scenario(trial: LabTrial) -> SimulationScenario:
    """Return the scenario of a trial. Raises FaultError."""
    kind = catalogue.simulated(trial.fault)
    return layouts.scenario(
        trial.fault, kind, trial.ranks, seed=trial.seed, strength=trial.strength
    )


def verdict(truth: CaseTruth, result: CaseOutcome) -> str:
    """Return in one line whether it was found, when, and whether entity and cause are right."""
    extra = f"; false incidents above info: {len(result.false)}" if result.false else ""
    if result.found is None or result.delay is None:
        return f"NOT FOUND: {truth.fault} at {truth.entity}{extra}"
    entity = "right entity" if result.right_entity else "WRONG ENTITY"
    cause = "right first cause" if result.right_cause else f"first cause {result.found.fault}"
    return f"FOUND after {result.delay:.1f} s: {entity}, {cause}{extra}"


def _show(
    made: SimulatedRecording, played: running.RecordingRun, report: Report, *, as_json: bool
) -> None:
    truth = running.truth_of(made)
    assert truth is not None  # noqa: S101  the scenario has a fault
    step = made.scenario.jobs[0].step_seconds
    push = made.scenario.reporting.push
    result = matching.outcome(
        truth, list(played.seen.values()), step_seconds=step, report_seconds=push
    )
    documents = [
        incident.document()
        for incident in sorted(played.incidents.values(), key=lambda row: (row.opened_at, row.id))
    ]
    if as_json:
        print(json.dumps({**_document(truth, result), "incidents": documents}))
        return
    print(f"simulated: {made.scenario.text}, {made.samples:,} samples")
    print(f"truth: {truth.fault} at {truth.entity} since {rfc3339(truth.onset)}")
    for document in documents:
        print(f"\n{report(document)}")
    print(f"\n{verdict(truth, result)}")


def _document(truth: CaseTruth, result: CaseOutcome) -> dict[str, Any]:
    true = {**truth.document(), "onset": rfc3339(truth.onset)}
    return {
        "truth": true,
        "found": result.found is not None,
        "delay_seconds": None if result.delay is None else round(result.delay, 3),
        "right_entity": result.right_entity,
        "right_cause": result.right_cause,
        "false_incidents": len(result.false),
    }
