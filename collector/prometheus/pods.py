"""Which job a pod belongs to, as kube-state-metrics has it: joined to the series of its devices.

dcgm-exporter names pod and namespace, kube-state-metrics the labels and the owner of every pod. A
pod is asked about once, when it is first seen on a device, and again after a while. What is found
is added to the labels of the device's series before they are written down, so that a replay has it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...formats.remote_write import labels as naming
from .asking import PrometheusClient, parted

METRICS = ("kube_pod_labels", "kube_pod_owner")
AGAIN_SECONDS = 600.0
_QUERY_BYTES = 6_000
_JOINT_BYTES = 3
"""Of a name in a query: `|`, and what is escaped in it."""
_MOST = 100_000
_OWNERS = frozenset(
    ("Job", "JobSet", "PyTorchJob", "MPIJob", "TFJob", "RayJob", "RayCluster", "LeaderWorkerSet")
)
"""Kinds of owners that are one job; a ReplicaSet or a DaemonSet is none."""

Pod = tuple[str, str]
"""Namespace and name."""


class PodRegister:
    """What is known of pods that hold devices."""

    def __init__(self, asking: PrometheusClient, matchers: Sequence[str]) -> None:
        self._asking = asking
        self._matchers = matchers
        self._found: dict[Pod, tuple[float, Mapping[str, str]]] = {}
        self.there: tuple[str, ...] = ()
        """Which of METRICS the store has."""

    def learn(self, metrics: Iterable[Mapping[str, str]], at: float) -> set[Pod]:
        """Ask about the pods in these sets of labels that are unknown. Raises StoreQueryError.

        Returns pods of which something else is known now than before.
        """
        if not self.there:
            return set()
        wanted: dict[Pod, None] = {}
        for labels in metrics:
            pod = pod_of(labels)
            if (
                pod is not None
                and at - self._found.get(pod, (-AGAIN_SECONDS, {}))[0] >= AGAIN_SECONDS
            ):
                wanted[pod] = None
        if not wanted:
            return set()
        rows: dict[Pod, dict[str, str]] = {pod: {} for pod in wanted}
        for names in parted(sorted({name for _, name in wanted}), _QUERY_BYTES, _JOINT_BYTES):
            answer = self._asking.query(self._query(names), at)
            for row in answer.result:
                _take(row, rows)
        if len(self._found) + len(rows) > _MOST:
            self._found.clear()
        changed = {
            pod for pod, found in rows.items() if self._found.get(pod, (0.0, {}))[1] != found
        }
        self._found.update({pod: (at, found) for pod, found in rows.items()})
        return changed

    def joined(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """Return a set of labels with what is known of its pod; its own win."""
        pod = pod_of(labels)
        more = self._found[pod][1] if pod is not None and pod in self._found else {}
        return {**more, **labels} if more else labels

    def _query(self, names: Sequence[str]) -> str:
        matchers = [
            f'__name__=~"{"|".join(self.there)}"',
            f'pod=~"{"|".join(name.replace(".", "[.]") for name in names)}"',
            *self._matchers,
        ]
        return "{" + ",".join(matchers) + "}"


def pod_of(labels: Mapping[str, str]) -> Pod | None:
    """Return the pod that holds a device, None where the labels name none or the exporter's own."""
    name = naming.pod_of(labels)
    return (naming.namespace_of(labels), name) if name else None


def _take(row: Any, rows: dict[Pod, dict[str, str]]) -> None:
    """Take a series of kube-state-metrics about a pod."""
    try:
        labels: Mapping[str, str] = row["metric"]
        # Where the scraper does not honour labels, `pod` is that of kube-state-metrics itself.
        pod = (
            labels.get("exported_namespace") or labels.get("namespace", ""),
            labels.get("exported_pod") or labels["pod"],
        )
        found = rows.get(pod)
        if found is None:
            return
        if labels["__name__"] == "kube_pod_owner":
            if labels.get("owner_kind") in _OWNERS and labels.get("owner_name"):
                found["label_job_name"] = labels["owner_name"]
        else:
            found |= {name: text for name, text in labels.items() if name in naming.POD_LABELS}
    except (KeyError, TypeError, AttributeError):
        return
