"""Incidents meet windows: the steps of a job as they would be without an incident's cause.

Asked only where an incident's document is made anew, and of one incident at most every ten seconds
(`alerts/counterfactuals.py`): a job without trouble costs nothing.
"""

from ...detectors.counterfactual import comparing
from ...detectors.window import JobWindow
from ...vocabulary.counterfactuals import StepComparison
from ...vocabulary.ids import Fault
from ...vocabulary.ranks import RankSet


def compared(
    window: JobWindow, fault: Fault, ranks: RankSet, onset: float
) -> StepComparison | None:
    """Return the steps of a window since an onset, as they are and without a fault at ranks."""
    return comparing.compared(window, fault, ranks, onset)
