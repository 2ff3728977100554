"""The files in the repository are those that the code writes, and their readers can read them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from grafana_foundation_sdk.models import dashboard as models

from rankscope.cli.main import main
from rankscope.dashboards.grafana import building
from rankscope.dashboards.grafana.frame import BuildOptions

MIB = 1 << 20
INSIDE = Path("/var/lib/grafana/dashboards")
"""Where docker-compose.yml mounts deploy/grafana/dashboards."""


def test_what_lies_in_deploy_is_what_the_code_writes(built, deployed):
    """Otherwise run `rankscope dashboards build --out deploy`."""
    folders = (building.DASHBOARDS, building.PROVISIONING, building.RULES, building.KUBERNETES)
    there = {
        str(path.relative_to(deployed)): path.read_text(encoding="utf-8")
        for folder in folders
        for path in (deployed / folder).rglob("*")
        if path.is_file()
    }
    assert sorted(built) == sorted(there)
    assert [] == [name for name, text in built.items() if there[name] != text]


def test_the_sdk_reads_each_dashboard_and_writes_it_again_without_a_difference(documents):
    """A key that the models do not have would be gone."""
    for document in documents.values():
        again = building.document(models.Dashboard.from_json(document))
        assert building.as_json(document) == building.as_json(again)


def test_the_verb_writes_below_a_folder_with_the_data_source_and_console_of_choice(
    tmp_path, capsys
):
    words = ["--datasource", "mimir", "--console", "https://rs.example/", "--out", str(tmp_path)]
    assert 0 == main(["dashboards", "build", *words])
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed) == sorted(str(path) for path in tmp_path.rglob("*") if path.is_file())
    document = json.loads((tmp_path / building.DASHBOARDS / "rankscope-job.json").read_text())
    variables = {one["name"]: one for one in document["templating"]["list"]}
    assert "mimir" == variables["datasource"]["current"]["value"]
    assert "https://rs.example" == variables["console"]["query"]
    source = tmp_path / building.PROVISIONING / "datasources/prometheus.yaml"
    assert "mimir" == yaml.safe_load(source.read_text())["datasources"][0]["uid"]


def test_grafana_finds_every_dashboard_by_its_provisioning(deployed, documents):
    """Walks the files as Grafana does at its start."""
    folder = deployed / building.PROVISIONING
    providers = []
    for path in sorted((folder / "dashboards").glob("*.y*ml")):
        config = yaml.safe_load(path.read_text())
        assert 1 == config["apiVersion"]
        providers += config["providers"]
    assert [] == [one["name"] for one in providers if one["type"] != "file"]
    found: dict[str, Any] = {}
    for provider in providers:
        mounted = Path(provider["options"]["path"])
        assert mounted == INSIDE
        for path in (deployed / building.DASHBOARDS).rglob("*.json"):
            document = json.loads(path.read_text(encoding="utf-8"))
            assert document.get("id") is None
            assert document["uid"] not in found
            assert document["title"] not in [one["title"] for one in found.values()]
            found[document["uid"]] = document
    assert set(documents) == set(found)
    sources = []
    for path in sorted((folder / "datasources").glob("*.y*ml")):
        config = yaml.safe_load(path.read_text())
        assert 1 == config["apiVersion"]
        sources += config["datasources"]
    assert [True] == [one["isDefault"] for one in sources]
    assert {"prometheus"} == {one["type"] for one in sources}
    texts = [path.read_text() for path in folder.rglob("*.yaml")]
    assert [] == [text for text in texts if "$" in text]  # Grafana would look for a variable


def test_config_maps_are_what_the_sidecar_looks_for(built, documents):
    names = [name for name in built if name.startswith(building.KUBERNETES)]
    maps = [yaml.safe_load(built[name]) for name in names]
    maps = [one for one in maps if one["kind"] == "ConfigMap"]
    for one in maps:
        kubernetes_validate.validate(one, "1.31", strict=True)
        assert "1" == one["metadata"]["labels"]["grafana_dashboard"]
        assert len(json.dumps(one)) < MIB
    held = {json.loads(text)["uid"] for one in maps for text in one["data"].values()}
    assert set(documents) == held
    listed = yaml.safe_load(built[f"{building.KUBERNETES}/kustomization.yaml"])["resources"]
    assert sorted(listed) == sorted(f"{uid}.yaml" for uid in documents)


def test_the_operator_gets_the_same_rules(built, rules):
    text = built[f"{building.KUBERNETES}/prometheus-rule.yaml"]
    groups = yaml.safe_load(text)["spec"]["groups"]
    assert sorted(map(repr, rules)) == sorted(
        repr(one) for group in groups for one in group["rules"]
    )


@pytest.mark.parametrize("name", ["alerts.yml", "recording.yml"])
def test_promtool_takes_the_rules(program, deployed, name):
    path = deployed / building.RULES / name
    checked = subprocess.run(
        [program("promtool"), "check", "rules", "--lint=all", "--lint-fatal", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (checked.returncode, checked.stderr)


def test_without_a_choice_the_data_source_is_grafanas_own_default(documents):
    for document in documents.values():
        (source,) = [one for one in document["templating"]["list"] if one["type"] == "datasource"]
        assert "current" not in source or not source["current"].get("value")
    assert building.files(BuildOptions()) == building.files(BuildOptions())
