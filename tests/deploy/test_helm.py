"""The chart, rendered by helm itself: what kustomize makes, and every value does what it says."""

import json
import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from rankscope import settings
from rankscope.collector.settings.collector import CollectorSettings

from . import custom_kinds
from .clients import CHART, KUBERNETES, Clients, Documents
from .documents import Document, agent, collector, container, environ, one, pod

pytestmark = pytest.mark.documents

EVERYTHING: dict[str, Any] = {
    "image": {"repository": "r.example/x", "tag": "9", "pullSecrets": [{"name": "pull"}]},
    "namespace": {"create": True},
    "agent": {
        "profile": "full",
        "dcgmNames": "new",
        "cluster": "train-a",
        "udp": True,
        "env": {"RANKSCOPE_READERS__PERIOD_SECONDS": 10},
        "nodeSelector": None,
        "runtimeClassName": "",
        "nvidia": False,
    },
    "collector": {
        "env": {"RANKSCOPE_STORE__URL": "postgresql://db/x"},
        "config": {"webhooks": [{"url": "https://hooks.example/x", "format": "alertmanager"}]},
        "storage": {"className": "fast", "size": "100Gi"},
        "nodeSelector": {"pool": "services"},
        "tolerations": [{"operator": "Exists"}],
        "writeBack": True,
    },
    "networkPolicy": {"enabled": False, "nodes": ["192.0.2.0/24"]},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "tlsSecret": "tls",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
    },
    "prometheusOperator": {"enabled": True, "labels": {"release": "kube-prometheus-stack"}},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "everything": EVERYTHING,
    "full": {"agent": {"profile": "full"}},
    "openshift": {"openshift": {"enabled": True}},
    "dcgm": {"agent": {"dcgmNames": "old"}},
    "agents": {
        "collector": {"enabled": False},
        "agent": {"env": {"RANKSCOPE_PUSH__ENDPOINT": "http://rankscope-collector.rankscope:8470"}},
    },
    "secret": {"tokens": {"existingSecret": "mine"}},
}


def bare(document: Document) -> Document:
    """Return a document without what says by which program it was made."""
    found = json.loads(json.dumps(document))
    parts = [found["metadata"]]
    if "template" in found.get("spec", {}):
        parts.append(found["spec"]["template"]["metadata"])
        for row in found["spec"]["template"]["spec"]["containers"]:
            row.pop("image"), row.pop("imagePullPolicy", None)
    for part in parts:
        labels = part.get("labels", {})
        for name in ("instance", "managed-by", "version"):
            labels.pop(f"app.kubernetes.io/{name}", None)
    ordered: Document = without_order(found)
    return ordered


