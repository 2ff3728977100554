"""What a refresh of each dashboard costs a Prometheus that holds an hour of 1,024 ranks.

    python -m bench.live.thousand [--hosts 128] [--minutes 60]

The series are the simulator's of eight hosts, repeated under other names, in the names and labels
of an agent's page, a sample each 30 s, put into the store by promtool. Only what the dashboards ask
for is stored, and of single links only the first eight hosts'. Every query is sent once; what is
added up is Prometheus' own figure of the time it spent, and the CPU time of its process.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from rankscope.dashboards.grafana import building
from rankscope.dashboards.grafana.frame import BuildOptions
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.simulator.recording import simulate
from rankscope.lab.simulator.series import SimulatedSeries
from rankscope.lab.simulator.shape import (
    EPOCH,
    ReportingHabits,
    SimulatedCluster,
    SimulatedJob,
    SimulationScenario,
)
from rankscope.vocabulary import metrics

from . import asking
from .prometheus import PrometheusQueries, PrometheusServer

SCRAPE = 30.0
POINTS = 100
"""Points of a plot at an hour: the most that our panels ask for."""
_JOB = "llama-405b"
_SIMULATED = 8
_LARGEST = 4
_HOST, _PLACE = 5, 3
_HIDDEN = frozenset({"pid", "container.pid", "cgroup", "process.start_time"})


def main() -> int:
    """Print one line of JSON a dashboard."""
    parser = argparse.ArgumentParser(prog="python -m bench.live.thousand")
    parser.add_argument("--hosts", type=int, default=128, help="of eight ranks each")
    parser.add_argument("--minutes", type=float, default=60.0)
    wanted = parser.parse_args()
    programs = [shutil.which(name) for name in ("prometheus", "promtool")]
    prometheus, promtool = programs
    if prometheus is None or promtool is None:
        parser.error("prometheus is not installed: apt-get install prometheus")
    documents = building.documents(BuildOptions())
    seconds = 60.0 * wanted.minutes
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp") as name:
        folder = Path(name)
        pages = folder / "pages.txt"
        stored = _write(pages, asked_for(documents), hosts=wanted.hosts, seconds=seconds)
        store = folder / "prometheus" / "data"
        store.parent.mkdir()
        subprocess.run(
            [promtool, "tsdb", "create-blocks-from", "openmetrics", "-q", str(pages), str(store)],
            check=True,
        )
        pages.unlink()
        with DemoProcesses(folder) as processes:
            server = PrometheusServer(
                prometheus, folder / "prometheus", processes, targets={}, retention="100y"
            )
            span = asking.QueryRange(EPOCH, EPOCH + seconds, step=seconds / POINTS, scrape=SCRAPE)
            process = psutil.Process(server.process.handle.pid)

            def cpu() -> float:
                times = process.cpu_times()
                return float(times.user + times.system)

            print(json.dumps({"ranks": 8 * wanted.hosts, **stored}), flush=True)
            for uid, document in documents.items():
                print(
                    json.dumps({"dashboard": uid, **measured(document, server, span, cpu)}),
                    flush=True,
                )
    return 0


def asked_for(documents: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the metrics of the vocabulary that occur in dashboards."""
    text = json.dumps(list(documents.values()))
    return {one.name for one in metrics.catalogue().values() if one.prometheus_name in text}


def measured(
    document: Mapping[str, Any],
    server: PrometheusQueries,
    span: asking.QueryRange,
    cpu: Callable[[], float],
) -> dict[str, Any]:
    """Return the seconds that Prometheus spends on one refresh, and the most series of a query."""
    values = asking.values_of(document, server, span, {})
    began = cpu()
    spent, most = 0.0, 0
    read: list[tuple[int, str, float]] = []
    for one in asking.targets(document, values, span):
        where: dict[str, Any] = {"start": span.start, "end": span.end, "step": one.step}
        path = "query" if one.instant else "query_range"
        answer = server.ask(
            path, query=one.expr, stats="all", **({"time": span.end} if one.instant else where)
        )
        took = answer["stats"]["timings"]["execTotalTime"]
        spent += took
        most = max(most, len(answer["result"]))
        samples = answer["stats"]["samples"]["totalQueryableSamples"]
        read.append((samples, f"{one.panel} {one.ref}", round(took, 3)))
    return {
        "seconds": round(spent, 3),
        "cpu_seconds": round(cpu() - began, 3),
        "queries": sum(1 for _ in asking.targets(document, values, span)),
        "most_series": most,
        "samples": sum(samples for samples, _, _ in read),
        "largest": sorted(read, reverse=True)[:_LARGEST],
    }


