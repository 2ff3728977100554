"""Settings shown in the documentation are accepted by the real programs."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from rankscope import settings
from rankscope.agent.settings import AgentSettings
from rankscope.collector.settings.collector import CollectorSettings

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
MODELS: dict[str, type[BaseModel]] = {"agent": AgentSettings, "collector": CollectorSettings}


def shown() -> list[tuple[str, str, str]]:
    """Return page, program and text of every settings file that a page shows."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        blocks = re.findall(
            r"^```yaml\n(# (agent|collector)\.yaml\n.*?)^```",
            page.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
        found += [(str(page.relative_to(ROOT)), name, text) for text, name in blocks]
    return found


def test_both_programs_have_a_file_on_the_first_page():
    assert {"agent", "collector"} == {name for page, name, _ in shown() if page == "docs/deploy.md"}


@pytest.mark.parametrize(("page", "name", "text"), shown())
def test_the_settings_files_shown_in_the_pages_are_accepted(
    page: str, name: str, text: str, tmp_path: Path
):
    path = tmp_path / f"{name}.yaml"
    # A detector of the reader's own package is not installed here.
    path.write_text(re.sub(r"plugins: \[\w+\]", "plugins: []", text))
    loaded = settings.load(MODELS[name], path=path, environ={})
    assert set(yaml.safe_load(text)) == loaded.model_fields_set, page


def test_prometheus_accepts_what_is_shown(program, tmp_path: Path):
    blocks = [
        block
        for page in ("deploy.md", "deploy/prometheus.md")
        for block in re.findall(
            r"^```yaml\n(scrape_configs:.*?)^```",
            (ROOT / "docs" / page).read_text(),
            re.MULTILINE | re.DOTALL,
        )
    ]
    assert 2 == len(blocks)
    for number, text in enumerate(blocks):
        path = tmp_path / f"{number}.yml"
        path.write_text(text)
        done = subprocess.run(
            [program("promtool"), "check", "config", path],
            text=True,
            capture_output=True,
            check=False,
        )
        assert 0 == done.returncode, done.stdout + done.stderr
