"""A real Prometheus scrapes a real agent."""

import json
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

pytestmark = [pytest.mark.acceptance]

SPEAKING = """
for index in range(100000):
    step(index)
    time.sleep(0.05)
"""


@pytest.fixture
def prometheus(program, folder, until):
    """Start Prometheus on a target; return a function that asks it a query."""
    running = []

    def start(target: str):
        config = folder / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
                    "scrape_configs": [
                        {"job_name": "agents", "static_configs": [{"targets": [target]}]}
                    ],
                }
            )
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        log = (folder / "prometheus.log").open("w")
        running.append(
            (
                subprocess.Popen(
                    [
                        program("prometheus"),
                        f"--config.file={config}",
                        f"--storage.tsdb.path={folder / 'data'}",
                        f"--web.listen-address={address}",
                    ],
                    stdout=log,
                    stderr=log,
                ),
                log,
            )
        )

        def ask(query: str) -> list[dict[str, Any]]:
            url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            except (urllib.error.URLError, ConnectionError):
                return []
            return found

        until(lambda: ask("vector(1)"))
        return ask

    yield start
    for process, log in running:
        process.terminate()
        process.wait(30)
        log.close()


def test_prometheus_takes_the_whole_page_and_answers_by_the_contracts_names(
    run_agent, trainer, prometheus, until
):
    agent = run_agent(node={"cluster": "blue"})
    process = trainer(agent.socket_path, SPEAKING, job='odd "job"', rank=3)
    ask = prometheus(f"127.0.0.1:{agent.port}")
    (series,) = until(lambda: ask('training_loss{rank="3"}'))
    assert series["value"][1] == "0.5"
    labels = series["metric"]
    assert labels["job_id"] == 'odd "job"'
    assert (labels["host_name"], labels["cluster"]) == ("node-1", "blue")
    assert labels["job"] == "agents"
    until(lambda: ask("rate(process_cpu_wait_seconds_total[2s]) >= 0"))
    until(lambda: ask("system_memory_usage_bytes"))
    assert ask("up")[0]["value"][1] == "1"
    until(lambda: ask("scrape_samples_scraped > 0 == scrape_samples_post_metric_relabeling"))
    process.kill()
    process.wait()
    until(lambda: ask("up") and not ask("training_loss"))
