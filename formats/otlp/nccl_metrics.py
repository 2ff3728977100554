"""NCCL Inspector's metrics, as its plug-in sends them over OTLP/HTTP, in the vocabulary's terms.

Figures of kinds of collectives by communicator and device, in GB/s and microseconds; with
NCCL_INSPECTOR_OTEL_VERBOSE=1 of each operation, with its number. No rank is in them: host and
device say where they were measured. (NCCL 2.31 and 2.32, RCCL's port of it)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...vocabulary.groups import communicator_group
from ...vocabulary.samples import Attributes, Scalar, TelemetryResource, attributes
from .. import names

_SOURCE = "inspector"


@dataclass(frozen=True, slots=True)
class InspectorMetric:
    """One metric: what it is of all operations of a bucket and of a single one, and its unit."""

    bucket: str
    single: str
    factor: float


METRICS: Mapping[str, InspectorMetric] = {
    "nccl_bus_bandwidth_gbs": InspectorMetric("collective.bus_bandwidth", "", 1e9),
    "nccl_collective_exec_time_microseconds": InspectorMetric(
        "collective.duration", "collective.op.duration", 1e-6
    ),
}
"""Of the others nothing is made: sends have no place in the vocabulary, and what the algorithm sees
of the bandwidth follows from the bus's."""


def mapped(
    name: str, resource: TelemetryResource, pairs: Attributes
) -> tuple[str, TelemetryResource, Attributes, float] | None:
    """Return metric, resource, attributes and the factor of values; None for any other metric.

    A name that is the Inspector's and comes without its attributes is somebody else's.
    """
    metric = METRICS.get(name)
    labels = dict(pairs)
    if metric is None or "collective" not in labels:
        return None
    number = labels.get("coll_sn")
    target = metric.bucket if number is None else metric.single or metric.bucket
    group = labels.get("comm_id") or labels.get("comm_name") or "unknown"
    found: dict[str, Scalar | None] = {
        "group": communicator_group(str(group), whole=False),
        "op": names.kind(labels["collective"]),
        "gpu": _index(labels.get("gpu")),
        "source": _SOURCE,
    }
    if number is not None and target == metric.single:
        found |= {"seq": _whole(number), "clock": "gpu"}
    node = labels.get("node")
    job = resource.job or _text(dict(resource.extra).get("slurm.job.id"))
    placed = replace(resource, host=resource.host or _text(node) or "", job=job)
    if resource.job is None and job is not None and resource.attempt is None:
        placed = replace(placed, attempt=0)
    return target, placed, attributes(found), metric.factor


def _text(value: Scalar | None) -> str | None:
    """Return a name, None for what the plug-in writes where it knows none."""
    text = names.shown(value or "")
    return text if text not in ("", "unknown") else None


def _index(value: Scalar | None) -> int | None:
    """Return the index in `GPU3`."""
    return _whole(str(value or "").upper().removeprefix("GPU"))


def _whole(value: Scalar | None) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
