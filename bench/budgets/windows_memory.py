"""Memory of the windows of one job of 100,000 ranks with 40 series each, both tiers full.

Batches go to the windows as evaluation hands them over, without HTTP and journal, in event time and
as fast as the machine can: half a day with a report every quarter of an hour fills the thinned tier
by the same code as reports every ten seconds, of which fifteen minutes then fill the fine tier.
Values are random. Meanwhile the job's window is made as evaluation does it, once a minute, so that
features and what else is made on demand count. In a process of its own.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankscope.collector.api.topology_graph import drawn
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.windows.plane_sets import PlaneSet
from rankscope.collector.windows.planes import MetricPlane
from rankscope.formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from rankscope.vocabulary.samples import TelemetryResource

RANKS, RANKS_A_HOST, HOSTS_A_BATCH = 100_000, 8, 500
START = 1_772_438_400.0
PERIOD_SECONDS, FINE_SECONDS = 10.0, 900.0
THINNED_SECONDS, THINNED_EVERY = 12 * 3600.0, 900.0
FIRST_REPORTS = 8
"""Reports every ten seconds at the start, by which the reporting interval is learnt."""
WINDOW_EVERY = 6

STEPS = (
    *("training.step", "training.loss", "training.grad_norm", "training.learning_rate"),
    *("training.tokens", "training.step.duration", "training.data.duration"),
    *("training.compute.duration", "training.comm.duration", "training.optimizer.duration"),
    *("training.memory.allocated", "training.memory.reserved", "training.memory.retries"),
)
"""One value a step."""
PERIODIC = (
    *("training.progress.age", "collective.enqueued", "collective.started"),
    *("collective.completed", "process.memory.usage", "process.cpu.utilization"),
    *("process.cpu.wait", "hw.gpu.utilization", "hw.gpu.sm.activity", "hw.gpu.tensor.activity"),
    *("hw.gpu.memory.activity", "hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.temperature"),
    *("hw.power", "hw.power.limit", "hw.energy", "hw.frequency", "hw.gpu.pcie.width"),
    *("hw.gpu.pcie.generation", "hw.gpu.pcie.replays", "hw.gpu.pcie.io", "hw.gpu.nvlink.io"),
    *("hw.gpu.sm.occupancy", "hw.gpu.graphics.activity", "hw.gpu.decoder.utilization"),
    "hw.gpu.encoder.utilization",
)
METRICS = (*STEPS, *PERIODIC)


def measure(_seconds: float) -> dict[str, Any]:
    """Return what a process of its own measures; it takes as long as it takes."""
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def filled() -> dict[str, Any]:
    """Fill the windows of this process; return what they take."""
    began = time.process_time()
    pipeline = DetectionPipeline(detectors=())
    table, windows = pipeline.table, pipeline.windows
    batches = list(_series(table))
    random = np.random.default_rng(1)
    reports = points = 0
    at = START
    for reports, at in enumerate(_times(), start=1):
        for series, rank in batches:
            value = random.random(len(series)) + 1.0
            # The first metric is the step's index.
            value[: len(rank)] = reports
            windows.metrics(MetricsBatch(PointColumns(series, np.full(len(series), at), value)), at)
            points += len(series)
        attempt = windows.attempt("bench")
        if attempt is not None and reports % WINDOW_EVERY == 0:
            windows.window(attempt, at)
    used = time.process_time() - began
    full = _memory("VmRSS")
    attempt = windows.attempt("bench")
    if attempt is None:
        raise RuntimeError("the windows hold no job")
    window = windows.window(attempt, at)
    own = window.features.ratio
    rss = _memory("VmRSS")
    planes = [_plane(plane) for plane in _planes((attempt.readings, attempt.nodes.planes))]
    return {
        "ranks": len(window.ranks),
        "series": table.live,
        "reports": reports,
        "points": points,
        "points_per_cpu_second": round(points / used),
        "steps_held": 0 if own is None else own.shape[1],
        "rss_bytes": full,
        "rss_bytes_with_a_window": rss,
        "rss_bytes_at_most": _memory("VmHWM"),
        "planned_bytes": windows.nbytes,
        "of_it": {
            "series_table": table.nbytes,
            "step_grid": attempt.grid.nbytes,
            "periodic_planes": attempt.readings.nbytes + attempt.nodes.planes.nbytes,
        },
        "planes": planes,
        "topology": _topology(pipeline),
    }


def _series(table: SeriesTable) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Yield the series of some hosts after another, by metric, and their ranks."""
    metrics = np.array([table.metric(name) for name in METRICS], np.int64)
    hosts_a_batch = HOSTS_A_BATCH * RANKS_A_HOST
    for first in range(0, RANKS, hosts_a_batch):
        ranks = np.arange(first, min(first + hosts_a_batch, RANKS))
        resources = np.zeros(len(ranks), np.int64)
        plain, devices = resources.copy(), resources.copy()
        for place, rank in enumerate(ranks.tolist()):
            host = f"gpu-{rank // RANKS_A_HOST:05}"
            resources[place] = table.resource(TelemetryResource(host, "bench", 0, cluster="bench"))
            plain[place] = table.attributes.number((("rank", rank),))
            named = (("gpu", rank % RANKS_A_HOST), ("hw.id", f"GPU-{rank:08x}"), ("rank", rank))
            devices[place] = table.attributes.number(named)
        sets = np.concatenate([devices if name.startswith("hw.") else plain for name in METRICS])
        count = len(METRICS)
        yield (
            table.intern_many(np.tile(resources, count), np.repeat(metrics, len(ranks)), sets),
            ranks,
        )


