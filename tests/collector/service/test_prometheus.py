"""A real Prometheus scrapes a real collector, and finds the agents through it."""

import subprocess
import time
import urllib.request

import pytest
from tests.waiting import until

from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

pytestmark = pytest.mark.programs


def valid(collector):
    """Let a host of a job speak."""
    place = attributes({"rank": 0, "local_rank": 0, "world_size": 1, "pid": 7})
    samples = [Sample("training.rank.info", 1.0, time.time(), place)]
    request = urllib.request.Request(
        f"{collector.address}/v1/metrics",
        data=encode.metrics_request([(TelemetryResource("gpu-7", job="job 1"), samples)]),
        headers={"Content-Type": "application/x-protobuf"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def page(collector):
    with urllib.request.urlopen(f"{collector.address}/metrics", timeout=60) as answer:
        return answer.read()


def test_prometheus_scrapes_the_collector_and_discovers_the_agents(collector, prometheus):
    valid(collector)
    address = collector.address.removeprefix("http://")
    found = [{"url": f"{collector.address}/api/v1/targets", "refresh_interval": "1s"}]
    ask = prometheus(
        [
            {"job_name": "collector", "static_configs": [{"targets": [address]}]},
            {"job_name": "agents", "http_sd_configs": found},
        ]
    )
    until(lambda: ask('up{job="collector"} == 1'), "the collector's page")
    until(lambda: ask("rankscope_collector_samples_total == 1"), "the sample that was sent")
    # Nobody listens there: what counts is that Prometheus was reported where to look, and for whom.
    (agent,) = until(lambda: ask('up{job="agents"}'), "the agent")
    assert agent["metric"]["instance"] == "gpu-7:9470"
    assert agent["metric"]["host_name"] == "gpu-7"


def test_promtool_finds_nothing_wrong_with_the_page(collector, program):
    valid(collector)
    checked = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=page(collector),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0
