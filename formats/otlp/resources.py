"""Resource attributes as a Resource: which host reports, for which job and attempt."""

from collections.abc import Iterator, Mapping

from ...vocabulary.samples import Scalar, TelemetryResource, attributes

HOST = "host.name"
NODE = "k8s.node.name"
INSTANCE = "service.instance.id"
SERVICE = "service.name"
JOB = "rankscope.job.id"
ATTEMPT = "rankscope.job.attempt"
CLUSTER = "rankscope.cluster"

_OWN = frozenset((HOST, SERVICE, JOB, ATTEMPT, CLUSTER))


def pairs(resource: TelemetryResource) -> Iterator[tuple[str, Scalar]]:
    """Yield the attributes a resource is written as; what is unknown is left out."""
    if resource.service:
        yield SERVICE, resource.service
    if resource.host:
        yield HOST, resource.host
    if resource.job is not None:
        yield JOB, resource.job
    if resource.attempt is not None and (resource.job is not None or resource.attempt):
        yield ATTEMPT, resource.attempt
    if resource.cluster is not None:
        yield CLUSTER, resource.cluster
    yield from resource.extra


def resource(found: Mapping[str, Scalar]) -> TelemetryResource:
    """Return who reports, from the attributes of any sender.

    Senders that give no host.name (a collector on Kubernetes, an application) are distinguished by
    their node's name, else by their instance id. What only stands in for the host stays in `extra`.
    """
    job, attempt = _text(found, JOB), _whole(found.get(ATTEMPT))
    return TelemetryResource(
        host=_text(found, HOST) or _text(found, NODE) or _text(found, INSTANCE) or "",
        job=job,
        attempt=0 if attempt is None and job is None else attempt,
        cluster=_text(found, CLUSTER),
        service=_text(found, SERVICE) or "",
        extra=attributes({name: value for name, value in found.items() if name not in _OWN}),
    )


def _text(found: Mapping[str, Scalar], name: str) -> str | None:
    """Return an attribute as text; numbers as written, an empty text as absent."""
    value = found.get(name)
    return None if value is None or value == "" else str(value)


def _whole(value: Scalar | None) -> int | None:
    """Return an attempt number, None where there is none; a number in a text is one too."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
