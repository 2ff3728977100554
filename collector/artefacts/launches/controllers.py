"""Lines of a scheduler's own log, which is of all jobs of a cluster: those that are of this job.

A job's own log is named by its number, as `slurm-77.out` is. Where no file is, and the log of the
scheduler says how one job alone ended, it was cut out for that one.
"""

import re
from collections.abc import Iterable, Sequence

from .record import FiledReport

_NUMBER = re.compile(r"\d{1,12}")


def own(reports: Sequence[FiledReport], names: Iterable[str]) -> list[FiledReport]:
    """Return the reports without those of other jobs; `names`: of all files, empty ones too."""
    jobs = {one.report.job for one in reports} - {""}
    if not jobs:
        return list(reports)
    ours = jobs & {number for name in names for number in _NUMBER.findall(name)}
    ours = ours or (jobs if len(jobs) == 1 else set())
    return [one for one in reports if one.report.job in ("", *ours)]
