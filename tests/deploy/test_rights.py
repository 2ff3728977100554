"""What the agent and the collector may do, and where they may write."""

import ipaddress

import pytest

from rankscope import settings
from rankscope.agent.attribution import kubelet
from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.vocabulary import addresses

from .clients import Clients
from .documents import (
    agent,
    collector,
    container,
    environ,
    host_folders,
    one,
    pod,
    texts,
)
from .overlays import OVERLAYS, rendered, with_components

PROFILES = {"restricted": "default", "full": "full"}
"""Overlays by the profiles of the agent."""


pytestmark = pytest.mark.documents


def test_the_default_agent_has_no_right_of_a_privileged_one(clients: Clients):
    default = agent(rendered(clients, "default"))
    assert {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    } == container(default)["securityContext"]
    assert {"type": "RuntimeDefault"} == pod(default)["securityContext"]["seccompProfile"]
    assert set() == {"hostPID", "hostNetwork", "hostIPC"} & set(pod(default))
    assert pod(default)["automountServiceAccountToken"] is False
    assert all("hostPort" not in port for port in container(default)["ports"])
    assert "SYS_ADMIN" not in " ".join(texts(default))


def test_the_default_agent_writes_to_two_folders_of_the_node_and_no_other(clients: Clients):
    assert {
        "/run/rankscope": ("/run/rankscope", True),
        "/var/lib/rankscope": ("/var/lib/rankscope", True),
        "/sys": ("/sys", False),
        "/var/lib/kubelet/pod-resources": ("/var/lib/kubelet/pod-resources", False),
    } == host_folders(agent(rendered(clients, "default")))


def test_the_restricted_overlay_is_what_pod_security_calls_restricted(clients: Clients):
    """Its rules, in the words of Kubernetes' own page, for both workloads."""
    documents = rendered(clients, "restricted")
    namespace = one(documents, "Namespace", "rankscope")
    level = namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert "restricted" == level
    for workload in (agent(documents), collector(documents)):
        spec, inside = pod(workload), container(workload)
        assert set() == {"hostPID", "hostNetwork", "hostIPC"} & set(spec)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert 0 != spec["securityContext"]["runAsUser"]
        assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
        assert inside["securityContext"]["allowPrivilegeEscalation"] is False
        assert {"drop": ["ALL"]} == inside["securityContext"]["capabilities"]
        assert all("hostPort" not in port for port in inside["ports"])
        kinds = {key for volume in spec["volumes"] for key in volume if key != "name"}
        assert kinds <= {"configMap", "emptyDir", "projected", "secret", "persistentVolumeClaim"}


def test_the_restricted_overlay_is_reached_over_udp_on_the_own_node(clients: Clients):
    documents = rendered(clients, "restricted")
    service = one(documents, "Service", "rankscope-agent")
    assert "Local" == service["spec"]["internalTrafficPolicy"]
    loaded = settings.load(
        AgentSettings, path=None, environ=environ(agent(documents)), foreign=FOREIGN
    )
    [port] = service["spec"]["ports"]
    assert f"0.0.0.0:{port['port']}" == loaded.probe.udp_listen
    ports = {row["name"]: row for row in container(agent(documents))["ports"]}
    assert (8471, "UDP") == (ports["probe"]["containerPort"], ports["probe"]["protocol"])


@pytest.mark.parametrize("overlay", PROFILES.values())
def test_read_only_folders_are_so_with_all_that_is_mounted_below(overlay: str, clients: Clients):
    """`readOnly` alone leaves /sys/fs/cgroup writable."""
    recursive = {
        mount["mountPath"]: mount.get("recursiveReadOnly")
        for mount in container(agent(rendered(clients, overlay)))["volumeMounts"]
        if mount.get("readOnly") and mount["mountPath"] != "/dev/kmsg"
    }
    assert "/sys" in recursive
    assert {"IfPossible"} == set(recursive.values())


