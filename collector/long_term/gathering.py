"""What the collector derives, as series at one moment: incidents, goodput, findings, compute time.

Incidents, costs and jobs are those of /metrics, under the same names. Beside them come the findings
of the last evaluation, incident or none, and the compute time of ranks: what is no series there,
since a scrape must stay small.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from ...detectors import compute_time, medians
from ...formats.remote_write import WriteRequest
from ...formats.remote_write.encode import encoded_labels
from ..accounting.exported import REPORTING_SECONDS, IncidentMetrics
from ..accounting.families import MOST_SERIES, MetricFamily
from ..accounting.watched import PipelineReader
from ..pipeline.pipeline import DetectionPipeline

BODY_SAMPLES = 2_000
RECENT_STEPS = 20
EVERY_RANK, SLOWEST = 1_024, 64
"""Of a job with more ranks only those with the most compute time are written one by one."""

FINDING = MetricFamily(
    "rankscope_finding_score",
    "gauge",
    "A finding of the last evaluation, incident or none; 1 being just enough to report.",
    ("job_id", "detector", "kind", "entity_type", "entity", "host_name"),
)
COMPUTE_TIME = MetricFamily(
    "rankscope_rank_own_seconds",
    "gauge",
    "Time of a step that a rank spent on work of its own, median of the last 20 steps.",
    ("job_id", "rank"),
    10_000,
)
OWN_TIME_OF_JOB = MetricFamily(
    "rankscope_job_own_seconds",
    "gauge",
    "The same over the ranks of a job: quantiles.",
    ("job_id", "quantile"),
)
FAMILIES = (FINDING, COMPUTE_TIME, OWN_TIME_OF_JOB)
"""What is written beside the families of /metrics."""

_QUANTILES = (0.25, 0.5, 0.75, 1.0)

Row = tuple[Mapping[str, str], float]
"""A series with its name among its labels, and its value."""


class DerivedSeries:
    """Gathers everything that is derived. Safe to call from any thread."""

    def __init__(
        self, exported: IncidentMetrics, owner: PipelineReader, labels: Mapping[str, str]
    ) -> None:
        self._exported = exported
        self._owner = owner
        self._labels = dict(labels)

    def bodies(self, now: float) -> Iterator[tuple[bytes, int]]:
        """Yield WriteRequests of a bounded size, not compressed, and how many samples each has."""
        request = WriteRequest()
        at_ms = round(now * 1000)
        for labels, value in self._rows(now):
            request.add(encoded_labels({**self._labels, **labels}), at_ms, value)
            if request.samples >= BODY_SAMPLES:
                yield request.body(), request.samples
                request = WriteRequest()
        if request:
            yield request.body(), request.samples

    def _rows(self, now: float) -> Iterator[Row]:
        for family in self._exported.collect():
            for sample in family.samples:
                yield {"__name__": sample.name, **sample.labels}, float(sample.value)
        yield from self._owner.read(findings)
        yield from self._owner.read(lambda line: own_seconds(line, now))


def findings(line: DetectionPipeline) -> list[Row]:
    """Return the findings of the last evaluation of every job, those with the highest scores."""
    found = [(job, finding) for job, rows in sorted(line.findings().items()) for finding in rows]
    found.sort(key=lambda row: -row[1].score)
    rows: dict[tuple[str, ...], float] = {}
    for job, one in found:
        labels = (
            job,
            one.detector,
            one.kind,
            one.entity.type,
            one.entity.id,
            one.entity.host or "",
        )
        rows.setdefault(labels, one.score)
    return [_row(FINDING, labels, score) for labels, score in list(rows.items())[: FINDING.most]]


def own_seconds(line: DetectionPipeline, now: float) -> list[Row]:
    """Return the compute time of the ranks of jobs that still report."""
    of_ranks: list[Row] = []
    of_jobs: list[Row] = []
    for attempt in line.windows.current()[:MOST_SERIES]:
        if now - attempt.last_received > REPORTING_SECONDS:
            continue
        window = line.windows.window(attempt, now, until=now)  # looks, and learns nothing
        own = compute_time.compute_time(window.steps)
        if own is None or not own.size:
            continue
        recent = medians.median(own[:, -RECENT_STEPS:], axis=1)
        known = np.flatnonzero(np.isfinite(recent))
        if not len(known):
            continue
        for quantile in _QUANTILES:
            value = float(np.quantile(recent[known], quantile))
            of_jobs.append(_row(OWN_TIME_OF_JOB, (attempt.job, f"{quantile:g}"), value))
        if len(known) > EVERY_RANK:
            known = np.sort(known[np.argsort(-recent[known], kind="stable")][:SLOWEST])
        of_ranks += [
            _row(COMPUTE_TIME, (attempt.job, str(int(window.ranks[row]))), float(recent[row]))
            for row in known.tolist()
        ]
    return [*of_jobs, *of_ranks[: COMPUTE_TIME.most]]


def _row(family: MetricFamily, labels: tuple[str, ...], value: float) -> Row:
    named = {name: text for name, text in zip(family.labels, labels, strict=True) if text}
    return {"__name__": family.name, **named}, value
