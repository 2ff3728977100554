"""Kubernetes carries actions out: a taint on the node, evictions of the job's pods, a suspension.

The node is tainted (`NoSchedule`) before the pods go, so that whatever makes them anew (a JobSet, a
PyTorchJob, a Job) places none there. A pod is evicted by its uid: one that was made since is
another one, and stays. Budgets of disruption hold: a pod that one protects is asked for again. A
job is paused by suspending what made its pods, and goes on only if it was suspended by this action.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from ....vocabulary.clock import Clock
from ....vocabulary.remedies import RemedyKind
from ...kubernetes.connection import ServerConnection, passing, reason
from ...settings.actions import ExecutorSettings
from . import workloads
from .contract import Allowed, RefusedOrderError, RemedyOrder, UnansweredOrderError

KINDS: frozenset[RemedyKind] = frozenset(("exclude_node", "restart", "requeue", "pause"))
TAINT = "rankscope.io/excluded"
_LABEL = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_GONE = 404
_OVER = ("Succeeded", "Failed")


class KubernetesExecutor:
    """A cluster by its API server; needs the rights of deploy/kubernetes/components/actions."""

    asks_only_what_is_left = True

    def __init__(self, settings: ExecutorSettings) -> None:
        self.kinds = KINDS & frozenset(settings.actions or KINDS)
        self._namespace = settings.namespace
        self._selector = settings.selector
        self._server = ServerConnection(settings.server, settings.credentials)

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        """Return the node, and the pods of the job by name and uid."""
        pods = self._pods(order.job)
        if order.action == "pause":
            return self._workload(order, pods)
        seen: dict[str, Any] = {"pods": [_identity(row) for row in pods]}
        if order.action == "exclude_node":
            node = self._get(f"/api/v1/nodes/{quote(str(order.host), safe='')}")
            if node is None:
                raise RefusedOrderError(f"Kubernetes has no node {order.host}")
            seen["node"], seen["node_uid"] = order.host, node["metadata"]["uid"]
        elif not seen["pods"]:
            raise RefusedOrderError(f"no pod of job {order.job} runs in {self._namespace}")
        return seen

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Taint the node, then evict the pods that were there before; or suspend the workload."""
        if order.action == "pause":
            return self._suspend(order, seen, allowed)
        done = []
        if order.action == "exclude_node":
            done.append(self._taint(order, seen, allowed))
        pods: Sequence[Sequence[str]] = seen["pods"]
        for name, uid in pods:
            self._evict(name, uid, allowed)
        if pods:
            done.append(f"{len(pods)} pods of {order.job} were evicted")
        return "; ".join(done)

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Take the taint of this action off, or let the job go on that it suspended."""
        if order.action == "pause":
            return self._resume(order, seen, allowed)
        if order.action != "exclude_node":
            return "pods that were evicted are not brought back"
        node = self._get(_node_path(seen))
        taints = [] if node is None else node["spec"].get("taints") or []
        if node is None or not any(_ours(row, order) for row in taints):
            return f"{seen['node']} has no taint of this action"
        allowed()
        self._set_taints(seen, node, [row for row in taints if not _ours(row, order)])
        return f"{seen['node']} is back"

    def _workload(self, order: RemedyOrder, pods: Sequence[Any]) -> Mapping[str, Any]:
        """Return what is to be suspended: its path, uid and kind."""
        found = workloads.of_pods(pods) if pods else None
        if found is None:
            raise RefusedOrderError(
                f"no one workload that can be suspended made {order.job}'s pods"
            )
        kind, name = found
        path = kind.path(self._namespace, name)
        workload = self._get(path)
        if workload is None:
            raise RefusedOrderError(f"Kubernetes has no {kind.resource}/{name}")
        if workloads.queued(workload):
            raise RefusedOrderError(
                f"Kueue decides when {kind.resource}/{name} runs: set its Workload inactive"
            )
        return {"path": path, "uid": workload["metadata"]["uid"], "kind": kind.resource}

    def _suspend(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        kind, workload = _kind(seen), self._get(seen["path"])
        if workload is None or workload["metadata"]["uid"] != seen["uid"]:
            return f"{order.job} is gone"
        if not kind.suspended(workload):
            allowed()
            self._patch(seen["path"], kind.patch(workload, suspend=True, by=order.id))
        return f"{order.job} is suspended"

    def _resume(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        kind, workload = _kind(seen), self._get(seen["path"])
        if workload is None or workload["metadata"]["uid"] != seen["uid"]:
            return f"{order.job} is gone"
        notes = workload["metadata"].get("annotations") or {}
        if not kind.suspended(workload) or notes.get(workloads.PAUSED) != order.id:
            return f"{order.job} is not suspended by this action"
        allowed()
        self._patch(seen["path"], kind.patch(workload, suspend=False, by=None))
        return f"{order.job} goes on"

    def _taint(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        node = self._get(_node_path(seen))
        if node is None or node["metadata"]["uid"] != seen["node_uid"]:
            return f"{seen['node']} is gone"
        taints = node["spec"].get("taints") or []
        if any(row["key"] == TAINT for row in taints):
            return f"{seen['node']} is tainted"
        allowed()
        ours = {"key": TAINT, "value": order.id, "effect": "NoSchedule"}
        self._set_taints(seen, node, [*taints, ours])
        return f"{seen['node']} is tainted"

    def _set_taints(
        self, seen: Mapping[str, Any], node: Mapping[str, Any], taints: Sequence[Any]
    ) -> None:
        # A list that is replaced as a whole: only if nobody wrote the node since it was read.
        body = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": list(taints)},
        }
        self._patch(_node_path(seen), body)

    def _evict(self, name: str, uid: str, allowed: Allowed) -> None:
        path = f"/api/v1/namespaces/{quote(self._namespace)}/pods/{quote(name, safe='')}"
        pod = self._get(path)
        if pod is None or pod["metadata"]["uid"] != uid or "deletionTimestamp" in pod["metadata"]:
            return
        allowed()
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self._namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        self._ask("POST", f"{path}/eviction", body)

    def _pods(self, job: str) -> list[Any]:
        if not _LABEL.fullmatch(job):
            raise RefusedOrderError(f"{job!r} is no value of a label of Kubernetes")
        found = self._ask(
            "GET",
            f"/api/v1/namespaces/{quote(self._namespace)}/pods",
            query={"labelSelector": self._selector.replace("{job}", job)},
        )
        return [
            row
            for row in (found or {}).get("items", ())
            if row.get("status", {}).get("phase") not in _OVER
        ]

    def _patch(self, path: str, body: Mapping[str, Any]) -> None:
        self._ask("PATCH", path, body, kind="application/merge-patch+json")

    def _get(self, path: str) -> Any:
        """Return an object, None where there is none."""
        return self._ask("GET", path)

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        kind: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Any:
        try:
            answer = self._server.ask(method, path, body, kind=kind, query=query)
            found = answer.json() if answer.is_success else None
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise UnansweredOrderError(f"{type(error).__name__}: {error}"[:300]) from None
        if answer.is_success or answer.status_code == _GONE:
            return found
        why = f"{answer.status_code}: {reason(answer)}"
        if passing(answer):
            raise UnansweredOrderError(why)
        raise RefusedOrderError(why)


def executor(settings: ExecutorSettings, clock: Clock) -> KubernetesExecutor:  # noqa: ARG001
    return KubernetesExecutor(settings)


def _node_path(seen: Mapping[str, Any]) -> str:
    return f"/api/v1/nodes/{quote(str(seen['node']), safe='')}"


def _ours(taint: Mapping[str, Any], order: RemedyOrder) -> bool:
    return taint.get("key") == TAINT and taint.get("value") == order.id


def _identity(pod: Mapping[str, Any]) -> list[str]:
    return [pod["metadata"]["name"], pod["metadata"]["uid"]]


def _kind(seen: Mapping[str, Any]) -> workloads.WorkloadKind:
    return next(row for row in workloads.KINDS if row.resource == seen["kind"])
