"""docs/existing-prometheus.md as a new user follows it: its commands, its files, a real Prometheus.

Only addresses are put in the place of the page's, and the polls come each second. The Prometheus
holds the hour of the page's first command, and scrapes dcgm-exporter and node-exporter now.
"""

import json
import operator
import re
import subprocess
import sys
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.serving import Answer, Request, served
from tests.waiting import get, until

from bench.live import scraped
from rankscope.lab import trial
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.lab.simulator import recording

pytestmark = pytest.mark.programs

PAGE = Path(__file__).parents[2].joinpath("docs", "existing-prometheus.md").read_text("utf-8")
STORE, COLLECTOR = "http://prometheus:9090", "http://collector:8470"
START, SECONDS, ONSET = 1_772_438_400.0, 1200.0, 600.0
"""START is the --from of the page, 2026-03-02T08:00:00Z."""

RANKSCOPE = [sys.executable, "-m", "rankscope.cli.main"]


def commands() -> list[list[str]]:
    """Return the commands of the page, in words."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.split()[1:] for line in lines if line.startswith("rankscope ")]


def file(name: str) -> str:
    """Return a file that the page shows, by the name in its first line."""
    [text] = re.findall(rf"^```yaml\n# {name}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def simulated() -> Any:
    """Return a recording of 32 devices that only exporters show, one hot from minute ten on."""
    scenario = trial.scenario(trial.LabTrial("gpu.thermal_throttle", ranks=32, seed=0))
    broken = {**(scenario.fault or {}), "onset": ONSET}
    broken.pop("until", None)
    job = replace(scenario.jobs[0], name="llama")
    scenario = replace(scenario, seconds=SECONDS, fault=broken, jobs=(job,))
    return recording.simulate(scraped.as_scraped(scenario), 0)


@pytest.fixture(scope="module")
def exporters():
    """Serve the pages of the recording's exporters, as they are before the fault."""
    made = simulated()
    found = list(scraped.exported(made))

    pages = {target: scraped.page(found, target, 300.0).encode()
             for target in {one.target for one in found}}  # fmt: skip

    def page(request: Request) -> Answer:
        return Answer(pages[urllib.parse.unquote(request.path.removeprefix("/"))])

    with served(page) as address:
        yield made, found, address.removeprefix("http://")


@pytest.fixture(scope="module")
def places(program, exporters, tmp_path_factory):
    """Run a Prometheus with the page's remote_write and two collectors; give all addresses."""
    made, found, pages = exporters
    folder = tmp_path_factory.mktemp("page")
    past = folder / "past.om"
    with past.open("w", encoding="utf-8") as text:
        text.writelines(scraped.open_metrics(found, start=START))
    subprocess.run(
        [program("promtool"), "tsdb", "create-blocks-from", "openmetrics", past, folder / "tsdb"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    with DemoProcesses(folder) as processes:
        store, sent, polling = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
        written = yaml.safe_load(file("prometheus.yml").replace(COLLECTOR, sent))
        config = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
            "scrape_configs": [
                {"job_name": target, "metrics_path": f"/{target}",
                 "static_configs": [{"targets": [pages]}],
                 "relabel_configs": [{"target_label": "instance", "replacement": target}]}
                for target in sorted({one.target for one in found})
            ],
            **written,
        }  # fmt: skip
        folder.joinpath("prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        settings = file("collector.yaml").replace("interval_seconds: 15", "interval_seconds: 5")
        settings = settings.replace(STORE, store)
        folder.joinpath("collector.yaml").write_text(settings, encoding="utf-8")
        for name, address, words in (
            ("sent", sent, ["collector"]),
            ("polling", polling, commands()[2]),
        ):
            environ = {
                **clean_environment(),
                "RANKSCOPE_DATA_DIR": str(folder / name),
                "RANKSCOPE_HTTP__LISTEN": address.removeprefix("http://"),
            }
            words = [str(folder / word) if word.endswith(".yaml") else word for word in words]
            processes.start(name, [*RANKSCOPE, *words], environ=environ)
        processes.start(
            "prometheus",
            [
                program("prometheus"), f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}", "--storage.tsdb.retention.time=10y",
                f"--web.listen-address={store.removeprefix('http://')}",
            ],
            environ=clean_environment(),
        )  # fmt: skip
        until(lambda: get(store, "/api/v1/query?query=vector(1)"), "Prometheus")
        yield {"made": made, "store": store, "sent": sent, "polling": polling, "folder": folder}


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RANKSCOPE, *words], cwd=folder, env={**clean_environment(), "NO_COLOR": "1"},
        text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_page_has_the_commands_that_are_tried_here():
    assert ["replay", "check-config", "collector"] == [words[0] for words in commands()]


def test_the_first_command_explains_what_the_store_has_of_that_hour(places):
    words = [word.replace(STORE, places["store"]) for word in commands()[0]]
    done = run(words, places["folder"])
    assert 0 == done.returncode, done.stderr
    text = "".join(done.stdout.split())  # long lines are wrapped
    assert f"1.gpu.thermal_throttlegpu{places['made'].truth.entity.id}" in text
    assert "training.comm.duration" in text


def test_the_settings_are_taken(places):
    done = run(commands()[1], places["folder"])
    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize("way", ["polling", "sent"])
def test_jobs_and_devices_of_the_store_appear(places, way):
    def jobs() -> Any:
        found = get(places[way], "/api/v1/jobs")["items"]
        return [(one["job"], one["ranks"], one["status"]) for one in found]

    until(jobs, "the job", lambda found: ("train/llama", 32, "running") in found)
    # A poll that took too long is warned of until the next one.
    until(lambda: get(places[way], "/readyz")["warnings"], "no warning", operator.not_)
