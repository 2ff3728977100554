"""What a set of labels is about: the host, the job, and the names of the vocabulary.

Three kinds of labels meet here: those of the agent's own page, those that a scraper adds (`job`,
`instance`, what service discovery relabelled), and those of exporters, which a scraper that does
not honour them has renamed to `exported_...`.
"""

import re
from collections.abc import Mapping
from functools import cache

from ...vocabulary import metrics
from ...vocabulary.samples import JOB_SOURCE, Attributes, Scalar, TelemetryResource, attributes
from ..otlp import resources

UNASSIGNED = "unassigned"
"""The job of devices that no label gives to a job: they are watched together."""

# Of two labels for one attribute the first here wins.
_RESOURCE = {
    "host_name": resources.HOST,
    "host": resources.HOST,
    "job_id": resources.JOB,
    "attempt": resources.ATTEMPT,
    "cluster": resources.CLUSTER,
    "job": resources.SERVICE,  # OpenTelemetry's own mapping of the scraper's two labels
    "instance": resources.INSTANCE,
    "k8s_namespace_name": "k8s.namespace.name",
    "k8s_pod_name": "k8s.pod.name",
    "k8s_node_name": resources.NODE,
    "network_switch": "network.switch",
}
_WHOLE = frozenset(
    ("rank", "local_rank", "world_size", "pid", "gpu", "dp", "tp", "pp", "ep", "seq", "size")
)
"""Attributes that the agent sends as integers; in Prometheus every label is text."""

HOSTS = (
    *("host_name", "Hostname", "hostname", "exported_host", "host", "k8s_node_name", "node"),
    *("nodename", "node_name", "exported_node", "kubernetes_node", "kubernetes_io_hostname"),
)
"""Labels that name the host, before `instance`."""

_CLUSTERS = ("cluster", "k8s_cluster_name", "cluster_name")
_JOBS = ("job_id", "rankscope_job_id")
_SLURM = ("hpc_job", "slurm_job_id", "slurm_jobid", "slurm_job", "jobid")
_NAMED = (
    *("training_kubeflow_org_job_name", "jobset_sigs_k8s_io_jobset_name", "volcano_sh_job_name"),
    *("ray_io_cluster", "leaderworkerset_sigs_k8s_io_name", "batch_kubernetes_io_job_name"),
    *("pytorch_job_name", "job_name"),
)
"""Labels of pods that name the job which a pod belongs to, with and without `label_`."""

POD_LABELS = frozenset(f"label_{name}" for name in _NAMED)
"""Labels by which kube-state-metrics shows those of a pod that name its job."""

_NAMESPACES = ("exported_namespace", "pod_namespace", "namespace")
_PODS = ("exported_pod", "pod_name", "pod")
_EXPORTERS = re.compile(r"exporter|metrics|prometheus|agent|device-plugin|node-problem")
"""Pods of exporters: service discovery puts their name on every series that they show."""
_MEMBER = re.compile(
    r"(?:-(?:worker|master|launcher|leader|ps|chief|head|node|replica|rank|main))*"
    r"(?:-\d+)*(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?$"
)
"""What tells the pods of one job apart: a role, an index, the five letters of a generated name."""


def first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    """Return the first of these labels that is there, "" where none is."""
    return next((labels[name] for name in names if labels.get(name)), "")


def host_of(labels: Mapping[str, str]) -> str:
    """Return the host that a set of labels names, "" where it names none."""
    return first(labels, HOSTS) or without_port(labels.get("instance", ""))


def job_of(labels: Mapping[str, str]) -> str:
    """Return the job that a device's labels give it to, "" where they name none.

    A job id, a Slurm job, a job's name that was copied from the pod's labels, or the pod's name
    without what tells the pods of one job apart; the last two behind their namespace.
    """
    given = first(labels, (*_JOBS, *_SLURM, *(f"exported_{name}" for name in _SLURM)))
    if given:
        return given
    name = first(labels, _NAMED) or first(labels, tuple(f"label_{one}" for one in _NAMED))
    space = namespace_of(labels)
    if not name:
        pod = pod_of(labels)
        if not pod:
            return ""
        name = _MEMBER.sub("", pod) or pod
    return f"{space}/{name}" if space else name


def claim(labels: Mapping[str, str]) -> TelemetryResource | None:
    """Return whom a series names of which nothing is made; None where it names no job."""
    job = first(labels, _JOBS)
    return TelemetryResource(host_of(labels), job) if job else None


def pod_of(labels: Mapping[str, str]) -> str:
    """Return the pod that holds a device, "" where none is named, or only the exporter's own."""
    pod = first(labels, _PODS)
    return "" if _EXPORTERS.search(pod) and "exported_pod" not in labels else pod


def namespace_of(labels: Mapping[str, str]) -> str:
    """Return the namespace of that pod, "" where none is named."""
    return first(labels, _NAMESPACES)


def resource_of_device(labels: Mapping[str, str]) -> TelemetryResource | None:
    """Return who a device's series belongs to; None where no label names a host."""
    host = host_of(labels)
    if not host:
        return None
    cluster = first(labels, _CLUSTERS) or None
    job = job_of(labels) or (f"{UNASSIGNED}/{cluster}" if cluster else UNASSIGNED)
    return TelemetryResource(host, job, None, cluster, "", ((JOB_SOURCE, "labels"),))


def resource_of_host(labels: Mapping[str, str]) -> TelemetryResource | None:
    """Return who a host's own series belongs to; None where no label names a host."""
    host = host_of(labels)
    return TelemetryResource(host, None, 0, first(labels, _CLUSTERS) or None) if host else None


def own_series(
    name: str, labels: Mapping[str, str]
) -> tuple[TelemetryResource, str, Attributes] | None:
    """Return resource, metric and attributes of a series in the vocabulary's names; else None."""
    metric = _contract_names().get(name, name)
    known = metrics.catalogue().get(metric)
    if known is None:
        return None
    own = (*known.attributes, *known.optional)
    left = dict(labels)
    found: dict[str, Scalar] = {}
    for label, attribute in _RESOURCE.items():
        if label in left and attribute not in own:
            found.setdefault(attribute, left.pop(label))
    points: dict[str, Scalar] = {}
    for label, text in left.items():
        attribute = _attribute_names().get(label, label)
        points[attribute] = _value(attribute, text)
    if resources.INSTANCE in found and not {resources.HOST, resources.NODE} & found.keys():
        found[resources.HOST] = without_port(str(found[resources.INSTANCE]))
    return resources.resource(found), metric, attributes(points)


def without_port(instance: str) -> str:
    """Return the host in a scraper's `host:port`; IPv6 stands in brackets."""
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else instance


def _value(attribute: str, text: str) -> Scalar:
    whole = attribute in _WHOLE and text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if whole else text


@cache
def _contract_names() -> Mapping[str, str]:
    return {metric.prometheus_name: metric.name for metric in metrics.catalogue().values()}


@cache
def _attribute_names() -> Mapping[str, str]:
    return {
        attribute.replace(".", "_"): attribute
        for metric in metrics.catalogue().values()
        for attribute in (*metric.attributes, *metric.optional)
    }