def _write(path: Path, names: set[str], *, hosts: int, seconds: float) -> dict[str, int]:
    """Write everything in OpenMetrics' text; return how many series and samples there are."""
    few = min(_SIMULATED, hosts)
    scenario = SimulationScenario(
        name="thousand",
        text="a thousand ranks",
        seconds=seconds,
        cluster=SimulatedCluster(hosts=few, slots=8, nics=8),
        jobs=(
            SimulatedJob(name=_JOB, tp=8, step_seconds=SCRAPE, init_seconds=2, compile_seconds=1),
        ),
        reporting=ReportingHabits(
            push=SCRAPE, rank=SCRAPE, node=SCRAPE, collective_statistics=True
        ),
        fault={"kind": "thermal_throttle", "onset": seconds / 2, "host": _HOST, "place": _PLACE},
    )
    rows = [
        row
        for row in simulate(scenario, 1).series
        if row.metric in names and row.metric != "collective.group.info"
    ]
    series = samples = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            points = [
                f" {value:.8g} {EPOCH + at:.3f}\n"
                for at, value in zip(row.at.tolist(), row.value.tolist(), strict=True)
            ]
            links = "link" in metrics.catalogue()[row.metric].attributes
            for copy in range(1 if links else hosts // few):
                start = _named(row, copy)
                out.write(start + start.join(points))
                series, samples = series + 1, samples + len(points)
        for start, value in _collector(hosts):
            for step in range(int(seconds / SCRAPE)):
                out.write(f"{start} {value * (1 + step / 1000)!r} {EPOCH + step * SCRAPE:.3f}\n")
            series, samples = series + 1, samples + int(seconds / SCRAPE)
        out.write("# EOF\n")
    return {"series": series, "samples": samples}


def _named(row: SimulatedSeries, copy: int) -> str:
    """Return name and labels as an agent's page has them, of the n-th repetition of the hosts."""
    metric = metrics.catalogue()[row.metric]
    known = {*metric.attributes, *metric.optional} - _HIDDEN
    number = int(row.resource.host.rpartition("-")[2]) + copy * _SIMULATED
    labels = {"host_name": f"gpu-{number:03}", "cluster": "lab"}
    if row.resource.job is not None:
        labels["job_id"] = row.resource.job
    for name, value in row.attributes:
        if name == "rank":
            value = int(value) + copy * _SIMULATED * 8
        elif name in ("hw.id", "group"):
            value = f"{value}-{copy}"
        if name in known:
            labels[name.replace(".", "_")] = str(value)
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{metric.prometheus_name}{{{text}}}"


def _collector(hosts: int) -> Iterator[tuple[str, float]]:
    """Yield what a collector's page would show of that job, with a value of each."""
    job = f'job_id="{_JOB}"'
    host = f'host_name="gpu-{min(_HOST, hosts - 1):03}"'
    incident = f'incident="6a296f10a53fb8dd7eec",{job}'
    yield f'rankscope_job_info{{{job},cluster="lab",attempt="0",user=""}}', 1.0
    yield f"rankscope_job_ranks{{{job}}}", 8.0 * hosts
    yield f"rankscope_job_goodput_ratio{{{job}}}", 0.9
    yield f"rankscope_job_last_received_age_seconds{{{job}}}", 1.0
    yield (
        (
            f'rankscope_incident_active{{{incident},fault="gpu.thermal_throttle",'
            f'severity="warning",status="open",entity_type="gpu",entity="GPU-1",{host}}}'
        ),
        1.0,
    )
    yield f"rankscope_incident_gpu_seconds_lost{{{incident}}}", 5000.0
    yield f"rankscope_incident_opened_timestamp_seconds{{{incident}}}", EPOCH
    yield f"rankscope_incident_gpus_lost{{{incident}}}", 5.0
    yield f'rankscope_gpus_lost{{{job},fault="gpu.thermal_throttle"}}', 5.0
    yield f'rankscope_gpu_seconds_lost_total{{{job},fault="gpu.thermal_throttle"}}', 5000.0
    yield f'rankscope_host_gpu_seconds_lost_total{{{host},fault="gpu.thermal_throttle"}}', 5000.0
    for number in range(20):
        labels = f'{job},kind="dp",group="dp:{number:04}",rank="{number}",{host}'
        yield f"rankscope_group_wait_seconds{{{labels}}}", 1.0 / (number + 1)


if __name__ == "__main__":
    sys.exit(main())
