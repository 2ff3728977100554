"""Throughput that falls, in the logs of a job that is over and says nothing else of its steps."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians, onsets
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..window import Floats, JobWindow

THROUGHPUT = ("training.throughput|sample", "training.throughput|token")
"""Planes of it: which of the two a framework counts makes no difference."""

FEWEST = 5
"""Reports in a row that are slow, and reports that are not, say something."""

FASTEST, SLOW, APART = 0.1, 1.5, 1.25
"""Share of the reports that is taken for the job's best; how many times as long a sample takes in
a slow one; how far from the middle of the others hardly any lies."""

STRAY = 0.1
"""Share of the others that may."""

STEEP, FEW = 4.0, 3
"""A fall to the end of the log that is so many times as deep is told by so few reports."""

CHANCE = 0.01
"""How probable a run may be where reports are slow now and then anyway."""


class ThroughputDetector(EndedJobDetector):
    """Find a run of reports in which a sample took much longer than in the others.

    In no list of detectors: a live job's log has times, and steps their durations. What is left of
    a job that is over may have neither: some loops print samples a second and nothing else.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> from rankscope.detectors.sketch import sketch
    >>> rate = np.full((1, 40), 350.0)
    >>> rate[:, 20:30] = 40.0
    >>> window = sketch(np.ones((1, 40)), planes={THROUGHPUT[0]: rate})
    >>> del window.steps.planes[compute_time.STEP]
    >>> for finding in ThroughputDetector(over=0.0).evaluate(window):
    ...     print(finding.kind, finding.text)
    job.slow throughput is 40 a second instead of 350 from step 20 to step 29

    Fails for slowness of single reports, and where batches of other sizes explain it.

    Reference: MXNet's Speedometer, whose lines have nothing else.
    """

    name = "throughput"
    kinds = ("job.slow",)

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job: the longest run."""
        steps = window.features.steps
        name = next((one for one in THROUGHPUT if steps.has(one)), None)
        if name is None or steps.has(compute_time.STEP):
            return []
        rate = medians.median(steps.plane(name), axis=0)
        valid = np.flatnonzero(np.isfinite(rate) & (rate > 0))[1:]  # the first warms up
        if len(valid) < 2 * FEW:
            return []
        taken = 1 / rate[valid]
        run = _run(taken)
        if run is None:
            return []
        first, end, usual = run
        now = medians.middle(taken[first:end])
        begin, last = int(valid[first]), int(valid[end - 1])
        until = "on" if end == len(taken) else f"to step {int(steps.index[last])}"
        ends = window.features.step_ends
        return [
            report(
                window,
                self.name,
                "job.slow",
                window.entity,
                onset=float(ends[begin]),
                seen=(float(ends[begin]), float(ends[last])),
                magnitude=now / usual,
                score=(now / usual - 1) / (SLOW - 1),
                signal=compute_time.STEP,
                observed=1 / now,
                expected=1 / usual,
                text=f"throughput is {1 / now:.3g} a second instead of {1 / usual:.3g} "
                f"from step {int(steps.index[begin])} {until}",
            )
        ]


def _run(taken: Floats) -> tuple[int, int, float] | None:
    """Return where the longest run of slow reports begins and ends, and what is usual.

    `taken` is what a sample took in each report, s. None where there is no run that says something.
    """
    slow = taken > SLOW * float(np.quantile(taken, FASTEST))
    first = len(slow) - int(np.argmin(slow[::-1]))
    if len(slow) - first >= FEW and first >= FEW and not slow[:first].any():
        usual = medians.middle(taken[:first])
        apart = np.abs(taken[:first] / usual - 1)
        if apart.max() <= APART - 1 and medians.middle(taken[first:]) >= STEEP * usual:
            return first, len(taken), usual
    runs = onsets.episodes(slow, FEWEST, ends_after=1)
    if not runs or (~slow).sum() < FEWEST:
        return None
    first, newest = max(runs, key=lambda run: run[1] - run[0])
    end = newest + 1
    usual = medians.middle(taken[~slow])
    strays = float((np.abs(taken[~slow] / usual - 1) > APART - 1).mean())
    apart = np.concatenate([slow[:first], slow[end:]])
    often = (apart.sum() + 1) / (len(apart) + 2)
    by_chance = len(slow) * often ** (end - first) > CHANCE
    return None if strays > STRAY or by_chance else (first, end, usual)
