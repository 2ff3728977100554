"""Kubernetes' executor against an API server's double that checks what a real one would.

The double holds nodes and pods with uids and resource versions, refuses a patch of an older version
and an eviction of another uid, and makes a pod anew once it is evicted, as a controller does.
"""

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.serving import Answer, served

from rankscope.collector.remedies.executors import kubernetes
from rankscope.collector.remedies.executors.contract import (
    RefusedOrderError,
    UnansweredOrderError,
)
from rankscope.collector.settings.actions import ExecutorSettings
from rankscope.vocabulary.clock import SystemClock

NODE = re.compile(r"/api/v1/nodes/([^/]+)$")
WORKLOAD = re.compile(r"/apis/[^/]+/[^/]+/namespaces/train/(?:jobsets|pytorchjobs|jobs)/[^/]+$")
POD = re.compile(r"/api/v1/namespaces/train/pods/([^/]+)(/eviction)?$")


class Cluster:
    """Nodes with taints and pods by name; `refuses`: the next answers by method and path."""

    def __init__(self):
        self.url = ""
        self.nodes: dict[str, Any] = {
            name: {
                "metadata": {"name": name, "uid": f"node-{name}", "resourceVersion": "1"},
                "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
            }
            for name in ("gpu-1", "gpu-2")
        }
        self.pods: dict[str, Any] = {
            name: {"metadata": {"name": name, "uid": f"{name}-1"}, "status": {"phase": "Running"}}
            for name in ("llama-0", "llama-1")
        }
        self.pods["llama-old"] = {
            "metadata": {"name": "llama-old", "uid": "x"},
            "status": {"phase": "Failed"},
        }
        self.workloads: dict[str, Any] = {}
        self.refuses = []
        self.requests = []
        self.between = lambda: None

    def answer(self, method, path, headers, body):
        parts = urlsplit(path)
        self.requests.append(f"{method} {parts.path}")
        if headers["authorization"] != "Bearer token-1":
            return 401, {"message": "Unauthorized"}
        if self.refuses and method in ("PATCH", "POST"):
            return self.refuses.pop(0), {"message": "not now"}
        if (found := NODE.match(parts.path)) is not None:
            return self._node(method, found[1], headers, body)
        if (found := POD.match(parts.path)) is not None:
            return self._pod(method, found[1], eviction=bool(found[2]), body=body)
        if WORKLOAD.match(parts.path):
            return self._workload(method, parts.path, headers, body)
        if parts.path == "/api/v1/namespaces/train/pods":
            selector = parse_qs(parts.query)["labelSelector"]
            assert ["jobset.sigs.k8s.io/jobset-name=llama"] == selector
            return 200, {"items": list(self.pods.values())}
        return 403, {"message": "forbidden"}

    def _node(self, method, name, headers, body):
        node = self.nodes.get(name)
        if node is None:
            return 404, {"message": "not found"}
        if method == "GET":
            answer = json.loads(json.dumps(node))
            self.between()
            return 200, answer
        if headers["content-type"] != "application/merge-patch+json":
            return 415, {"message": "unknown format"}
        if body["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            return 409, {"message": "the object has been modified"}
        for taint in body["spec"]["taints"]:
            assert taint["effect"] in ("NoSchedule", "NoExecute", "PreferNoSchedule")
            assert len(taint.get("value", "")) <= 63
        self.touch(name, body["spec"]["taints"])
        return 200, node

    def _workload(self, method, path, headers, body):
        held = self.workloads.get(path)
        if held is None:
            return 404, {"message": "not found"}
        if method == "PATCH":
            assert headers["content-type"] == "application/merge-patch+json"
            if body["metadata"]["resourceVersion"] != held["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified"}
            merge(held, body)
            version = int(held["metadata"]["resourceVersion"]) + 1
            held["metadata"]["resourceVersion"] = str(version)
        return 200, held

    def made_by(self, path, label, name, **labels):
        """Have a workload at a path that made the pods, which bear its label."""
        self.workloads[path] = {
            "metadata": {"uid": "w-1", "resourceVersion": "4", "labels": labels},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"}},
        }
        for pod in self.pods.values():
            pod["metadata"].setdefault("labels", {})[label] = name

    def touch(self, name, taints):
        node = self.nodes[name]
        node["spec"]["taints"] = taints
        version = int(node["metadata"]["resourceVersion"]) + 1
        node["metadata"]["resourceVersion"] = str(version)

    def _pod(self, method, name, *, eviction, body):
        pod = self.pods.get(name)
        if pod is None:
            return 404, {"message": "not found"}
        if method == "GET":
            return 200, pod
        assert eviction
        assert ("Eviction", "policy/v1") == (body["kind"], body["apiVersion"])
        if body["deleteOptions"]["preconditions"]["uid"] != pod["metadata"]["uid"]:
            return 409, {"message": "the UID in the precondition does not match"}
        prefix, _, number = pod["metadata"]["uid"].rpartition("-")
        pod["metadata"]["uid"] = f"{prefix}-{int(number) + 1}"
        return 201, {}


def merge(held, patch):
    """Apply a merge patch (RFC 7396)."""
    for key, value in patch.items():
        if value is None:
            held.pop(key, None)
        elif isinstance(value, dict):
            merge(held.setdefault(key, {}), value)
        else:
            held[key] = value


@pytest.fixture
def cluster(tmp_path):
    double = Cluster()

    def answer(request):
        body = json.loads(request.body or b"{}")
        status, found = double.answer(request.method, request.path, request.headers, body)
        return Answer(json.dumps(found).encode(), status=status)

    (tmp_path / "token").write_text("token-1\n")
    with served(answer) as double.url:
        yield double


@pytest.fixture
def executor(cluster, tmp_path):
    return kubernetes.executor(
        ExecutorSettings(
            kind="kubernetes",
            api_server=cluster.url,
            credentials=tmp_path,
            namespace="train",
        ),
        SystemClock(),
    )


def taints(cluster, name="gpu-1"):
    return [row["key"] for row in cluster.nodes[name]["spec"]["taints"]]


def uids(cluster):
    return [cluster.pods[name]["metadata"]["uid"] for name in ("llama-0", "llama-1")]


def test_a_node_is_tainted_and_the_pods_of_the_job_are_evicted_once(
    cluster, executor, order_of, allowed
):
    order = order_of(job="llama")
    seen = executor.look(order)
    assert [["llama-0", "llama-0-1"], ["llama-1", "llama-1-1"]] == seen["pods"]
    text = executor.carry_out(order, seen, allowed)
    assert "gpu-1 is tainted; 2 pods of llama were evicted" == text
    assert ["nvidia.com/gpu", "rankscope.io/excluded"] == taints(cluster)
    assert (["llama-0-2", "llama-1-2"], 3) == (uids(cluster), allowed.count)
    executor.carry_out(order, seen, allowed)
    assert (["llama-0-2", "llama-1-2"], 3) == (uids(cluster), allowed.count)
    assert "gpu-1 is back" == executor.undo(order, seen, allowed)
    assert ["nvidia.com/gpu"] == taints(cluster)


def test_what_is_half_done_is_gone_on_with(cluster, executor, order_of, allowed):
    order = order_of(job="llama")
    seen = executor.look(order)
    cluster.pods["llama-0"]["metadata"]["uid"] = "llama-0-2"  # evicted before the crash
    executor.carry_out(order, seen, allowed)
    assert ["llama-0-2", "llama-1-2"] == uids(cluster)


def test_a_budget_of_disruption_is_waited_for(cluster, executor, order_of, allowed):
    order = order_of("restart", job="llama")
    seen = executor.look(order)
    cluster.refuses = [429]
    with pytest.raises(UnansweredOrderError, match="429: not now"):
        executor.carry_out(order, seen, allowed)
    assert "2 pods of llama were evicted" == executor.carry_out(order, seen, allowed)
    assert ["nvidia.com/gpu"] == taints(cluster)


def test_a_taint_that_somebody_else_writes_at_the_same_time_is_kept(
    cluster, executor, order_of, allowed
):
    order = order_of(job="llama")
    seen = executor.look(order)

    def meanwhile():
        cluster.between = lambda: None
        cluster.touch("gpu-1", [{"key": "ann", "effect": "NoSchedule"}])

    cluster.between = meanwhile
    with pytest.raises(UnansweredOrderError, match="409"):
        executor.carry_out(order, seen, allowed)
    executor.carry_out(order, seen, allowed)
    assert ["ann", "rankscope.io/excluded"] == taints(cluster)


def test_a_node_that_another_action_tainted_is_not_untainted(cluster, executor, order_of, allowed):
    cluster.touch(
        "gpu-1", [{"key": "rankscope.io/excluded", "value": "other", "effect": "NoSchedule"}]
    )
    order = order_of(job="llama")
    seen = executor.look(order)
    executor.carry_out(order, seen, allowed)
    assert "gpu-1 has no taint of this action" == executor.undo(order, seen, allowed)
    assert ["rankscope.io/excluded"] == taints(cluster)


def test_a_node_that_is_gone_is_gone(cluster, executor, order_of, allowed):
    order = order_of(job="llama")
    seen = executor.look(order)
    del cluster.nodes["gpu-1"]
    assert executor.carry_out(order, seen, allowed).startswith("gpu-1 is gone")
    with pytest.raises(RefusedOrderError, match="Kubernetes has no node gpu-1"):
        executor.look(order)


def test_rights_that_are_missing_are_named(cluster, executor, order_of, allowed):
    order = order_of(job="llama")
    seen = executor.look(order)
    cluster.refuses = [403]
    with pytest.raises(RefusedOrderError, match="403: not now"):
        executor.carry_out(order, seen, allowed)


def test_a_job_without_pods_cannot_be_restarted(cluster, executor, order_of):
    cluster.pods.clear()
    with pytest.raises(RefusedOrderError, match="no pod of job llama runs in train"):
        executor.look(order_of("restart", job="llama"))


def test_an_api_server_that_is_away_is_asked_again(order_of, tmp_path):
    (tmp_path / "token").write_text("token-1\n")
    settings = ExecutorSettings(
        kind="kubernetes", api_server="http://127.0.0.1:9", credentials=tmp_path
    )
    made = kubernetes.executor(settings, SystemClock())
    with pytest.raises(UnansweredOrderError):
        made.look(order_of(job="llama"))


def test_a_job_id_that_is_no_label_is_refused(executor, order_of):
    with pytest.raises(RefusedOrderError, match="no value of a label"):
        executor.look(order_of(job="a,b=c"))


JOBSET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/train/jobsets/llama"
TRAINING = "/apis/kubeflow.org/v1/namespaces/train/pytorchjobs/llama"
BATCH = "/apis/batch/v1/namespaces/train/jobs/llama-workers-0"
KINDS = [
    pytest.param(JOBSET, "jobset.sigs.k8s.io/jobset-name", "llama", (), id="JobSet"),
    pytest.param(TRAINING, "training.kubeflow.org/job-name", "llama", ("runPolicy",), id="PyTorch"),
    pytest.param(BATCH, "batch.kubernetes.io/job-name", "llama-workers-0", (), id="Job"),
]


@pytest.mark.parametrize(("path", "label", "name", "within"), KINDS)
def test_a_job_is_paused_by_suspending_what_made_its_pods(
    cluster, executor, order_of, allowed, path, label, name, within
):
    cluster.made_by(path, label, name)
    order = order_of("pause", job="llama")
    seen = executor.look(order)
    assert "llama is suspended" == executor.carry_out(order, seen, allowed)
    executor.carry_out(order, seen, allowed)
    spec = cluster.workloads[path]["spec"]
    for key in within:
        spec = spec[key]
    assert (True, 1) == (spec["suspend"], allowed.count)
    assert "None" == cluster.workloads[path]["spec"]["runPolicy"]["cleanPodPolicy"]
    assert "llama goes on" == executor.undo(order, seen, allowed)
    assert (False, 2) == (spec["suspend"], allowed.count)


def test_a_jobset_is_suspended_and_not_one_of_its_jobs(cluster, executor, order_of):
    cluster.made_by(BATCH, "batch.kubernetes.io/job-name", "llama-workers-0")
    cluster.made_by(JOBSET, "jobset.sigs.k8s.io/jobset-name", "llama")
    assert JOBSET == executor.look(order_of("pause", job="llama"))["path"]


def test_who_suspended_a_job_lets_it_go_on(cluster, executor, order_of, allowed):
    cluster.made_by(JOBSET, "jobset.sigs.k8s.io/jobset-name", "llama")
    order = order_of("pause", job="llama")
    seen = executor.look(order)
    cluster.workloads[JOBSET]["spec"]["suspend"] = True  # by a person
    assert "llama is suspended" == executor.carry_out(order, seen, allowed)
    assert "llama is not suspended by this action" == executor.undo(order, seen, allowed)
    assert (True, 0) == (cluster.workloads[JOBSET]["spec"]["suspend"], allowed.count)


def test_a_workload_of_that_name_that_was_made_since_is_another_one(
    cluster, executor, order_of, allowed
):
    cluster.made_by(JOBSET, "jobset.sigs.k8s.io/jobset-name", "llama")
    order = order_of("pause", job="llama")
    seen = executor.look(order)
    cluster.workloads[JOBSET]["metadata"]["uid"] = "w-2"
    assert "llama is gone" == executor.carry_out(order, seen, allowed)
    assert 0 == allowed.count


def test_what_kueue_decides_about_is_left_to_it(cluster, executor, order_of):
    queue = {"kueue.x-k8s.io/queue-name": "team"}
    cluster.made_by(JOBSET, "jobset.sigs.k8s.io/jobset-name", "llama", **queue)
    with pytest.raises(RefusedOrderError, match="Kueue decides"):
        executor.look(order_of("pause", job="llama"))


def test_pods_that_nothing_made_cannot_be_paused(executor, order_of):
    with pytest.raises(RefusedOrderError, match="no one workload"):
        executor.look(order_of("pause", job="llama"))
