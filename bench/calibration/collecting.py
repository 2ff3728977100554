"""Runs a case of a suite, and collects what its tracker was given."""

import traceback

from rankscope.lab.scoring import running
from rankscope.lab.simulator import recording
from rankscope.lab.suites.cases import SuiteCase

from .evaluations import RecordingTracker, TrackedCase


def collect(case: SuiteCase) -> TrackedCase:
    """Run a case through the pipeline; what any part raises becomes its `error`."""
    tracker = RecordingTracker()
    step = case.scenario.jobs[0].step_seconds
    try:
        made = recording.simulate(case.scenario, case.seed)
        played = running.RecordingRun()
        played.pipeline.tracker = tracker
        played.play(made)
    except Exception:  # noqa: BLE001  the edge of one case: it is kept, and the others go on
        return TrackedCase(case.document(), step, (), (), error=traceback.format_exc())
    return TrackedCase(
        case=case.document(),
        step_seconds=step,
        truths=running.truths_of(made),
        evaluations=tuple(tracker.evaluations),
        found=running.in_order(played.seen.values()),
    )