@pytest.mark.parametrize("overlay", PROFILES.values())
def test_folders_stand_where_the_agent_looks_for_them(overlay: str, clients: Clients):
    mounted = {path for path, _ in host_folders(agent(rendered(clients, overlay))).values()}
    assert str(addresses.socket_paths({})[0].parent) in mounted
    assert str(kubelet.SOCKET.parent) in mounted
    assert str(AgentSettings().node.sys) in mounted


def test_the_full_profile_differs_by_what_its_page_names_and_nothing_else(clients: Clients):
    restricted, full = (agent(rendered(clients, name)) for name in ("default", "full"))
    assert {"hostPID": True, "hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} == {
        key: pod(full).pop(key) for key in ("hostPID", "hostNetwork", "dnsPolicy")
    }
    assert {"privileged": True, "readOnlyRootFilesystem": True} == container(full).pop(
        "securityContext"
    )
    added = set(host_folders(full)) - set(host_folders(restricted))
    assert {"/dev/kmsg", "/var/log/pods"} == added
    assert not any(writable for path, (_, writable) in host_folders(full).items() if path in added)
    names = {v["name"] for v in pod(full)["volumes"] if v["hostPath"]["path"] in added}
    pod(full)["volumes"] = [v for v in pod(full)["volumes"] if v["name"] not in names]
    mounts = container(full)["volumeMounts"]
    container(full)["volumeMounts"] = [row for row in mounts if row["name"] not in names]
    assert 9470 == container(full)["ports"][0].pop("hostPort")
    del container(restricted)["securityContext"]
    off = {"name": "RANKSCOPE_READERS__OFF", "value": "interfaces"}
    container(restricted)["env"].remove(off)
    assert restricted == full


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_policy_lets_the_world_in(overlay: str, clients: Clients):
    policies = [one for one in rendered(clients, overlay) if one["kind"] == "NetworkPolicy"]
    admitted = [
        ipaddress.ip_network(source["ipBlock"]["cidr"])
        for policy in policies
        for rule in policy["spec"].get("ingress", ())
        for source in rule["from"]
        if "ipBlock" in source
    ]
    shared = ipaddress.ip_network("100.64.0.0/10")  # between a provider and its customers
    assert all(network.is_private or network == shared for network in admitted)
    assert bool(admitted) == (pod(agent(rendered(clients, overlay))).get("hostNetwork") is True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nobody_may_ask_the_api_server(overlay: str, clients: Clients):
    """OpenShift's constraint is used by name, which no request of a pod's is."""
    documents = rendered(clients, overlay)
    for document in documents:
        if document["kind"] in ("Role", "ClusterRole"):
            assert [["use"]] == [rule["verbs"] for rule in document["rules"]]
    for workload in (agent(documents), collector(documents)):
        assert pod(workload)["automountServiceAccountToken"] is False
        account = one(documents, "ServiceAccount", pod(workload)["serviceAccountName"])
        assert account["automountServiceAccountToken"] is False


def test_the_write_back_may_patch_and_create_and_nothing_else(clients: Clients, tmp_path):
    documents = with_components(clients, tmp_path, "write-back")
    rules = [
        (rule["resources"], rule["verbs"])
        for document in documents
        if document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
    ]
    assert [(["nodes/status"], ["patch"]), (["events"], ["create"])] == sorted(rules, reverse=True)
    given = environ(collector(documents))
    assert "true" == given["RANKSCOPE_KUBERNETES__WRITE_BACK"]
    assert pod(collector(documents))["automountServiceAccountToken"] is True


def test_actions_may_taint_nodes_evict_pods_suspend_jobs_and_nothing_else(
    clients: Clients, tmp_path
):
    documents = with_components(clients, tmp_path, "actions")
    rules = [
        (rule["resources"], rule["verbs"])
        for document in documents
        if document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
    ]
    assert [
        (["jobs"], ["get", "patch"]),
        (["jobsets"], ["get", "patch"]),
        (["nodes"], ["get", "patch"]),
        (["pods"], ["get", "list"]),
        (["pods/eviction"], ["create"]),
        (["pytorchjobs"], ["get", "patch"]),
    ] == sorted(rules)
    assert pod(collector(documents))["automountServiceAccountToken"] is True
