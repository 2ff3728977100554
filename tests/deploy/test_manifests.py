"""The manifests for Kubernetes: valid by its schemas, and with the rights that the pages name."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
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

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
OTHERS = ("kustomization.yaml", "podmonitor.yaml")
"""Not of Kubernetes' own kinds."""
VERSIONS = ("1.32", "1.34")
TOKENS = {"ingest": "i" * 24, "read": "r" * 24, "admin": "a" * 24}


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def agent(profile: str) -> dict[str, Any]:
    [found] = documents(f"agent-{profile}.yaml")
    return found


def pod(document: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = document["spec"]["template"]["spec"]
    return spec


def container(document: dict[str, Any]) -> dict[str, Any]:
    [found] = pod(document)["containers"]
    assert "initContainers" not in pod(document)
    only: dict[str, Any] = found
    return only


def environ(document: dict[str, Any]) -> dict[str, str]:
    """Return the variables as the kubelet would set them: secrets read, $(NAME) put in."""
    found: dict[str, str] = {}
    for one in container(document)["env"]:
        if "value" in one:
            value = re.sub(r"\$\((\w+)\)", lambda match: found[match[1]], one["value"])
        elif "secretKeyRef" in one["valueFrom"]:
            value = TOKENS[one["valueFrom"]["secretKeyRef"]["key"]]
        else:
            assert {"fieldPath": "spec.nodeName"} == one["valueFrom"]["fieldRef"]
            value = "node-17"
        found[one["name"]] = value
    return found


def host_folders(document: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return by path on the node where it is mounted, and whether it may be written."""
    paths = {
        volume["name"]: volume["hostPath"]["path"]
        for volume in pod(document)["volumes"]
        if "hostPath" in volume
    }
    return {
        paths[mount["name"]]: (mount["mountPath"], not mount.get("readOnly", False))
        for mount in container(document)["volumeMounts"]
    }


def texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for pair in value.items() for one in pair for text in texts(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in texts(one))
    else:
        yield str(value)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "name", sorted(path.name for path in FOLDER.glob("*.yaml") if path.name not in OTHERS)
)
def test_every_document_is_valid_by_the_schemas_of_kubernetes(name: str, version: str):
    found = documents(name)
    assert found
    for document in found:
        kubernetes_validate.validate(document, version, strict=True)


def test_a_key_that_kubernetes_does_not_have_is_found():
    wrong = copy.deepcopy(agent("restricted"))
    container(wrong)["securityContext"]["readOnlyRootFileSystem"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_the_default_agent_has_no_right_of_a_privileged_one():
    default = agent("restricted")
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


def test_the_default_agent_writes_to_two_folders_of_the_node_and_no_other():
    assert {
        "/run/rankscope": ("/run/rankscope", True),
        "/var/lib/rankscope": ("/var/lib/rankscope", True),
        "/sys": ("/sys", False),
        "/var/lib/kubelet/pod-resources": ("/var/lib/kubelet/pod-resources", False),
    } == host_folders(agent("restricted"))


@pytest.mark.parametrize("profile", ["restricted", "full"])
def test_read_only_folders_are_so_with_all_that_is_mounted_below(profile: str):
    """`readOnly` alone leaves /sys/fs/cgroup writable."""
    recursive = {
        mount["mountPath"]: mount.get("recursiveReadOnly")
        for mount in container(agent(profile))["volumeMounts"]
        if mount.get("readOnly") and mount["mountPath"] != "/dev/kmsg"
    }
    assert "/sys" in recursive
    assert {"IfPossible"} == set(recursive.values())


@pytest.mark.parametrize("profile", ["restricted", "full"])
def test_folders_stand_where_the_agent_looks_for_them(profile: str):
    mounted = {path for path, _ in host_folders(agent(profile)).values()}
    assert str(addresses.socket_paths({})[0].parent) in mounted
    assert str(kubelet.SOCKET.parent) in mounted
    assert str(AgentSettings().node.sys) in mounted


def test_the_full_profile_differs_by_what_its_page_names_and_nothing_else():
    restricted, full = agent("restricted"), agent("full")
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
    container(full)["volumeMounts"] = [one for one in mounts if one["name"] not in names]
    assert 9470 == container(full)["ports"][0].pop("hostPort")
    del container(restricted)["securityContext"]
    off = {"name": "RANKSCOPE_READERS__OFF", "value": "interfaces"}
    container(restricted)["env"].remove(off)
    assert restricted == full


@pytest.mark.parametrize("profile", ["restricted", "full"])
def test_the_agent_would_start_with_its_variables(profile: str):
    given = environ(agent(profile))
    loaded = settings.load(AgentSettings, path=None, environ=given, foreign=FOREIGN)
    assert "node-17" == loaded.node.host
    assert TOKENS["ingest"] == loaded.push.token.get_secret_value()
    known = {key.variable for key in settings.keys(AgentSettings)}
    assert set() == {name for name in given if name.startswith("RANKSCOPE_")} - known
    names = {reader.name for reader in readers.everything(readers.ReaderContext(settings=loaded))}
    assert set(loaded.readers.off) <= names


@pytest.mark.parametrize("profile", ["restricted", "full"])
def test_the_agents_page_is_where_probes_and_services_look(profile: str):
    document = agent(profile)
    [port] = container(document)["ports"]
    assert ("metrics", 9470) == (port["name"], port["containerPort"])
    assert AgentSettings().export.listen == f":{port['containerPort']}"
    for probe in ("livenessProbe", "readinessProbe"):
        assert {"path": "/healthz", "port": "metrics"} == container(document)[probe]["httpGet"]


@pytest.mark.parametrize("profile", ["restricted", "full"])
def test_the_agent_may_have_what_its_budget_says(profile: str):
    resources = container(agent(profile))["resources"]
    assert "64Mi" == resources["requests"]["memory"]
    assert {"memory": "128Mi"} == resources["limits"], "throttled, it would report faults late"


def test_the_collector_would_start_with_its_variables():
    [stateful, service] = documents("collector.yaml")
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
    endpoint = environ(agent("restricted"))["RANKSCOPE_PUSH__ENDPOINT"]
    assert f"http://{service['metadata']['name']}:{port['port']}" == endpoint


def test_what_selects_pods_finds_them():
    labels = [
        document["spec"]["template"]["metadata"]["labels"].items()
        for name in ("agent-restricted.yaml", "agent-full.yaml", "collector.yaml")
        for document in documents(name)
        if "template" in document["spec"]
    ]
    chosen = [document["spec"]["selector"] for document in documents("podmonitor.yaml")]
    selectors = [one["matchLabels"] for one in chosen]
    selectors += [documents("collector.yaml")[1]["spec"]["selector"]]
    selectors += [documents("dcgm-exporter-service.yaml")[0]["spec"]["selector"]]
    for selector in selectors:
        assert any(selector.items() <= own for own in labels), selector
    assert {"metrics", "http"} == {
        end["port"]
        for document in documents("podmonitor.yaml")
        for end in document["spec"]["podMetricsEndpoints"]
    }


def test_the_kustomization_is_the_restricted_profile():
    [kustomization] = documents("kustomization.yaml")
    assert ["namespace.yaml", "collector.yaml", "agent-restricted.yaml"] == kustomization[
        "resources"
    ]
    assert container(agent("restricted"))["image"] == kustomization["images"][0]["name"]


def test_both_profiles_have_one_name_so_that_one_takes_the_others_place():
    assert agent("restricted")["metadata"] == agent("full")["metadata"]
