"""The attempts of every job: named by their telemetry, else derived from when processes started."""

import bisect
import heapq

from ...vocabulary.ids import Job
from .attempt import JobAttempt
from .bounds import BoundNotes, WindowBounds

SAME_START_SECONDS = 5.0
"""Processes whose reported starts differ by less are one start at different precision."""

GOES_ON_SECONDS = 60.0
"""An attempt whose telemetry came so shortly before that of another goes on beside it."""

NEWEST_KEPT = 3
"""Attempts of a job that are never let go of for being many."""


class AttemptRegister:
    """Attempts by job and number, bounded: see `of`.

    `numbered` is by their number in the windows, None when gone. `crowded` has the jobs that hold
    as many attempts as they may: somebody has to remove old ones.
    """

    def __init__(self) -> None:
        self.bounds = WindowBounds()
        self.notes = BoundNotes()
        self.by_key: dict[tuple[Job, int], JobAttempt] = {}
        self.numbered: list[JobAttempt | None] = []
        self.crowded: set[Job] = set()
        self._of_job: dict[Job, list[int]] = {}
        """The numbers of a job's attempts, ascending."""
        self._free: list[int] = []
        """Numbers in the windows that nobody has, as a heap."""
        self._clusters: dict[Job, str] = {}
        """The cluster that first reported a job."""
        self._in_order: list[Job] | None = None

    def of(self, job: Job, number: int | None, cluster: str | None) -> JobAttempt | None:
        """Return an attempt, a new one if needed; without a number the newest of the job.

        A job of another cluster that has the same id is another job: it goes by `id@cluster`. None,
        and noted, for one more job than there may be, or attempt of a job.
        """
        if cluster and self._clusters.get(job, cluster) != cluster:
            job = Job(f"{job}@{cluster}")
        numbers = self._of_job.get(job)
        if numbers is None and len(self._of_job) >= self.bounds.jobs:
            self.notes.add("jobs", job)
            return None
        if cluster:
            self._clusters.setdefault(job, cluster)
        if number is None:
            if numbers:
                return self._current(job)
            return self._add(job, 0, cluster, derived=True)
        found = self.by_key.get((job, number))
        if found is None and len(numbers or ()) >= self.bounds.attempts + NEWEST_KEPT:
            self.notes.add("attempts", job)
            return None
        return self._add(job, number, cluster, derived=False) if found is None else found

    def renew(self, attempt: JobAttempt) -> None:
        """Let an attempt begin anew, as one that is checked; its events stay."""
        self.remove(attempt)
        found = self._add(attempt.job, attempt.number, attempt.cluster, derived=attempt.derived)
        found.checked, found.world_size = True, attempt.newest_world_size
        found.events, found.reports = attempt.events, attempt.reports
        found.last_received = attempt.last_received

    def next(self, attempt: JobAttempt) -> JobAttempt:
        """Return the attempt that follows a derived one."""
        newest = self._of_job[attempt.job][-1]
        return self._add(attempt.job, newest + 1, attempt.cluster, derived=True)

    def newest(self, job: Job) -> JobAttempt | None:
        """Return the newest attempt of a job, None where it has none."""
        return self._current(job) if job in self._of_job else None

    def current(self) -> list[JobAttempt]:
        """Return the newest attempt of every job, in the order of their ids."""
        if self._in_order is None:
            self._in_order = sorted(self._of_job)
        return [self._current(job) for job in self._in_order]

    def _current(self, job: Job) -> JobAttempt:
        """Return the newest attempt of a job; one that is only claimed replaces none that goes on.

        It goes on that has ranks which are checked, and reported with or after the claims.
        """
        numbers = self._of_job[job]
        newest = self.by_key[job, numbers[-1]]
        if newest.claims and not newest.checked:
            for number in reversed(numbers[:-1]):
                held = self.by_key[job, number]
                if held.checked and held.last_received > newest.last_received - GOES_ON_SECONDS:
                    return held
        return newest

    def older(self, job: Job) -> list[JobAttempt]:
        """Return the attempts of a job but for the newest few."""
        return [self.by_key[job, number] for number in self._of_job[job][:-NEWEST_KEPT]]

    def remove(self, attempt: JobAttempt) -> None:
        """Forget an attempt; its number in the windows is used again."""
        job = attempt.job
        del self.by_key[job, attempt.number]
        self.numbered[attempt.number_in_windows] = None
        heapq.heappush(self._free, attempt.number_in_windows)
        self._of_job[job].remove(attempt.number)
        self.crowded.discard(job)
        if not self._of_job[job]:
            del self._of_job[job]
            self._clusters.pop(job, None)
            self._in_order = None

    def _add(self, job: Job, number: int, cluster: str | None, *, derived: bool) -> JobAttempt:
        if self._free:
            place = heapq.heappop(self._free)
        else:
            place = len(self.numbered)
            self.numbered.append(None)
        found = JobAttempt(job, number, cluster, number_in_windows=place, derived=derived)
        numbers = self._of_job.get(job)
        if numbers is None:
            numbers = self._of_job[job] = []
            self._in_order = None
        before = bisect.bisect_left(numbers, number)
        if before:
            last = self.by_key[job, numbers[before - 1]]
            found.baselines.follow(last.baselines)
            found.changed_before = last.changes_after_steps()
        numbers.insert(before, number)
        if len(numbers) >= self.bounds.attempts:
            self.crowded.add(job)
        self.by_key[job, number] = self.numbered[place] = found
        return found
