"""Requests of one host that come late, in a job whose steps end without telling anybody why."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_700_000_000.0
STEP_SECONDS, PUSHED, SCRAPED = 2.0, 5.0, 30.0
LATE_HOST = 1


@dataclass
class ReportedJob:
    """A synchronous job: probes push its steps, two exporters of each host are read rarely.

    late: (from when, for how long) requests of a host are held back, s. pause: the same, of the
    job. lost_at: when that host dies, and with it everybody's steps. One point in twenty is lost.
    """

    hosts: int = 4
    ranks_per_host: int = 2
    late: tuple[float, float] = (np.inf, 0.0)
    pause: tuple[float, float] = (np.inf, 0.0)
    lost_at: float = np.inf
    scraped: float = SCRAPED

    def requests(self) -> list[tuple[float, int, list[Sample], bool]]:
        """Return (arrival, host, samples, whether they are the job's), in the order of arrival."""
        rng = np.random.default_rng(5)
        durations = rng.normal(STEP_SECONDS, 0.05, 135)
        before = np.searchsorted(np.cumsum(durations), self.pause[0])
        durations[before : before + 1] += self.pause[1]
        ends = np.cumsum(durations)
        ends = ends[ends <= self.lost_at]
        rows = [
            row for host in range(self.hosts) for row in self._of_host(host, ends, durations, rng)
        ]
        since, seconds = self.late
        rows = [
            (since + seconds + (at - since) / 100, host, samples, of_job)
            if host == LATE_HOST and since <= at < since + seconds
            else (at, host, samples, of_job)
            for at, host, samples, of_job in rows
        ]
        return sorted(rows, key=lambda row: row[0])

    def _of_host(
        self, host: int, ends: np.ndarray, durations: np.ndarray, rng: np.random.Generator
    ) -> Iterator[tuple[float, int, list[Sample], bool]]:
        until = min(self.lost_at, 260.0) if host == LATE_HOST else 260.0
        ranks = range(host * self.ranks_per_host, (host + 1) * self.ranks_per_host)
        for at in np.arange(rng.uniform(0, PUSHED), until, PUSHED):
            said = [
                Sample(name, value, START + end, attributes({"rank": rank}))
                for rank in ranks
                for step in np.flatnonzero((ends > at - PUSHED) & (ends <= at)).tolist()
                for end in [float(ends[step])]
                for name, value in (
                    ("training.step", float(step)),
                    ("training.step.duration", float(durations[step])),
                )
                if rng.random() > 0.05
            ]
            age = at - float(np.max(ends, initial=0.0, where=ends <= at))
            said += [
                Sample("training.progress.age", age, START + at, attributes({"rank": rank}))
                for rank in ranks
            ]
            yield at + 0.1, host, said, True
        for metric in ("hw.gpu.utilization", "system.cpu.utilization"):
            where = attributes({"hw.id": f"GPU-{host}"} if metric.startswith("hw") else {})
            for at in np.arange(rng.uniform(0, self.scraped), until, self.scraped):
                yield at + 0.1, host, [Sample(metric, 0.9, START + at, where)], False

    def play(self) -> dict[str, float]:
        """Return which causes were named first, and when, in seconds."""
        pipeline, named = DetectionPipeline(), dict[str, float]()
        decoder, waiting = MetricsDecoder(pipeline.table), self.requests()[::-1]
        for now in range(260):
            while waiting and waiting[-1][0] < now:
                at, host, samples, of_job = waiting.pop()
                resource = TelemetryResource(f"host-{host}", "run-1" if of_job else None)
                body = encode.metrics_request([(resource, samples)])
                pipeline.metrics(decoder.protobuf(body), START + at)
            for change in pipeline.evaluate(START + now):
                for first in change.incident.root_cause.hypotheses[:1]:
                    named.setdefault(str(first.fault), float(now))
        return named


@pytest.mark.parametrize(
    "size",
    [{}, pytest.param({"hosts": 16, "ranks_per_host": 8}, marks=pytest.mark.long)],
    ids=["8 ranks", "128 ranks"],
)
@pytest.mark.parametrize("seconds", [15.0, 25.0])
@pytest.mark.parametrize(
    "pause",
    [pytest.param((np.inf, 0.0), id="steps go on"), pytest.param((187.0, 22.0), id="a pause")],
)
def test_a_host_whose_requests_are_late_for_less_than_its_exporters_cadence_is_not_lost(
    size, seconds, pause
):
    """In a pause that nobody announces it cannot be told from one that is, and is waited for."""
    job = ReportedJob(**size, late=(188.0, seconds), pause=pause)
    assert "host.lost" not in job.play()


@pytest.mark.parametrize(("scraped", "within"), [(5.0, 17.0), (30.0, 62.0)])
def test_a_host_that_is_lost_is_told_once_each_of_its_sources_was_missed(scraped, within):
    job = ReportedJob(lost_at=188.0, scraped=scraped)
    assert job.play()["host.lost"] - 188.0 <= within