def _times() -> Iterator[float]:
    """Yield when everybody reports."""
    for number in range(FIRST_REPORTS):
        yield START + number * PERIOD_SECONDS
    for number in range(1, int(THINNED_SECONDS // THINNED_EVERY) + 1):
        yield START + number * THINNED_EVERY
    fine = START + THINNED_SECONDS
    for number in range(1, int(FINE_SECONDS // PERIOD_SECONDS) + 1):
        yield fine + number * PERIOD_SECONDS


def _planes(sets: tuple[PlaneSet, ...]) -> Iterator[MetricPlane]:
    for planes in sets:
        yield from planes.planes


def _plane(plane: MetricPlane) -> dict[str, Any]:
    rows = len(plane.last_at)
    fine = int(plane.used.sum()) * rows * (plane.value.itemsize + plane.part.itemsize)
    thinned = int(np.isfinite(plane.thin_at).sum()) * rows * plane.thin.itemsize
    return {
        "name": plane.name,
        "interval_seconds": plane.interval,
        "rows": rows,
        "planned_bytes": plane.nbytes,
        "fine_slots_used": f"{int(plane.used.sum())} of {len(plane.used)}",
        "fine_bytes_used": fine,
        "thinned_slots_used": f"{int(np.isfinite(plane.thin_at).sum())} of {len(plane.thin_at)}",
        "thinned_bytes_used": thinned,
    }


def _topology(pipeline: DetectionPipeline) -> dict[str, Any]:
    """Return what /topology?job= answers with, in size and time."""
    attempt = pipeline.windows.attempt("bench")
    if attempt is None:
        return {}
    began = time.process_time()
    graph = drawn(pipeline.windows.topology(attempt))
    drew = time.process_time()
    body = json.dumps(graph, ensure_ascii=False, separators=(",", ":")).encode()
    return {
        "nodes": len(graph["nodes"]),
        "edges": len(graph["edges"]),
        "bytes": len(body),
        "drawn_in_cpu_seconds": round(drew - began, 2),
        "written_in_cpu_seconds": round(time.process_time() - drew, 2),
    }


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    return 0


if __name__ == "__main__":
    print(json.dumps(filled()))
