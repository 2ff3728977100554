"""Clusters that a real Prometheus scrapes, and on which nothing of ours runs."""

import json
import operator
import subprocess
import urllib.parse
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.serving import Answer, served
from tests.waiting import get, until

from bench.live import scraped
from rankscope.cli.main import main
from rankscope.lab import trial
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port
from rankscope.lab.simulator import recording

pytestmark = pytest.mark.programs

START = 1_772_438_400.0
SECONDS, ONSET = 1200.0, 600.0
FAULTS = ("gpu.thermal_throttle", "host.lost", "gpu.slow")


def simulated(fault, *, name="run", seed=0):
    """Return a recording of 32 devices that only exporters show, broken from minute ten on."""
    scenario = trial.scenario(trial.LabTrial(fault, ranks=32, seed=seed))
    broken = {**(scenario.fault or {}), "onset": ONSET}
    broken.pop("until", None)
    job = replace(scenario.jobs[0], name=name)
    scenario = replace(scenario, seconds=SECONDS, fault=broken, jobs=(job,))
    return recording.simulate(scraped.as_scraped(scenario), seed)


@pytest.fixture
def prometheus_at(program, tmp_path):
    """Return a function that starts a Prometheus with a configuration on a data folder."""
    with DemoProcesses(tmp_path) as processes:

        def start(config, folder):
            listen = f"127.0.0.1:{free_port()}"
            file = tmp_path / "prometheus.yml"
            file.write_text(json.dumps(config), encoding="utf-8")
            command = [
                program("prometheus"),
                f"--config.file={file}",
                f"--storage.tsdb.path={folder}",
                "--storage.tsdb.retention.time=10y",
                f"--web.listen-address={listen}",
            ]
            processes.start("prometheus", command, environ=clean_environment())
            address = f"http://{listen}"
            until(lambda: get(address, "/api/v1/query?query=vector(1)"), "Prometheus")
            return address

        yield start


@pytest.mark.long
def test_the_past_of_a_prometheus_names_what_was_wrong(program, prometheus_at, tmp_path, capsys):
    """Three runs, one after the other: a throttled device, a lost host, a slow device."""
    truths = []
    for number, fault in enumerate(FAULTS):
        made = simulated(fault, name=f"run-{number}", seed=number)
        truths.append((f"train/run-{number}", made.truth.fault, made.truth.entity.id))
        text = tmp_path / f"{number}.om"
        with text.open("w", encoding="utf-8") as file:
            begin = START + number * 7200
            file.writelines(scraped.open_metrics(list(scraped.exported(made)), start=begin))
        subprocess.run(
            [program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(text),
             str(tmp_path / "tsdb")],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    address = prometheus_at({}, tmp_path / "tsdb")
    words = ["replay", "--prometheus", address, "--from", str(START), "--json"]
    assert main([*words, "--to", str(START + 2 * 7200 + SECONDS)]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = []
    for document in documents:
        first = document["root_cause"]["hypotheses"][0]
        found.append((document["job"], first["fault"], first["entity"]["id"]))
        assert "training.comm.duration" in document["root_cause"]["data_quality"]["missing"]
    assert sorted(found) == sorted(truths)


@pytest.fixture
def exporters():
    """Serve the pages of a simulated cluster; `moment` is the second of the recording shown."""
    made = simulated("gpu.thermal_throttle")
    found = list(scraped.exported(made))
    hot = made.truth.entity.id
    state: dict[str, Any] = {"moment": 300.0}

    def shown(request):
        target = urllib.parse.unquote(request.path.removeprefix("/metrics/"))
        body = scraped.page(found, target, state["moment"])
        for one in {
            s.labels["UUID"]: s for s in found if s.target == target and "UUID" in s.labels
        }.values():
            # Not among dcgm-exporter's defaults; most sites add it. 64: hardware, by heat.
            reasons = 64 if one.labels["UUID"] == hot and state["moment"] > ONSET else 0
            labels = ",".join(
                f'{name.removeprefix("exported_")}="{text}"'
                for name, text in one.labels.items()
                if name not in ("instance", "job")
            )
            body += f"DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{{labels}}} {reasons}\n"
        return Answer(body.encode())

    state["targets"] = sorted({series.target for series in found})
    state["hot"] = hot
    with served(shown) as address:
        state["address"] = address.removeprefix("http://")
        yield state


def test_a_throttled_device_is_named_by_remote_write_and_by_polling(
    collector_at, prometheus_at, exporters, tmp_path
):
    """One Prometheus that scrapes dcgm-exporter; one collector is sent to, another polls."""
    scrapes = [
        {
            "job_name": target,
            "metrics_path": f"/metrics/{target}",
            "static_configs": [{"targets": [exporters["address"]]}],
            "relabel_configs": [{"target_label": "instance", "replacement": target}],
        }
        for target in exporters["targets"]
    ]
    with collector_at(tmp_path / "sent") as sent:
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": scrapes,
            "remote_write": [{"url": f"{sent.address}/api/v1/write"}],
        }
        address = prometheus_at(config, tmp_path / "tsdb")
        store = {"url": address, "interval_seconds": 1, "delay_seconds": 1}
        with collector_at(tmp_path / "polling", prometheus=[store]) as polling:

            def jobs(service):
                return [job["job"] for job in get(service.address, "/api/v1/jobs")["items"]]

            for service in (sent, polling):
                until(partial(jobs, service), "the job", lambda found: "train/run" in found)
            exporters["moment"] = 900.0

            def accused(service):
                items = get(service.address, "/api/v1/incidents")["items"]
                causes = [item["root_cause"]["hypotheses"][0] for item in items]
                return [(cause["fault"], cause["entity"]["id"]) for cause in causes]

            hot = ("gpu.thermal_throttle", exporters["hot"])
            for service in (sent, polling):
                until(partial(accused, service), "the hot device", lambda found: hot in found)
            # A poll that took too long is warned of until the next one.
            until(lambda: get(polling.address, "/readyz")["warnings"], "no warning", operator.not_)
