"""The overlays for Kubernetes as kustomize renders them: valid, and with the rights the pages name.

No API server was asked: what only it knows (defaults, admission, CEL) is not checked.
"""

import copy
import json
import re
import shutil
import subprocess
from typing import Any

import kubernetes_validate
import pytest
import yaml

from rankscope import settings
from rankscope.agent import readers
from rankscope.agent.attribution import kubelet
from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.collector.settings import CollectorSettings
from rankscope.vocabulary import addresses

from . import custom_kinds
from .clients import KUBERNETES, Clients, Documents
from .documents import (
    TOKENS,
    agent,
    collector,
    container,
    environ,
    host_folders,
    one,
    pod,
    texts,
)

OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())
COMPONENTS = sorted(path.name for path in (KUBERNETES / "components").iterdir())
VERSIONS = ("1.31", "1.34", "1.37")
PROFILES = {"restricted": "default", "full": "full"}
"""Overlays by the profiles of the agent."""

pytestmark = pytest.mark.slow


def rendered(clients: Clients, overlay: str) -> Documents:
    return clients.kustomize(KUBERNETES / "overlays" / overlay)


def with_components(clients: Clients, tmp_path, *names: str) -> Documents:
    """Render what a site would write itself: the base and some components."""
    # kustomize takes relative paths only.
    folder = tmp_path.joinpath("a", "b")
    folder.mkdir(parents=True)
    links = tmp_path / "kubernetes"
    links.symlink_to(KUBERNETES)
    text = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../kubernetes/base"],
        "components": [f"../../kubernetes/components/{name}" for name in names],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(text))
    return clients.kustomize(folder)


