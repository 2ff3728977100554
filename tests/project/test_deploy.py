"""Settings shown in deploy/ and in the documentation are accepted by the real programs."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from rankscope import settings
from rankscope.agent.settings import FOREIGN, AgentSettings
from rankscope.collector.settings import CollectorSettings

ROOT = Path(__file__).parents[2]
TOKENS = {"RANKSCOPE_INGEST_TOKEN": "i" * 24, "RANKSCOPE_READ_TOKEN": "r" * 24}


def compose() -> dict[str, Mapping[str, str]]:
    """Return the environment of each service of the compose file, with our tokens put in."""
    text = (ROOT / "deploy" / "docker-compose.yml").read_text()
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda match: TOKENS[match[1]], text)
    services = yaml.safe_load(text)["services"]
    return {name: service.get("environment", {}) for name, service in services.items()}


def test_the_collector_of_the_compose_file_would_start():
    loaded = settings.load(CollectorSettings, path=None, environ=compose()["collector"])
    assert "0.0.0.0:8470" == loaded.http.listen
    assert loaded.protected, "outside loopback the collector needs tokens"
    assert ["ingest", "read"] == [token.role for token in loaded.api.tokens]


def test_the_agent_of_the_compose_file_would_start_with_the_collectors_token():
    loaded = settings.load(AgentSettings, path=None, environ=compose()["agent"], foreign=FOREIGN)
    assert TOKENS["RANKSCOPE_INGEST_TOKEN"] == loaded.push.token.get_secret_value()


@pytest.mark.parametrize(
    ("name", "model"), [("agent", AgentSettings), ("collector", CollectorSettings)]
)
def test_the_settings_files_shown_in_the_pages_are_accepted(
    name: str, model: type[BaseModel], tmp_path: Path
):
    text = (ROOT / "docs" / "deploy.md").read_text()
    [shown] = re.findall(rf"^```yaml\n(# {name}\.yaml\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / f"{name}.yaml"
    path.write_text(shown)
    loaded = settings.load(model, path=path, environ={})
    assert set(yaml.safe_load(shown)) == loaded.model_fields_set


@pytest.mark.acceptance
def test_prometheus_accepts_what_is_shown(program, tmp_path: Path):
    shown = re.findall(
        r"^```yaml\n(scrape_configs:.*?)^```",
        (ROOT / "docs" / "deploy.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    texts = [(ROOT / "deploy" / "prometheus.yml").read_text(), *shown]
    assert 2 == len(texts)
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.yml"
        path.write_text(text)
        done = subprocess.run(
            [program("promtool"), "check", "config", path],
            text=True,
            capture_output=True,
            check=False,
        )
        assert 0 == done.returncode, done.stdout + done.stderr
