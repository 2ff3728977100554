"""How much of a job's GPU time was of use: what incidents took, against what there was."""

from collections.abc import Sequence

from ..store.costs import Costs
from ..windows.summaries import JobSummary


class Goodput:
    """Answers for many jobs from one reading of the store.

    Incidents that overlap in time count each for itself, so the ratio errs to the low side.
    """

    def __init__(self, costs: Sequence[Costs]) -> None:
        self._lost: dict[str, list[tuple[float, float]]] = {}
        for row in costs:
            if row.jobs:
                # An incident of several jobs is charged to its first: counted once.
                lost = (row.opened_at, row.gpu_seconds_lost)
                self._lost.setdefault(row.jobs[0], []).append(lost)

    def of(self, job: JobSummary) -> float | None:
        """Return the share of the newest attempt's GPU seconds that was not lost.

        None before the job has run for a moment.
        """
        spent = (job.last_at - job.first_at) * job.world_size
        if spent <= 0:
            return None
        lost = sum(cost for at, cost in self._lost.get(job.job, ()) if at >= job.first_at)
        return min(max(1.0 - lost / spent, 0.0), 1.0)
