"""The built dashboards and rules, and every name that agents and collectors show."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest
import yaml

from rankscope.collector.accounting.families import FAMILIES
from rankscope.collector.health.health import CollectorHealth
from rankscope.dashboards.grafana import building
from rankscope.dashboards.grafana.frame import BuildOptions
from rankscope.vocabulary import metrics

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def deployed() -> Path:
    """Return the folder of the repository that holds the built files."""
    return REPOSITORY / "deploy"


@pytest.fixture(scope="session")
def built() -> dict[str, str]:
    return dict(building.files(BuildOptions()))


@pytest.fixture(scope="session")
def documents():
    return building.documents(BuildOptions())


@pytest.fixture(scope="session")
def rules(built):
    """Return every rule of the rule files."""
    return [
        rule
        for name, text in built.items()
        if name.startswith(building.RULES)
        for group in yaml.safe_load(text)["groups"]
        for rule in group["rules"]
    ]


@pytest.fixture(scope="session")
def exported() -> dict[str, frozenset[str]]:
    """Return the labels of every series that an agent or a collector may show, by its name."""
    found: dict[str, frozenset[str]] = {}
    for metric in metrics.catalogue().values():
        own = {name.replace(".", "_") for name in (*metric.attributes, *metric.optional)}
        found[metric.prometheus_name] = frozenset(
            {"host_name", "job_id", "cluster", *own} - {"pid"}
        )
    text = resources.files("rankscope.agent").joinpath("health.toml").read_text(encoding="utf-8")
    for row in tomllib.loads(text)["metric"]:
        found[row["name"]] = frozenset(row.get("labels", ()))
    for family in FAMILIES:
        found[family.name] = frozenset(family.labels)
    for own_health in CollectorHealth().registry.collect():
        ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        for end in ends.get(own_health.type, [""]):
            found[own_health.name + end] = frozenset(["kind", "reason", "status", "stage", "le"])
    scraped = {"instance", "job"}
    return {name: labels | scraped for name, labels in {**found, "up": frozenset()}.items()}