def without_order(value: Any) -> Any:
    """Return a document with its lists sorted: kustomize puts what a patch adds first."""
    if isinstance(value, dict):
        return {key: without_order(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((without_order(part) for part in value), key=_text)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def by_name(documents: Documents) -> dict[tuple[str, str], Document]:
    return {(d["kind"], d["metadata"]["name"]): bare(d) for d in documents}


@pytest.mark.parametrize(
    ("variant", "overlay"),
    [
        ("default", "default"),
        ("full", "full"),
        ("openshift", "openshift"),
        ("dcgm", "replace-dcgm-exporter"),
    ],
)
def test_the_chart_makes_what_kustomize_makes(variant: str, overlay: str, clients: Clients):
    """But for the secret, which is the chart's own, and the namespace, which is helm's to make."""
    chart = by_name(clients.chart(VARIANTS[variant]))
    del chart["Secret", "rankscope-tokens"]
    plain = by_name(clients.kustomize(KUBERNETES / "overlays" / overlay))
    del plain["Namespace", "rankscope"]
    assert plain.keys() == chart.keys()
    for key, document in plain.items():
        assert document == chart[key], key


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_document_is_valid_by_the_schemas_of_kubernetes(variant: str, clients: Clients):
    documents = clients.chart(VARIANTS[variant])
    for document in documents:
        if not custom_kinds.validate(document):
            kubernetes_validate.validate(document, "1.34", strict=True)


def test_helm_finds_nothing_wrong_with_the_chart(clients: Clients):
    assert "0 chart(s) failed" in clients.run("helm", "lint", "--strict", str(CHART)).stdout


def test_tokens_are_made_for_whoever_brings_none(clients: Clients):
    data = one(clients.chart(), "Secret", "rankscope-tokens")["data"]
    assert {"ingest", "read", "admin"} == set(data)
    assert 3 == len(set(data.values()))
    documents = clients.chart(VARIANTS["secret"])
    assert "Secret" not in {document["kind"] for document in documents}
    names = {
        row["valueFrom"]["secretKeyRef"]["name"]
        for workload in (agent(documents), collector(documents))
        for row in container(workload)["env"]
        if "secretKeyRef" in row.get("valueFrom", {})
    }
    assert {"mine"} == names


def test_agents_alone_send_to_the_collector_that_is_named(clients: Clients):
    documents = clients.chart(VARIANTS["agents"])
    assert "StatefulSet" not in {document["kind"] for document in documents}
    names = [row["name"] for row in container(agent(documents))["env"]]
    assert len(set(names)) == len(names)
    wanted = VARIANTS["agents"]["agent"]["env"]["RANKSCOPE_PUSH__ENDPOINT"]
    assert wanted == environ(agent(documents))["RANKSCOPE_PUSH__ENDPOINT"]


def test_settings_reach_agent_and_collector(clients: Clients):
    documents = clients.chart(EVERYTHING)
    given = environ(agent(documents))
    assert ("train-a", "10", "0.0.0.0:8471") == (
        given["RANKSCOPE_NODE__CLUSTER"],
        given["RANKSCOPE_READERS__PERIOD_SECONDS"],
        given["RANKSCOPE_PROBE__UDP_LISTEN"],
    )
    assert "NVIDIA_VISIBLE_DEVICES" not in given
    assert "nodeSelector" not in pod(agent(documents))
    assert "postgresql://db/x" == environ(collector(documents))["RANKSCOPE_STORE__URL"]
    assert "r.example/x:9" == container(collector(documents))["image"]


def test_nodes_may_have_a_smaller_image_of_their_own(clients: Clients):
    documents = clients.chart({"agent": {"image": "r.example/agent:9"}})
    assert "r.example/agent:9" == container(agent(documents))["image"]
    assert "registry.example/rankscope:0.1.0" == container(collector(documents))["image"]


def test_the_collectors_file_is_one_that_it_accepts(clients: Clients, tmp_path):
    documents = clients.chart(EVERYTHING)
    text = one(documents, "Secret", "rankscope-collector")["stringData"]["collector.yaml"]
    path = tmp_path / "collector.yaml"
    path.write_text(text)
    loaded = settings.load(CollectorSettings, path=path, environ={})
    assert "https://hooks.example/x" == loaded.webhooks[0].url.get_secret_value()
    assert ["collector", "--config", "/etc/rankscope/collector.yaml"] == container(
        collector(documents)
    )["args"]


def test_other_settings_of_the_collector_make_another_pod(clients: Clients):
    def annotations(values: dict[str, Any]) -> dict[str, str]:
        found: dict[str, str] = collector(clients.chart(values))["spec"]["template"]["metadata"][
            "annotations"
        ]
        return found

    first, second = ({"collector": {"config": {"users": [{"jobs": j, "user": "a"}]}}} for j in "ab")
    assert annotations(first) != annotations(second)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"agent": {"profil": "full"}}, "profil"),
        ({"agent": {"profile": "root"}}, "profile"),
        ({"agent": {"env": {"lower-case": "x"}}}, "lower-case"),
        ({"collector": {"storage": {"size": "much"}}}, "size"),
        ({"collector": {"replicas": 2}}, "replicas"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(
    wrong: dict[str, Any], named: str, clients: Clients, tmp_path
):
    path = tmp_path / "values.json"
    path.write_text(json.dumps(wrong))
    done = clients.run("helm", "template", "x", str(CHART), "--values", str(path), fails=True)
    assert named in done.stderr


def test_every_value_is_in_the_schema_and_explained():
    def keys(schema: dict[str, Any], before: str = "") -> set[str]:
        found = set()
        for name, part in schema.get("properties", {}).items():
            path = f"{before}{name}"
            nested = keys(part, f"{path}.")
            found |= nested or {path}
        return found

    def given(value: object, before: str = "") -> set[str]:
        if not isinstance(value, dict) or not value:
            return {before[:-1]}
        return {path for name, part in value.items() for path in given(part, f"{before}{name}.")}

    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    known = keys(schema)
    for path in given(values):
        assert any(path == one or path.startswith(f"{one}.") for one in known), path


def test_versions_are_the_packages_own():
    from importlib.metadata import version  # noqa: PLC0415

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert version("rankscope") == chart["version"] == chart["appVersion"]


@pytest.mark.parametrize("name", ["deploy/helm.md", "mixed-vendors.md"])
def test_values_that_a_page_shows_are_accepted(name: str, clients: Clients):
    page = (CHART.parents[2] / "docs" / name).read_text()
    blocks = re.findall(r"^```yaml\n((?:# values|agent:).*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        spec = pod(agent(clients.chart(yaml.safe_load(block))))
        assert "runtimeClassName" not in spec
        assert "nvidia.com/gpu.present" not in spec.get("nodeSelector", {})


def test_a_variable_may_come_from_a_secret(clients: Clients):
    """The address of a database holds its password, which is not for whoever reads a manifest."""
    source = {"valueFrom": {"secretKeyRef": {"name": "rankscope-store", "key": "url"}}}
    documents = clients.chart({"collector": {"env": {"RANKSCOPE_STORE__URL": source}}})
    rows = container(collector(documents))["env"]
    assert {"name": "RANKSCOPE_STORE__URL", **source} in rows
