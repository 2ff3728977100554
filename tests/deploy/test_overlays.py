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
from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.collector.settings.collector import CollectorSettings

from . import custom_kinds
from .clients import KUBERNETES, Clients, Documents
from .documents import (
    TOKENS,
    agent,
    collector,
    container,
    environ,
    one,
    pod,
)
from .overlays import OVERLAYS, rendered, with_components

COMPONENTS = sorted(path.name for path in (KUBERNETES / "components").iterdir())
VERSIONS = ("1.31", "1.34", "1.37")

pytestmark = pytest.mark.documents


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


def test_a_node_is_checked_by_a_job_that_the_api_server_takes():
    [job] = yaml.safe_load_all((KUBERNETES / "check.yaml").read_text())
    for version in VERSIONS:
        kubernetes_validate.validate(copy.deepcopy(job), version, strict=True)
    [container] = pod(job)["containers"]
    assert ["rankscope", "check"] == container["command"][:2]


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
