"""A real Prometheus scrapes a real agent."""

import json
from pathlib import Path

import pytest
import yaml
from tests.serving import Answer, served

pytestmark = pytest.mark.programs

SPEAKING = """
for index in range(100000):
    step(index)
    time.sleep(0.05)
"""


def test_prometheus_takes_the_whole_page_and_answers_by_the_contracts_names(
    run_agent, trainer, prometheus, until
):
    agent = run_agent(node={"cluster": "blue"})
    process = trainer(agent.socket_path, SPEAKING, job='odd "job"', rank=3)
    page = {"targets": [f"127.0.0.1:{agent.port}"]}
    ask = prometheus([{"job_name": "agents", "static_configs": [page]}])
    (series,) = until(lambda: ask('training_loss{rank="3"}'))
    assert series["value"][1] == "0.5"
    labels = series["metric"]
    assert labels["job_id"] == 'odd "job"'
    assert (labels["host_name"], labels["cluster"]) == ("node-1", "blue")
    assert labels["job"] == "agents"
    until(lambda: ask("rate(process_cpu_wait_seconds_total[2s]) >= 0"))
    until(lambda: ask("system_memory_usage_bytes"))
    until(lambda: ask("up == 1"))  # a busy machine may miss a scrape
    until(lambda: ask("scrape_samples_scraped > 0 == scrape_samples_post_metric_relabeling"))
    process.kill()
    process.wait()
    until(lambda: ask("up") and not ask("training_loss"))


@pytest.fixture
def discovery():
    """Serve what the collector's /api/v1/targets answers; return the URL and the list to fill."""
    targets: list[object] = []

    with served(lambda _: Answer(json.dumps(targets).encode(), "application/json")) as address:
        yield address, targets


def _documented(url: str) -> dict[str, object]:
    """Return the scrape config of docs/deploy.md that finds agents through the collector."""
    text = (Path(__file__).parents[2] / "docs/deploy.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in text.split("```yaml\n")[1:]]
    (block,) = [one for one in blocks if "http_sd_configs" in one]
    configs = yaml.safe_load(block)["scrape_configs"]
    (found,) = [one for one in configs if "http_sd_configs" in one]
    for one in found["http_sd_configs"]:
        one["url"] = one["url"].replace("http://collector.example:8470", url)
        one["refresh_interval"] = "1s"
    return dict(found)


def test_the_documented_discovery_leaves_the_host_its_name(run_agent, prometheus, until, discovery):
    agent = run_agent()
    url, targets = discovery
    targets.append(
        {"targets": [f"127.0.0.1:{agent.port}"], "labels": {"host_name": "node-1"}}
    )  # as collector/api/routes/targets.py writes it
    ask = prometheus([_documented(url)])
    (series,) = until(lambda: ask("system_memory_limit_bytes"))
    assert series["metric"]["host_name"] == "node-1"
    assert not any(label.startswith("exported_") for label in series["metric"])
    (up,) = until(lambda: ask("up == 1"))
    assert up["metric"]["host_name"] == "node-1"
