"""A stretch of the journal through the pipeline again, for one job.

Runs as a process of its own (`python -m rankscope.collector.past`), at low priority and in bounded
memory, so that intake and evaluation of the collector are never delayed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...detectors.window import JobWindow
from ...formats import segments
from ...formats.otlp.errors import UndecodableError
from ...vocabulary import faults
from ...vocabulary.incidents import Incident
from ..evaluation.schedule import Hooks, Schedule
from ..figures.distribution import Distribution, Wanted, results
from ..figures.spread import FEWEST_BUCKETS, Spreading
from ..intake.decoding import Decoder
from ..intake.payloads import Payload
from ..journal import journal
from ..journal.entries import Entry
from ..journal.kinds import Kind
from ..pipeline import Pipeline
from ..windows import Windows, queries
from ..windows.matrices import matrices, newest_window
from . import points

LEAD_SECONDS = 1200.0
"""So much is read before the stretch: windows that begin in a fault would date it otherwise."""

PLACING_SECONDS = 30.0
"""So much before a stretch tells where ranks run: they report it every few seconds."""

TAKEN_SECONDS = 300.0
"""A third of what windows hold of readings at the least."""

SHORTEST_BUCKET_SECONDS = 2.0

_SECOND_NS = 1_000_000_000
_TELEMETRY = frozenset(Kind) - {Kind.STOP, Kind.ACTION, Kind.SKIPPED}


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is asked: a job, and from when to when (receive times, seconds since the epoch)."""

    journal: Path
    job: str
    start: float
    end: float


def held_from(folder: Path) -> float | None:
    """Return the receive time of the oldest entry held (s since the epoch), None without any."""
    for file in segments.segments(folder):
        try:
            at_ns = segments.first_at_ns(file)
        except FileNotFoundError:
            continue  # trimmed meanwhile
        if at_ns is not None:
            return at_ns / _SECOND_NS
    return None


def root_cause(stretch: Stretch, pipeline: Pipeline) -> dict[str, Any]:
    """Return what happened to the job: {"known", "root_cause", "incident", "others"}.

    `incident` is the document of the worst incident that overlaps the stretch (null: none does, and
    `root_cause` is of findings at its end, null where there are none), `others` brief rows of the
    rest. `known`: whether anything of the job was found at all.
    """
    pipeline.only_job = stretch.job
    found: dict[str, Incident] = {}

    def changed(changes: Sequence[Any], _now: float) -> None:
        for change in changes:
            found[change.incident.id] = change.incident

    hooks = Hooks(changed=changed, failed=lambda *_: None)
    schedule = Schedule(pipeline, hooks)
    decoder = Decoder(pipeline.table.alike())
    for entry in _entries(stretch):
        try:
            decoded = decoder.decode(Payload(entry.kind, entry.body))
        except UndecodableError:
            continue  # counted when it was received
        schedule.apply(decoded, entry.at)
    schedule.until(stretch.end)
    if stretch.job not in queries.names(pipeline.windows):
        return {"known": False, "root_cause": None, "incident": None, "others": []}
    overlapping = [row for row in found.values() if _overlaps(row, stretch)]
    overlapping.sort(key=_order)
    if not overlapping:
        cause = pipeline.explain(stretch.job, stretch.start, stretch.end)
        return {"known": True, "root_cause": cause, "incident": None, "others": []}
    document = overlapping[0].document()
    return {
        "known": True,
        "root_cause": document["root_cause"],
        "incident": document,
        "others": [brief(row.document()) for row in overlapping[1:]],
    }


def distributions(
    stretch: Stretch, wanted: Sequence[Wanted], *, capacity: int
) -> list[dict[str, Any]]:
    """Return metrics of the job summed up over its ranks, each as `Distribution.document` has it.

    All are read in one pass, and nothing else is. Nothing is evaluated: windows are filled, and
    emptied into buckets before they forget. capacity: most series.
    """
    table = points.table_of({one.metric.partition("|")[0] for one in wanted}, capacity=capacity)
    windows = Windows(table)
    sums = [_Summing(one, stretch) for one in wanted]
    taken = stretch.start
    span = stretch.start - PLACING_SECONDS, stretch.end
    for batch, at in points.batches(stretch.journal, stretch.job, *span, table):
        windows.metrics(batch, at)
        if at > taken + 2 * TAKEN_SECONDS:
            # The newest part may still get what comes late: it is taken next time.
            window = newest_window(windows, stretch.job)
            for one in sums:
                one.take(window, taken, taken + TAKEN_SECONDS)
            taken += TAKEN_SECONDS
    window = newest_window(windows, stretch.job)
    for one in sums:
        one.take(window, taken, stretch.end + 1e-6)
    return [one.document() for one in sums]


class _Summing:
    """Sums up one metric over a stretch, part by part."""

    def __init__(self, wanted: Wanted, stretch: Stretch) -> None:
        self._wanted = wanted
        self._start, self._end = stretch.start, stretch.end
        fine = int((self._end - self._start) / SHORTEST_BUCKET_SECONDS)
        self._buckets = max(FEWEST_BUCKETS, min(wanted.points, fine))
        self._spreadings: dict[str, Spreading] = {}

    def take(self, window: JobWindow | None, since: float, until: float) -> None:
        """Add what a window holds of [since, until)."""
        held = self._spreadings
        for one in () if window is None else matrices(window, self._wanted.metric):
            if one.of_hosts and any("/" not in name for name in held):
                continue
            key = f"/{one.name}" if one.of_hosts else one.name
            if key not in held:
                counter = self._wanted.counter
                held[key] = Spreading(self._start, self._end, self._buckets, counter)
            inside = (one.at >= since) & (one.at < until)
            if inside.any():
                held[key].add(replace(one, value=np.where(inside, one.value, np.nan)))

    def document(self) -> dict[str, Any]:
        """Return the sums as JSON has them."""
        named = {name.removeprefix("/"): one for name, one in self._spreadings.items()}
        seconds = (self._end - self._start) / self._buckets
        spreads = results(named, self._wanted)
        return Distribution(self._start, seconds, self._start, spreads).document()


def brief(document: dict[str, Any]) -> dict[str, Any]:
    """Return an incident in a few fields."""
    causes = document["root_cause"]["hypotheses"]
    return {
        "id": document["id"],
        "fault": causes[0]["fault"] if causes else faults.UNKNOWN,
        "entity": causes[0]["entity"] if causes else None,
        "severity": document["severity"],
        "opened_at": document["opened_at"],
        "resolved_at": document["resolved_at"],
        "summary": document["summary"],
    }


def _entries(stretch: Stretch) -> Iterator[Entry]:
    """Yield telemetry of the job and of nodes, from some time before the stretch to its end."""
    start = int((stretch.start - LEAD_SECONDS) * _SECOND_NS)
    end = int(stretch.end * _SECOND_NS)
    chosen = points.of_job(stretch.job, _TELEMETRY)
    return journal.between(stretch.journal, start, end, chosen=chosen)


def _overlaps(incident: Incident, stretch: Stretch) -> bool:
    end = stretch.end if incident.resolved_at is None else incident.resolved_at
    return incident.opened_at <= stretch.end and end >= stretch.start


def _order(incident: Incident) -> tuple[int, float, float, str]:
    """Return what puts the worst incident first."""
    bad = faults.SEVERITIES.index(incident.severity)
    return bad, -incident.impact.gpu_seconds_lost, incident.opened_at, incident.id
