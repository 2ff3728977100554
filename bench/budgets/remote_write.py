"""Remote write: samples per CPU-second, beside Prometheus and VictoriaMetrics with the same series.

The series that dcgm-exporter shows of a cluster, in requests of 2,000 samples as Prometheus sends
them, go to a collector, to a Prometheus and to a VictoriaMetrics, each a process of its own, one
after the other over loopback: the very same bytes. CPU time is that of the receiving process.

The collector is measured twice: as it is, and with every detector switched off, which leaves
intake, journal and windows. Evaluation costs by the second and by the job, not by the sample, so
the first figure falls with the time that the samples take, and the second does not. The work
differs (see WORK); nothing of any receiver is subtracted. A program that is not installed is left
out, and said.
"""

import http.client
import json
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import psutil

from rankscope.detectors import catalogue
from rankscope.formats import segments
from rankscope.formats.remote_write import WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import clean_environment, free_port

WORK = {
    "collector": "decodes, maps names, labels and units, is safe on disk (fsync) before it "
    "answers, fills windows, evaluates every second; keeps no index of labels to query by",
    "collector_without_evaluation": "the same, no detector running",
    "victoria_metrics": "decodes, indexes labels, keeps samples for queries; answers before "
    "anything is on disk",
    "prometheus": "decodes, indexes labels, keeps samples for queries; writes its log ahead "
    "without fsync before it answers",
}
"""What each receiver does with a sample before or after its answer."""

HOSTS, GPUS = 125, 8
A_REQUEST = 2_000
INTERVAL_SECONDS = 15
WARM_TICKS = 3
METRICS = {
    "DCGM_FI_DEV_SM_CLOCK": (1755.0, 15.0),
    "DCGM_FI_DEV_MEM_CLOCK": (2619.0, 0.0),
    "DCGM_FI_DEV_MEMORY_TEMP": (64.0, 2.0),
    "DCGM_FI_DEV_GPU_TEMP": (58.0, 2.0),
    "DCGM_FI_DEV_POWER_USAGE": (612.0, 9.0),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": (9.1e11, 0.0),
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": (0.0, 0.0),
    "DCGM_FI_DEV_GPU_UTIL": (99.0, 1.0),
    "DCGM_FI_DEV_MEM_COPY_UTIL": (41.0, 2.0),
    "DCGM_FI_DEV_ENC_UTIL": (0.0, 0.0),
    "DCGM_FI_DEV_DEC_UTIL": (0.0, 0.0),
    "DCGM_FI_DEV_FB_FREE": (9_559.0, 0.0),
    "DCGM_FI_DEV_FB_USED": (71_510.0, 0.0),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": (0.0, 0.0),
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": (0.0, 0.0),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": (0.0, 0.0),
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": (148_000.0, 900.0),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": (0.98, 0.01),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": (0.46, 0.005),
    "DCGM_FI_PROF_DRAM_ACTIVE": (0.41, 0.005),
}
"""Metrics of dcgm-exporter's default list that every device has: their level, and how they vary."""

LEVELS = tuple(METRICS.values())


def series() -> list[bytes]:
    """Return the sets of labels of the cluster's series, in the order of the scrapes."""
    return [
        encoded_labels(
            {
                "__name__": name,
                "DCGM_FI_DRIVER_VERSION": "535.183.01",
                "Hostname": f"gpu-{host:03}",
                "UUID": f"GPU-{host:08x}-0000-4000-8000-{gpu:012x}",
                "device": f"nvidia{gpu}",
                "gpu": str(gpu),
                "modelName": "NVIDIA H100 80GB HBM3",
                "pci_bus_id": f"00000000:{gpu:02x}:00.0",
                "exported_namespace": "train",
                "exported_pod": f"run-{host // 16}-worker-{host}",
                "exported_container": "pytorch",
                "instance": f"10.0.{host // 250}.{host % 250}:9400",
                "job": "dcgm-exporter",
            }
        )
        for host in range(HOSTS)
        for name in METRICS
        for gpu in range(GPUS)
    ]


