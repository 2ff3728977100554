"""Windows that are reported samples and events by hand, through a real series table."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rankscope.collector.windows import TelemetryWindows
from rankscope.formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from rankscope.vocabulary.samples import Event, TelemetryResource, attributes

START = 1_700_000_000.0


class Told:
    """Windows, and short ways to tell them things; all times are seconds after START."""

    def __init__(self) -> None:
        self.windows = TelemetryWindows(SeriesTable())

    def metrics(
        self,
        *points: tuple[str, float, float, dict[str, Any]],
        host: str = "host-a",
        job: str | None = "run-1",
        attempt: int | None = 0,
        now: float | None = None,
        **extra: Any,
    ) -> None:
        """Tell one batch of (metric, value, at, attributes) from one host."""
        labels = attributes({name.replace("_", "."): text for name, text in extra.items()})
        resource = TelemetryResource(host, job, attempt, extra=labels)
        table = self.windows.table
        series = [table.intern(resource, name, attributes(pairs)) for name, _, _, pairs in points]
        at = np.array([START + second for _, _, second, _ in points], float)
        value = np.array([value for _, value, _, _ in points], float)
        last_received = float(at.max()) if now is None else START + now
        columns = PointColumns(np.array(series, np.int32), at, value)
        self.windows.metrics(MetricsBatch(columns, 0, ""), last_received)

    def mixed(
        self, points: list[tuple[str | None, str, float, dict[str, Any]]], *, now: float
    ) -> None:
        """Tell one batch of (job, metric, at, attributes) of one host; every value is 1."""
        resources = [TelemetryResource("host-a", job, 0) for job, *_ in points]
        series = [
            self.windows.table.intern(resource, name, attributes(pairs))
            for resource, (_, name, _, pairs) in zip(resources, points, strict=True)
        ]
        at = np.array([START + second for _, _, second, _ in points], float)
        columns = PointColumns(np.array(series, np.int32), at, np.ones(len(at)))
        self.windows.metrics(MetricsBatch(columns, 0, ""), START + now)

    def step(self, rank: int, index: int, at: float, *, host: str = "host-a", **more: Any) -> None:
        """Tell one step of one rank: its index, its duration, and planes named with `__`."""
        planes = {name: more.pop(name) for name in list(more) if name.startswith("training")}
        pairs = {"rank": rank}
        self.metrics(
            ("training.step", index, at, pairs),
            ("training.step.duration", 1.0, at, pairs),
            *((name.replace("__", "."), value, at, pairs) for name, value in planes.items()),
            host=host,
            **more,
        )

    def info(self, rank: int, at: float = 0.0, *, host: str = "host-a", **more: Any) -> None:
        """Tell where a rank runs; pid and hw_id are made of its number."""
        resource = {key: more.pop(key) for key in ("job", "attempt", "now") if key in more}
        pairs = {"rank": rank, "pid": 100 + rank, "hw.id": f"GPU-{rank}", **more}
        self.metrics(("training.rank.info", 1, at, pairs), host=host, **resource)

    def event(
        self,
        name: str,
        at: float,
        *,
        host: str = "host-a",
        job: str | None = "run-1",
        attempt: int | None = 0,
        now: float | None = None,
        **pairs: Any,
    ) -> None:
        """Tell one event."""
        event = Event(name, START + at, pairs, TelemetryResource(host, job, attempt))
        self.windows.events([event], START + (at if now is None else now))

    def window(self, job: str = "run-1", now: float = 60.0, **more: Any) -> Any:
        """Return what a detector sees of a job's newest attempt."""
        attempt = self.windows.attempt(job)
        assert attempt is not None
        return self.windows.window(attempt, START + now, **more)


@pytest.fixture
def valid() -> Told:
    return Told()


@pytest.fixture
def two_by_two(valid: Told) -> Told:
    """Return windows of a job of two ranks on each of two hosts, five steps old."""
    for rank in range(4):
        valid.info(rank, host="host-a" if rank < 2 else "host-b", world_size=4, local_rank=rank % 2)
    for index in range(5):
        for rank in range(4):
            valid.step(rank, index, index + 1.0, host="host-a" if rank < 2 else "host-b")
    return valid


@pytest.fixture
def after() -> Callable[[float], float]:
    """Return a function that turns seconds after START into seconds since the epoch."""
    return lambda second: START + second
