"""`kubectl describe pod`: where a pod ran, and how its containers ended."""

from datetime import UTC, datetime

import pytest

from rankscope.formats.training_logs import launchers
from rankscope.formats.training_logs.launchers import pods

POD = """\
Name:             llama-worker-3
Namespace:        train
Node:             gpu-17/10.0.0.17
Status:           Failed{whole}
Containers:
  sidecar:
    State:          Running
      Started:      Wed, 13 May 2026 11:00:00 +0000
    Ready:          True
  pytorch:
    {state}:          Terminated
      Reason:       {reason}
      Exit Code:    {code}
      Started:      Wed, 13 May 2026 11:00:00 +0000
      Finished:     Wed, 13 May 2026 12:06:00 +0000
    Ready:          False
    Limits:
      memory:          64Gi
      {gpus}
Events:           <none>
"""


def described(state="State", reason="Error", code=1, gpus="cpu:  8", whole=""):
    text = POD.format(state=state, reason=reason, code=code, gpus=gpus, whole=whole)
    return list(launchers.read(text.encode().splitlines(keepends=True), zone=UTC))


@pytest.mark.parametrize("state", ["State", "Last State"])
def test_a_container_that_ran_out_of_memory_is_the_rank_of_its_pod_on_its_node(state):
    (report,) = described(state, "OOMKilled", 137)
    assert ("oom", (3,), "gpu-17", -9) == (
        report.form.kind, report.tasks, report.host, report.code,
    )  # fmt: skip
    assert datetime(2026, 5, 13, 12, 6, tzinfo=UTC).timestamp() == report.at


def test_a_pod_with_eight_devices_is_eight_ranks():
    (report,) = described(code=139, gpus="nvidia.com/gpu:  8")
    assert (tuple(range(24, 32)), -11) == (report.tasks, report.code)


def test_a_container_that_ended_in_order_is_no_report():
    assert [] == described(reason="Completed", code=0)


def test_a_container_that_failed_before_its_pod_was_evicted_is_a_report_too():
    exited, evicted = described(code=1, whole="\nReason:           Evicted")
    assert (1, "stop") == (exited.code, evicted.form.kind)


def test_a_pod_that_was_evicted_says_why():
    whole = "\nReason:           Evicted\nMessage:          The node was low on resource: memory."
    (evicted,) = described(code=137, whole=whole)
    assert ("stop", "gpu-17") == (evicted.form.kind, evicted.host)
    assert evicted.text.endswith("low on resource: memory.")


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("llama-worker-3", 3),
        ("llama-master-0", 0),
        ("llama-launcher-x7k2p", None),
        ("llama-12-x7k2p", 12),
        ("jobset-workers-0-5-abcde", 5),
        ("coredns", None),
    ],
)
def test_the_number_of_a_pod_is_read_from_its_name(name, index):
    assert index == pods.index_of(name)


CUT_OUT = """\
    Last State:     Terminated
      Reason:       {}
      Exit Code:    {}
"""


@pytest.mark.parametrize(
    ("reason", "code", "kind", "ended"),
    [("OOMKilled", 137, "oom", -9), ("Error", 139, "exit", -11)],
)
def test_a_state_that_somebody_cut_out_of_a_description_is_of_no_rank(reason, code, kind, ended):
    (report,) = launchers.read([CUT_OUT.format(reason, code).encode()], zone=UTC)
    assert (kind, (), ended) == (report.form.kind, report.tasks, report.code)


def test_a_state_that_was_cut_out_and_ended_in_order_is_none():
    assert [] == list(launchers.read([CUT_OUT.format("Completed", 0).encode()], zone=UTC))
