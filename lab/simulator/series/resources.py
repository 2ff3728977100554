"""Who speaks: the resources of a job's telemetry and of the nodes' own."""

from functools import lru_cache

from ....vocabulary.samples import TelemetryResource
from ..placement import host_name
from ..training import SimulatedAttempt


def of_job(attempt: SimulatedAttempt, host: int, cluster: str) -> TelemetryResource:
    return _resource(host, attempt.job.name, attempt.number, cluster)


def of_node(host: int, cluster: str, switch: str = "") -> TelemetryResource:
    """Return the resource of a host's own telemetry."""
    return _resource(host, None, 0, cluster, switch)


@lru_cache(maxsize=65536)
def _resource(
    host: int, job: str | None, attempt: int, cluster: str, switch: str = ""
) -> TelemetryResource:
    extra = (("network.switch", switch),) if switch else ()
    return TelemetryResource(host_name(host), job, attempt, cluster, "rankscope-agent", extra)
