"""The attempts of every job: named by their telemetry, else derived from when processes started."""

from ...vocabulary.ids import Job
from .attempt import JobAttempt

SAME_START_SECONDS = 5.0
"""Processes whose reported starts differ by less are one start at different precision."""


class AttemptRegister:
    """Attempts by job and number. `numbered` is by their number in the windows, None when gone."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[Job, int], JobAttempt] = {}
        self.numbered: list[JobAttempt | None] = []
        self._newest: dict[Job, int] = {}
        self._clusters: dict[Job, str] = {}
        """The cluster that first reported a job."""

    def of(self, job: Job, number: int | None, cluster: str | None) -> JobAttempt:
        """Return an attempt, a new one if needed; without a number the newest of the job.

        A job of another cluster that has the same id is another job: it goes by `id@cluster`.
        """
        if cluster and self._clusters.setdefault(job, cluster) != cluster:
            job = Job(f"{job}@{cluster}")
        if number is None:
            newest = self._newest.get(job)
            if newest is not None:
                return self.by_key[job, newest]
            return self._add(job, 0, cluster, derived=True)
        found = self.by_key.get((job, number))
        return self._add(job, number, cluster, derived=False) if found is None else found

    def next(self, attempt: JobAttempt) -> JobAttempt:
        """Return the attempt that follows a derived one."""
        return self._add(attempt.job, self._newest[attempt.job] + 1, attempt.cluster, derived=True)

    def newest(self, job: Job) -> JobAttempt | None:
        """Return the newest attempt of a job, None where it has none."""
        number = self._newest.get(job)
        return None if number is None else self.by_key[job, number]

    def current(self) -> list[JobAttempt]:
        """Return the newest attempt of every job, in the order of their ids."""
        return [self.by_key[job, number] for job, number in sorted(self._newest.items())]

    def remove(self, attempt: JobAttempt) -> None:
        """Forget an attempt; its number in the windows is used again."""
        del self.by_key[attempt.job, attempt.number]
        self.numbered[attempt.number_in_windows] = None
        left = [number for job, number in self.by_key if job == attempt.job]
        if left:
            self._newest[attempt.job] = max(left)
        else:
            del self._newest[attempt.job]
            self._clusters.pop(attempt.job, None)

    def _add(self, job: Job, number: int, cluster: str | None, *, derived: bool) -> JobAttempt:
        place = next((n for n, held in enumerate(self.numbered) if held is None), None)
        if place is None:
            place = len(self.numbered)
            self.numbered.append(None)
        found = JobAttempt(job, number, cluster, number_in_windows=place, derived=derived)
        before = max(
            (held for name, held in self.by_key if name == job and held < number), default=-1
        )
        if before >= 0:
            found.baselines.follow(self.by_key[job, before].baselines)
        self.by_key[job, number] = self.numbered[place] = found
        self._newest[job] = max(number, self._newest.get(job, number))
        return found