def tick(labels: list[bytes], at: float) -> list[tuple[bytes, int]]:
    """Return the requests of one scrape of everything: (body, samples)."""
    at_ms = int(at * 1000)
    found = []
    for first in range(0, len(labels), A_REQUEST):
        request = WriteRequest()
        for number, one in enumerate(labels[first : first + A_REQUEST], start=first):
            level, spread = LEVELS[number // GPUS % len(LEVELS)]
            varied = (at_ms // 1000 * 7919 + number * 31) % 1000 / 500 - 1
            request.add(one, at_ms, level + spread * varied)
        found.append((bytes(cramjam.snappy.compress_raw(request.body())), request.samples))
    return found


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured; each receiver gets so many seconds' worth of requests."""
    labels = series()
    results: dict[str, Any] = {
        "devices": HOSTS * GPUS,
        "series": len(labels),
        "samples_a_request": A_REQUEST,
    }
    for name, program in (
        ("collector", sys.executable),
        ("collector_without_evaluation", sys.executable),
        ("victoria_metrics", "victoria-metrics"),
        ("prometheus", "prometheus"),
    ):
        if shutil.which(program) is None:
            results[name] = f"{program} is not installed"
            continue
        with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
            results[name] = _receiver(name, program, Path(folder), labels, seconds)
            results[name]["work"] = WORK[name]
    for other in ("victoria_metrics", "prometheus"):
        if isinstance(results[other], dict):
            theirs = results[other]["samples_per_cpu_second"]
            results[f"ratio_to_{other}"] = {
                name: round(results[name]["samples_per_cpu_second"] / theirs, 2)
                for name in ("collector", "collector_without_evaluation")
            }
    results["baseline"] = "VictoriaMetrics and Prometheus, the same bytes over HTTP"
    return results


def _receiver(
    name: str, program: str, folder: Path, labels: list[bytes], seconds: float
) -> dict[str, Any]:
    address = f"127.0.0.1:{free_port()}"
    collector = [program, "-m", "rankscope.cli.main", "collector"]
    command = {
        "collector": collector,
        "collector_without_evaluation": [*collector, "--config", str(folder / "collector.yaml")],
        "victoria_metrics": [
            program, f"-storageDataPath={folder / 'data'}", f"-httpListenAddr={address}",
        ],
        "prometheus": [
            program, f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}",
            "--web.enable-remote-write-receiver", f"--config.file={folder / 'prometheus.yml'}",
        ],
    }[name]  # fmt: skip
    (folder / "prometheus.yml").write_text("{}\n", encoding="utf-8")
    off = {"detectors": {"disabled": [one.name for one in catalogue.detectors()]}}
    (folder / "collector.yaml").write_text(json.dumps(off), encoding="utf-8")
    environ = {
        **clean_environment(),
        "RANKSCOPE_DATA_DIR": str(folder / "data"),
        "RANKSCOPE_HTTP__LISTEN": address,
    }
    with DemoProcesses(folder) as processes:
        process = processes.start(name, command, environ=environ)
        ready = {"victoria_metrics": "/health", "prometheus": "/-/ready"}.get(name, "/readyz")
        until_ready(f"http://{address}{ready}")
        connection = http.client.HTTPConnection(address, timeout=60)
        watched = psutil.Process(process.handle.pid)
        # Times of the past, a scrape every 15 s: as many as are sent end about now.
        ticks = _ticks(labels)
        for _ in range(WARM_TICKS):
            for body, _ in next(ticks):
                send(connection, body)
        before, samples, requests = cpu(watched), 0, 0
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for body, count in next(ticks):
                send(connection, body)
                samples += count
                requests += 1
        used = cpu(watched) - before
        memory = watched.memory_info().rss
        connection.close()
        row = {
            "requests": requests,
            "samples": samples,
            "cpu_seconds": round(used, 2),
            "samples_per_cpu_second": round(samples / used),
            "rss_bytes": memory,
        }
        if program == sys.executable:
            row["journal_bytes_a_sample"] = round(
                segments.size(folder / "data" / "journal")
                / (samples + WARM_TICKS * len(labels)), 2
            )  # fmt: skip
        return row


def _ticks(labels: list[bytes]) -> Iterator[list[tuple[bytes, int]]]:
    at = time.time() - 240 * INTERVAL_SECONDS
    while True:
        yield tick(labels, at)
        at += INTERVAL_SECONDS


def until_ready(url: str) -> None:
    """Wait until a program answers. Raises TimeoutError after 3 minutes."""
    end = time.monotonic() + 180.0
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(url, timeout=2):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.monotonic() > end:
                raise TimeoutError(f"{url} did not answer within 3 minutes") from None
            time.sleep(0.1)


def send(connection: http.client.HTTPConnection, body: bytes) -> None:
    """Send a request of remote write. Raises RuntimeError where it is not taken."""
    headers = {
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "snappy",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    connection.request("POST", "/api/v1/write", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    if answer.status not in (200, 204):
        raise RuntimeError(f"{answer.status}: {said[:200]!r}")


def cpu(process: psutil.Process) -> float:
    """Return the seconds of CPU that a process has used."""
    times = process.cpu_times()
    return times.user + times.system
