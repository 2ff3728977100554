"""A real Prometheus scrapes a real agent."""

import pytest

pytestmark = [pytest.mark.acceptance]

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
    assert ask("up")[0]["value"][1] == "1"
    until(lambda: ask("scrape_samples_scraped > 0 == scrape_samples_post_metric_relabeling"))
    process.kill()
    process.wait()
    until(lambda: ask("up") and not ask("training_loss"))
