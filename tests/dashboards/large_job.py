"""A real collector's application on a port, with a large job in its windows."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import uvicorn
from tests.clocks import SetClock

from rankscope.collector.api.app import create_app
from rankscope.collector.api.services import CollectorParts
from rankscope.collector.flows.standalone import StandaloneFlow
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.history.journal_reader import FileJournalReader
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.profiles.shelf import ProfileShelf
from rankscope.collector.settings.collector import CollectorSettings
from rankscope.collector.settings.profiles import ProfilesSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.formats.otlp.columns import MetricsBatch, PointColumns
from rankscope.vocabulary.samples import Scalar, TelemetryResource, attributes

START = 1_700_000_000.0
STEP_SECONDS = 1.2
SLOW = 700
"""The rank that computes half as long again in the second half of the job."""

PER_HOST = 8
BATCH = 50
"""Steps that arrive together."""

METRICS = {
    "training.step.duration": 1.2, "training.compute.duration": 0.8, "training.comm.duration": 0.4,
    "training.data.duration": 0.01, "training.loss": 2.0, "training.grad_norm": 1.0,
    "training.learning_rate": 1e-4, "training.tokens": 8192.0,
    "training.memory.allocated": 6e10,
}  # fmt: skip


class Held:
    """What the API needs of the stages: the pipeline, between two changes of it."""

    ready = True

    def __init__(self, pipeline: DetectionPipeline) -> None:
        self._pipeline = pipeline
        self._lock = threading.Lock()

    def read(self, question: Callable[[DetectionPipeline], Any]) -> Any:
        with self._lock:
            return question(self._pipeline)

    def warnings(self) -> list[str]:
        return []


def fill(pipeline: DetectionPipeline, *, ranks: int, steps: int) -> None:
    """Put a job of so many ranks and steps into the windows, in batches of fifty steps."""
    table, noise = pipeline.table, np.random.default_rng(1)
    ids = {name: np.zeros(ranks, np.int32) for name in ("training.step", *METRICS)}
    infos: list[int] = []
    for rank in range(ranks):
        resource = TelemetryResource(host=f"gpu-{rank // PER_HOST:03}", job="large", cluster="c1")
        pairs = attributes({"rank": rank})
        where: dict[str, Scalar | None] = {
            "rank": rank, "local_rank": rank % PER_HOST, "world_size": ranks, "pid": 1000 + rank,
            "hw.id": f"GPU-{rank}", "framework": "torch",
        }  # fmt: skip
        infos.append(table.intern(resource, "training.rank.info", attributes(where)))
        for name, held in ids.items():
            held[rank] = table.intern(resource, name, pairs)
    _send(pipeline, np.array(infos, np.int32), np.full(ranks, START), np.ones(ranks))
    for begin in range(0, steps, BATCH):
        index = np.arange(begin, min(begin + BATCH, steps))
        shape = (len(index), ranks)
        at = np.broadcast_to(START + (index[:, None] + 1) * STEP_SECONDS, shape).ravel()
        values = {"training.step": np.broadcast_to(index[:, None].astype(float), shape)}
        for name, value in METRICS.items():
            values[name] = value * (1 + 0.02 * noise.standard_normal(shape))
        values["training.compute.duration"][index > steps // 2, min(SLOW, ranks - 1)] *= 1.5
        series = [np.tile(ids[name], len(index)) for name in values]
        flat = np.concatenate([value.ravel() for value in values.values()])
        _send(pipeline, np.concatenate(series), np.tile(at, len(series)), flat)


def _send(pipeline: DetectionPipeline, series: Any, at: Any, values: Any) -> None:
    columns = PointColumns(series, np.ascontiguousarray(at), np.ascontiguousarray(values))
    pipeline.windows.metrics(MetricsBatch(columns), float(at.max()))


class LargeJob:
    """The application on a port of its own, a context manager."""

    def __init__(self, folder: Path, *, ranks: int, steps: int) -> None:
        pipeline = DetectionPipeline(detectors=())
        fill(pipeline, ranks=ranks, steps=steps)
        self._store = IncidentDatabaseStore(f"sqlite:///{folder / 'rankscope.db'}")
        clock = SetClock(START + steps * STEP_SECONDS)
        services = CollectorParts(
            stages=StandaloneFlow(
                cast("Any", Held(pipeline)),
                history=FileJournalReader(folder / "journal"),
                profiles=ProfileShelf(folder / "profiles", ProfilesSettings()),
            ),
            store=self._store,
            settings=CollectorSettings(data_dir=folder),
            clock=clock,
            store_clock=clock,
            version="0",
            health=CollectorHealth(),
        )
        settings = uvicorn.Config(
            create_app(services), port=0, log_level="error", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._server.run)
        self.address = ""

    def __enter__(self) -> Self:
        self._thread.start()
        waiting = threading.Event()
        while not self._server.started:
            waiting.wait(0.02)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._store.close()


__all__ = ["SLOW", "LargeJob"]
