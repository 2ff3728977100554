"""What this host and its resources are called on the wire: one a host, job and attempt."""

from dataclasses import dataclass

from ..vocabulary.samples import Attributes, Resource
from .trainers import Trainer

SERVICE = "rankscope-agent"


@dataclass(frozen=True, slots=True)
class Names:
    """What this host and its resources are called on the wire."""

    host: str
    cluster: str | None = None
    extra: Attributes = ()

    def node(self) -> Resource:
        """Return the resource of what belongs to no job."""
        return self._resource(None, None)

    def of(self, trainer: Trainer) -> Resource:
        """Return the resource of the attempt that a process belongs to."""
        return self._resource(trainer.job, trainer.attempt)

    def attempt(self, job: str, attempt: int | None) -> Resource:
        """Return the resource of a job's attempt on this host."""
        return self._resource(job, attempt)

    def _resource(self, job: str | None, attempt: int | None) -> Resource:
        return Resource(
            host=self.host,
            job=job,
            attempt=0 if job is None else attempt,
            cluster=self.cluster,
            service=SERVICE,
            extra=self.extra,
        )
