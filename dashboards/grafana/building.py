"""Every file that `rankscope dashboards build` writes, by its path below the output folder."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from . import cluster, incident, itself, job, network, node
from .alerts import ALERTS
from .frame import BuildOptions
from .recordings import RECORDINGS
from .rules import as_yaml, file

BUILDERS: tuple[Callable[[BuildOptions], models.Dashboard], ...] = (
    cluster.build,
    job.build,
    node.build,
    network.build,
    incident.build,
    itself.build,
)
SCHEMA_VERSION = 42


def documents(given: BuildOptions) -> Mapping[str, dict[str, Any]]:
    """Return every dashboard's document by its uid."""
    found = [document(build(given)) for build in BUILDERS]
    return {one["uid"]: one for one in found}


def document(dashboard: models.Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it.

    The SDK says of every link and annotation that it belongs into the menu of controls. Without
    that they are where they always were: in sight.
    """
    made: dict[str, Any] = json.loads(JSONEncoder().encode(dashboard))
    for one in (*made["links"], *made["annotations"]["list"]):
        one.pop("placement", None)
    return made


def as_json(document_: Mapping[str, Any]) -> str:
    """Return the text of a file: keys in order, so that a diff shows what changed."""
    return json.dumps(document_, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


DASHBOARDS = "grafana/dashboards"
PROVISIONING = "grafana/provisioning"
RULES = "prometheus/rules"
KUBERNETES = "kubernetes/grafana"
SOURCE_UID = "prometheus"
_WRITTEN = "# Written by `rankscope dashboards build`. Change dashboards/grafana, not this file.\n"
_INSIDE = "/var/lib/grafana/dashboards"
"""Where docker-compose.yml mounts the dashboards."""


def files(given: BuildOptions) -> Mapping[str, str]:
    dashboards = {f"{uid}.json": as_json(one) for uid, one in documents(given).items()}
    rules = {
        "recording.yml": as_yaml(file(RECORDINGS)),
        "alerts.yml": as_yaml(file(ALERTS)),
    }
    found = {f"{DASHBOARDS}/{name}": text for name, text in dashboards.items()}
    found |= {f"{RULES}/{name}": _WRITTEN + text for name, text in rules.items()}
    found[f"{PROVISIONING}/datasources/prometheus.yaml"] = _WRITTEN + as_yaml(_source(given))
    found[f"{PROVISIONING}/dashboards/rankscope.yaml"] = _WRITTEN + as_yaml(_provider())
    for name, text in dashboards.items():
        found[f"{KUBERNETES}/{name.removesuffix('.json')}.yaml"] = _WRITTEN + as_yaml(
            _config_map(name, text)
        )
    names = [f"{name.removesuffix('.json')}.yaml" for name in dashboards]
    found[f"{KUBERNETES}/kustomization.yaml"] = _WRITTEN + as_yaml(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": names,
        }
    )
    found[f"{KUBERNETES}/prometheus-rule.yaml"] = _WRITTEN + as_yaml(_prometheus_rule())
    return found


def write(given: BuildOptions, folder: Path) -> list[Path]:
    """Write every file below a folder; return their paths. Files of other names stay."""
    written = []
    for name, text in files(given).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _source(given: BuildOptions) -> dict[str, Any]:
    """Return the data source that Grafana is to have, at the address of docker-compose.yml."""
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "Prometheus",
                "uid": given.datasource or SOURCE_UID,
                "type": "prometheus",
                "access": "proxy",
                "url": "http://prometheus:9090",
                "isDefault": True,
                "editable": False,
                "jsonData": {"httpMethod": "POST", "timeInterval": "15s"},
            }
        ],
    }


def _provider() -> dict[str, Any]:
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "rankscope",
                "orgId": 1,
                "folder": "Rankscope",
                "folderUid": "rankscope",
                "type": "file",
                "disableDeletion": True,
                "updateIntervalSeconds": 30,
                "allowUiUpdates": False,
                "options": {"path": _INSIDE},
            }
        ],
    }


def _config_map(name: str, text: str) -> dict[str, Any]:
    """Return what the sidecar of Grafana's chart looks for: a label, and JSON below `data`."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name.removesuffix(".json"),
            "labels": {"grafana_dashboard": "1", "app.kubernetes.io/part-of": "rankscope"},
            "annotations": {"grafana_folder": "Rankscope"},
        },
        "data": {name: text},
    }


def _prometheus_rule() -> dict[str, Any]:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "rankscope", "labels": {"app.kubernetes.io/part-of": "rankscope"}},
        "spec": file((*RECORDINGS, *ALERTS)),
    }
