"""Real senders of remote write: Prometheus as an agent, and vmagent."""

import json
import urllib.request
from typing import Any

import pytest
from tests.serving import Answer, served
from tests.waiting import get, until

from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

pytestmark = pytest.mark.programs

LABELS = 'UUID="GPU-1",gpu="0",Hostname="gpu-1",namespace="train",pod="run-worker-0"'


def page(xid):
    """Return what dcgm-exporter shows."""
    return (
        "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
        f"DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 61\n"
        "# TYPE DCGM_FI_DEV_XID_ERRORS gauge\n"
        f"DCGM_FI_DEV_XID_ERRORS{{{LABELS}}} {xid}\n"
    ).encode()


@pytest.fixture
def exporter():
    """Serve the page of an exporter; `xid` is the fault code that it shows."""
    state: dict[str, Any] = {"xid": 0}

    with served(lambda _: Answer(page(state["xid"]))) as address:
        state["address"] = address.removeprefix("http://")
        yield state


def command(kind, program, folder, config, url):
    """Return the command of a sender that scrapes and keeps nothing for queries."""
    listen = f"127.0.0.1:{free_port()}"
    file = folder / "scrapes.yml"
    if kind == "vmagent":
        file.write_text(json.dumps(config), encoding="utf-8")
        return [
            program("vmagent"), f"-promscrape.config={file}", f"-remoteWrite.url={url}",
            f"-remoteWrite.tmpDataPath={folder / 'vmagent'}", f"-httpListenAddr={listen}",
            "-remoteWrite.flushInterval=1s",
        ]  # fmt: skip
    file.write_text(json.dumps({**config, "remote_write": [{"url": url}]}), encoding="utf-8")
    return [
        program("prometheus"), "--enable-feature=agent", f"--config.file={file}",
        f"--storage.agent.path={folder / 'agent'}", f"--web.listen-address={listen}",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["prometheus", "vmagent"])
def test_a_fault_code_comes_by_a_real_sender(kind, program, exporter, collector, tmp_path):
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {
                "job_name": "dcgm-exporter",
                "honor_labels": True,
                "static_configs": [{"targets": [exporter["address"]]}],
            }
        ],
    }
    url = f"{collector.address}/api/v1/write"
    words = command(kind, program, tmp_path, config, url)
    with DemoProcesses(tmp_path) as processes:
        processes.start(kind, words, environ=clean_environment())

        def jobs():
            return [row["job"] for row in get(collector.address, "/api/v1/jobs")["items"]]

        until(jobs, "the job", lambda found: "train/run" in found)
        exporter["xid"] = 79

        def accused():
            items = get(collector.address, "/api/v1/incidents")["items"]
            causes = [item["root_cause"]["hypotheses"][0] for item in items]
            return [(one["fault"], one["entity"]["id"]) for one in causes]

        until(accused, "the lost device", lambda found: ("gpu.lost", "GPU-1") in found)
    with urllib.request.urlopen(f"{collector.address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    assert "rankscope_collector_rejected_items_total{" not in text
    assert "rankscope_collector_refused_requests_total{" not in text
