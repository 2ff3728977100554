"""Whether a sender may speak for the jobs its payload is about.

A payload that is about any other job is refused as a whole: the journal keeps payloads as they
came, and a replay knows nothing of tokens.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ...formats.otlp.columns import SeriesTable
from .payloads import DecodedPayload


class NotPermittedError(Exception):
    """The payload is about a job that its sender's token is not for."""


def check(decoded: DecodedPayload, patterns: Sequence[str], table: SeriesTable) -> None:
    """Raise NotPermittedError unless everything in the payload belongs to permitted jobs."""
    if not patterns:
        return
    for job in _jobs(decoded, table):
        if job is None:
            raise NotPermittedError("this token is limited to some jobs: send nothing without one")
        if not any(fnmatchcase(job, pattern) for pattern in patterns):
            raise NotPermittedError(f"this token is not for job {job!r}")


def _jobs(decoded: DecodedPayload, table: SeriesTable) -> set[str | None]:
    """Return the jobs of all that the payload is about, whether or not anything of it is kept."""
    if decoded.metrics is None:
        return {resource.job for resource in decoded.resources}
    return {table.resources[number].job for number in decoded.metrics.resources}
