"""Who speaks: the resources of a job's telemetry and of the nodes' own."""

from functools import lru_cache

from ....vocabulary.samples import Resource
from ..placement import host_name
from ..training import Attempt


def of_job(attempt: Attempt, host: int, cluster: str) -> Resource:
    return _resource(host, attempt.job.name, attempt.number, cluster)


def of_node(host: int, cluster: str, switch: str = "") -> Resource:
    """Return the resource of a host's own telemetry."""
    return _resource(host, None, 0, cluster, switch)


@lru_cache(maxsize=65536)
def _resource(host: int, job: str | None, attempt: int, cluster: str, switch: str = "") -> Resource:
    extra = (("network.switch", switch),) if switch else ()
    return Resource(host_name(host), job, attempt, cluster, "rankscope-agent", extra)
