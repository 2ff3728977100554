"""Runs cases of suites and keeps what their trackers were given, one file a case.

Files are this command's own, under the folder that it is given: they are pickles, and nobody else's
are ever read. A case whose file is there is not run again: after a change of detectors take another
folder.
"""

import pickle
import traceback
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

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


def collected(cases: Sequence[SuiteCase], folder: Path) -> Iterator[TrackedCase]:
    """Return the cases in their order, run where no file is there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        path = file(case, folder)
        held = read(path)
        if held is None:
            held = collect(case)
            write(held, path)
        yield held


def file(case: SuiteCase, folder: Path) -> Path:
    """Return where a case is kept; cases of one name and other seeds are apart."""
    return folder / f"{case.suite}-{case.name}-{case.seed}.tracked"


def write(tracked: TrackedCase, path: Path) -> None:
    """Write a case. Raises OSError."""
    new = path.with_suffix(".new")
    new.write_bytes(zlib.compress(pickle.dumps(tracked, protocol=5), 3))
    new.replace(path)


def read(path: Path) -> TrackedCase | None:
    """Return a case that `write` has written, None where there is none."""
    if not path.exists():
        return None
    tracked: TrackedCase = pickle.loads(zlib.decompress(path.read_bytes()))  # noqa: S301  our own
    return tracked
