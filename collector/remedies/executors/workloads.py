"""What made the pods of a job in Kubernetes, and how it is suspended. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

PAUSED = "rankscope.io/paused"
"""Annotation of a workload that was suspended here: the action that did it."""
_QUEUE = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind of workload: the label that its pods bear, where it is, and where it is suspended."""

    label: str
    group: str
    resource: str
    within: str = ""

    def path(self, namespace: str, name: str) -> str:
        """Return where the API server has a workload of this kind."""
        place = f"namespaces/{quote(namespace, safe='')}/{self.resource}/{quote(name, safe='')}"
        return f"/apis/{self.group}/{place}"

    def suspended(self, workload: Mapping[str, Any]) -> bool:
        """Return whether it is suspended."""
        spec = workload["spec"]
        return bool(((spec.get(self.within) or {}) if self.within else spec).get("suspend"))

    def patch(self, workload: Mapping[str, Any], *, suspend: bool, by: str | None) -> Any:
        """Return the merge patch that suspends it, or lets it go on, if nobody wrote it since."""
        wanted: Mapping[str, Any] = {"suspend": suspend}
        return {
            "metadata": {
                "resourceVersion": workload["metadata"]["resourceVersion"],
                "annotations": {PAUSED: by},
            },
            "spec": {self.within: wanted} if self.within else wanted,
        }


KINDS = (
    WorkloadKind("jobset.sigs.k8s.io/jobset-name", "jobset.x-k8s.io/v1alpha2", "jobsets"),
    WorkloadKind("training.kubeflow.org/job-name", "kubeflow.org/v1", "pytorchjobs", "runPolicy"),
    WorkloadKind("batch.kubernetes.io/job-name", "batch/v1", "jobs"),
)
"""The outermost first: the pods of a JobSet bear the label of their Job too."""


def of_pods(pods: Sequence[Mapping[str, Any]]) -> tuple[WorkloadKind, str] | None:
    """Return kind and name of the one workload that made all these pods, None where none did."""
    for kind in KINDS:
        names = {(pod["metadata"].get("labels") or {}).get(kind.label) for pod in pods}
        if len(names) == 1 and (name := names.pop()):
            return kind, str(name)
    return None


def queued(workload: Mapping[str, Any]) -> bool:
    """Return whether Kueue decides when it runs: it would let it go on at once."""
    return bool((workload["metadata"].get("labels") or {}).get(_QUEUE))
