"""What this host and its resources are called on the wire: one a host, job and attempt."""

from dataclasses import dataclass, replace
from functools import lru_cache

from ..vocabulary.samples import JOB_USER, Attributes, TelemetryResource, attributes
from .trainers import TrainerProcess

SERVICE = "rankscope-agent"


@dataclass(frozen=True, slots=True)
class NodeNames:
    """What this host and its resources are called on the wire."""

    host: str
    cluster: str | None = None
    extra: Attributes = ()

    def node(self) -> TelemetryResource:
        """Return the resource of what belongs to no job."""
        return self._resource(None, None, self.extra)

    def of(self, trainer: TrainerProcess) -> TelemetryResource:
        """Return the resource of the attempt that a process belongs to."""
        return self.attempt(trainer.job, trainer.attempt, trainer.user)

    def attempt(
        self, job: str, attempt: int | None, user: str | None = None, *, host: str | None = None
    ) -> TelemetryResource:
        """Return the resource of a job's attempt, with its user where known; `host` None: here.

        Of another host nothing more is known: what else stands in the settings is about this one.
        """
        if host is not None:
            return replace(self._resource(job, attempt, ()), host=host)
        return self._resource(job, attempt, _with_user(self.extra, user) if user else self.extra)

    def _resource(
        self, job: str | None, attempt: int | None, extra: Attributes
    ) -> TelemetryResource:
        return TelemetryResource(
            host=self.host,
            job=job,
            attempt=0 if job is None else attempt,
            cluster=self.cluster,
            service=SERVICE,
            extra=extra,
        )


@lru_cache(1024)
def _with_user(extra: Attributes, user: str) -> Attributes:
    return attributes({**dict(extra), JOB_USER: user})
