"""How much of a job's GPU time was of use: what incidents took, against what it held."""

from collections.abc import Iterable

from ..windows.queries import JobSummary
from .ledger import CostLedger
from .metering import UsageMeter


class GoodputMeter:
    """The goodput of jobs: the same for every page, metric and report."""

    def __init__(self, ledger: CostLedger, metering: UsageMeter) -> None:
        self._ledger = ledger
        self._metering = metering

    def of(self, jobs: Iterable[JobSummary]) -> dict[str, float]:
        """Return the share of GPU seconds that incidents left, of every attempt of each job.

        A job that has hardly run has none.
        """
        return {
            job: share(self._ledger.lost(job), seconds)
            for job, seconds in self._metering.held(list(jobs)).items()
            if seconds > 0
        }


def share(lost: float, held: float) -> float:
    """Return the share of what was held that was not lost; what was lost has been held."""
    return min(max(1.0 - lost / held, 0.0), 1.0)