def check(documents: Documents, version: str) -> None:
    for document in documents:
        if not custom_kinds.validate(document):
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_document_of_every_overlay_is_valid(overlay: str, version: str, clients: Clients):
    documents = rendered(clients, overlay)
    names = [(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents]
    assert len(set(names)) == len(names)
    check(documents, version)


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_fits_on_the_base(name: str, clients: Clients, tmp_path):
    documents = with_components(clients, tmp_path, name)
    # MutatingAdmissionPolicy is v1 from 1.36 on.
    check(documents, VERSIONS[-1])
    assert documents != clients.kustomize(KUBERNETES / "base")


def test_components_can_be_combined(clients: Clients, tmp_path):
    names = ("full", "dcgm-names", "prometheus-operator", "write-back", "probe-injection")
    documents = with_components(clients, tmp_path, *names)
    check(documents, VERSIONS[-1])
    assert "old" == environ(agent(documents))["RANKSCOPE_EXPORT__DCGM_NAMES"]
    assert pod(agent(documents))["hostPID"]


def test_a_key_that_kubernetes_does_not_have_is_found(clients: Clients):
    wrong = agent(rendered(clients, "default"))
    container(wrong)["securityContext"]["readOnlyRootFileSystem"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_a_key_that_a_custom_kind_does_not_have_is_found(clients: Clients):
    wrong = one(rendered(clients, "prometheus-operator"), "PodMonitor", "rankscope-agent")
    wrong["spec"]["podMetricsEndpoint"] = []
    with pytest.raises(ValueError, match="podMetricsEndpoint"):
        custom_kinds.validate(wrong)


def test_the_folder_itself_is_the_default_overlay(clients: Clients):
    assert rendered(clients, "default") == clients.kustomize(KUBERNETES)


def test_each_overlay_differs_from_the_default_one(clients: Clients):
    default = rendered(clients, "default")
    assert [] == [
        name for name in OVERLAYS if name != "default" and rendered(clients, name) == default
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_image_is_ours_and_where_the_site_says(overlay: str, clients: Clients):
    text = (KUBERNETES / "overlays" / overlay / "kustomization.yaml").read_text()
    images = yaml.safe_load(text)["images"]
    documents = rendered(clients, overlay)
    wanted = {one["name"]: f"{one['newName']}:{one['newTag']}" for one in images}
    assert {
        "rankscope": container(collector(documents))["image"],
        "rankscope-agent": container(agent(documents))["image"],
    } == wanted
    assert 1 == len(set(wanted.values())), "one image is enough to begin with"


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
def test_the_agent_would_start_with_its_variables(overlay: str, clients: Clients):
    given = environ(agent(rendered(clients, overlay)))
    loaded = settings.load(AgentSettings, path=None, environ=given, foreign=FOREIGN)
    assert "node-17" == loaded.node.host
    assert TOKENS["ingest"] == loaded.push.token.get_secret_value()
    known = {key.variable for key in settings.keys(AgentSettings)}
    assert set() == {name for name in given if name.startswith("RANKSCOPE_")} - known
    names = {reader.name for reader in readers.everything(readers.ReaderContext(settings=loaded))}
    assert set(loaded.readers.off) <= names


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_agents_page_is_where_probes_and_services_look(overlay: str, clients: Clients):
    inside = container(agent(rendered(clients, overlay)))
    [port] = [row for row in inside["ports"] if row["name"] == "metrics"]
    assert 9470 == port["containerPort"]
    assert AgentSettings().export.listen == f":{port['containerPort']}"
    for probe in ("livenessProbe", "readinessProbe"):
        assert {"path": "/healthz", "port": "metrics"} == inside[probe]["httpGet"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_agent_may_have_what_its_budget_says(overlay: str, clients: Clients):
    resources = container(agent(rendered(clients, overlay)))["resources"]
    assert "64Mi" == resources["requests"]["memory"]
    assert {"memory": "128Mi"} == resources["limits"], "throttled, it would report faults late"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_collector_would_start_with_its_variables(overlay: str, clients: Clients):
    documents = rendered(clients, overlay)
    stateful, service = collector(documents), one(documents, "Service", "rankscope-collector")
    given = environ(stateful)
    loaded = settings.load(
        CollectorSettings,
        path=None,
        environ={name: value for name, value in given.items() if "__" in name or "DATA" in name},
    )
    assert ["ingest", "read", "admin"] == [token.role for token in loaded.api.tokens]
    assert json.loads(given["RANKSCOPE_API__TOKENS"])[0]["token"] == TOKENS["ingest"]
    written = {mount["mountPath"] for mount in container(stateful)["volumeMounts"]}
    assert str(loaded.data_dir) in written
    [claim] = stateful["spec"]["volumeClaimTemplates"]
    capacity = int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi")) << 30
    assert loaded.journal.keep_bytes < capacity
    [port] = service["spec"]["ports"]
    endpoint = environ(agent(documents))["RANKSCOPE_PUSH__ENDPOINT"]
    assert f"http://{service['metadata']['name']}:{port['port']}" == endpoint


def selectors(documents: Documents) -> list[dict[str, str]]:
    """Return what services, policies, budgets and monitors look for among pods."""
    found = []
    for document in documents:
        spec: dict[str, Any] = document.get("spec", {})
        if document["kind"] == "Service":
            found.append(spec["selector"])
        elif document["kind"] in ("PodMonitor", "PodDisruptionBudget"):
            found.append(spec["selector"]["matchLabels"])
        elif document["kind"] == "NetworkPolicy":
            chosen = [spec["podSelector"]]
            chosen += [
                peer["podSelector"]
                for rule in spec.get("ingress", ())
                for peer in rule["from"]
                if "podSelector" in peer
            ]
            found += [row["matchLabels"] for row in chosen if row]
    return found


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_selects_pods_finds_them(overlay: str, clients: Clients):
    documents = rendered(clients, overlay)
    labels = [
        workload["spec"]["template"]["metadata"]["labels"].items()
        for workload in (agent(documents), collector(documents))
    ]
    assert len(selectors(documents)) >= 4
    for selector in selectors(documents):
        assert any(selector.items() <= own for own in labels), selector
    ports = {
        port["name"]
        for w in (agent(documents), collector(documents))
        for port in container(w)["ports"]
    }
    for document in documents:
        if document["kind"] == "PodMonitor":
            assert {end["port"] for end in document["spec"]["podMetricsEndpoints"]} <= ports


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


def test_any_node_takes_away_what_only_nodes_with_nvidia_devices_have(clients: Clients, tmp_path):
    spec = pod(agent(with_components(clients, tmp_path, "any-node")))
    assert set() == {"runtimeClassName", "nodeSelector"} & set(spec)
    assert "NVIDIA" not in " ".join(row["name"] for row in spec["containers"][0]["env"])


def test_trainers_and_the_policy_bring_the_same_probe():
    [job] = yaml.safe_load_all((KUBERNETES / "trainer.yaml").read_text())
    kubernetes_validate.validate(copy.deepcopy(job), VERSIONS[0], strict=True)
    [init] = pod(job)["initContainers"]
    policy = (KUBERNETES / "components" / "probe-injection" / "policy.yaml").read_text()
    expression = next(yaml.safe_load_all(policy))["spec"]["mutations"][0]["applyConfiguration"][
        "expression"
    ]
    assert init["image"] in expression
    assert json.dumps(init["command"][2:])[1:-1] in expression
    [inside] = pod(job)["containers"]
    for row in inside["env"][:2]:
        assert f'name: "{row["name"]}", value: "{row["value"]}"' in expression
    for mount in inside["volumeMounts"]:
        assert f'name: "{mount["name"]}", mountPath: "{mount["mountPath"]}"' in expression
    assert expression.count("{") == expression.count("}")


def test_the_overlay_that_the_page_shows_is_rendered(clients: Clients, tmp_path):
    page = (KUBERNETES.parents[1] / "docs/deploy/kubernetes.md").read_text()
    [text] = re.findall(
        r"^```yaml\n(# deploy/kubernetes/overlays/ours/.*?)^```", page, re.MULTILINE | re.DOTALL
    )
    ours = tmp_path / "overlays" / "ours"
    ours.mkdir(parents=True)
    for name in ("base", "components"):
        (tmp_path / name).symlink_to(KUBERNETES / name)
    (ours / "kustomization.yaml").write_text(text)
    documents = clients.kustomize(ours)
    check(documents, VERSIONS[-1])
    assert pod(agent(documents))["hostPID"]
    assert "PodMonitor" in {document["kind"] for document in documents}
    assert "true" == environ(collector(documents))["RANKSCOPE_KUBERNETES__WRITE_BACK"]


def test_the_pages_command_writes_the_sites_registry_everywhere(tmp_path):
    page = (KUBERNETES.parents[1] / "docs/deploy/kubernetes.md").read_text()
    [command] = re.findall(r"^grep -rl registry.*$", page, re.MULTILINE)
    shutil.copytree(KUBERNETES, tmp_path / "deploy/kubernetes")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    texts = [path.read_text() for path in tmp_path.rglob("*.yaml")]
    assert not [text for text in texts if "registry.example/rankscope" in text]
    assert len([text for text in texts if "registry.your-site/rankscope" in text]) >= 8
