"""How much of a job's GPU time was of use: what incidents took, against what there was."""

from ..windows.queries import JobSummary
from .ledger import Ledger


def goodput(job: JobSummary, ledger: Ledger) -> float | None:
    """Return the share of the newest attempt's GPU seconds that was not lost.

    None before the job has run for a moment. Incidents that overlap in time count each for itself,
    so the ratio errs to the low side.
    """
    spent = (job.last_at - job.first_at) * job.world_size
    if spent <= 0:
        return None
    lost = ledger.lost(job.job, since=job.first_at)
    return min(max(1.0 - lost / spent, 0.0), 1.0)
