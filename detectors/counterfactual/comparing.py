"""The newest steps of a job as they are, and as they would be without one cause.

Where ranks report the parts of their steps, a step is replayed over its dependencies with the
suspects' own work replaced by that of their peers, and what everybody waits for in collectives by
what it was. Else the steps before the onset say how long one would take.
"""

from collections.abc import Iterable

import numpy as np

from ...vocabulary.counterfactuals import CounterfactualBasis, StepComparison
from ...vocabulary.ids import Fault
from ..arrays import Floats
from ..window import JobWindow
from . import history
from .history import PredictedMean
from .replay import replayed
from .spans import StepSpans, spans_of


def compared(
    window: JobWindow, fault: Fault, ranks: Iterable[int], onset: float
) -> StepComparison | None:
    """Return the steps since an onset with and without a fault at some ranks (none: everywhere).

    None where too few steps are known, or nothing says what they would be.
    """
    spans = spans_of(window, onset)
    if spans is None:
        return None
    held = (window.row_of(rank) for rank in ranks)
    rows = np.array([row for row in held if row is not None], np.int64)
    by_phases = replayed(window, spans, fault, rows)
    if by_phases is not None and by_phases.known:
        return _comparison(window, spans, by_phases, "phases")
    by_durations = _by_durations(window, spans)
    if by_durations is not None and by_durations.known:
        return _comparison(window, spans, by_durations, "durations")
    return None


def _by_durations(window: JobWindow, spans: StepSpans) -> PredictedMean | None:
    """Return the steps as long as those before the onset, None where too few are known."""
    now = history.without_long(window.features.duration[spans.now])
    before = history.without_long(window.features.duration[spans.before])
    return history.predicted(before, int(np.isfinite(now).sum()))


def _comparison(
    window: JobWindow, spans: StepSpans, found: PredictedMean, basis: CounterfactualBasis
) -> StepComparison:
    features = window.features
    now: Floats = history.without_long(features.duration[spans.now])
    step = float(np.nanmean(now))
    index = features.steps.index[spans.now]
    return StepComparison(
        step_seconds=step,
        without=found.no_longer_than(step),
        basis=basis,
        first=int(index[0]),
        last=int(index[-1]),
        until=float(np.nanmax(features.step_ends[spans.now])),
    )
