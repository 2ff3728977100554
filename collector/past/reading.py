"""A stretch of the journal through the pipeline again, for one job.

Runs as a process of its own (`python -m rankscope.collector.past`), at low priority and in bounded
memory, so that intake and evaluation of the collector are never delayed.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
from ..windows import queries
from ..windows.matrices import matrices, newest_window

LEAD_SECONDS = 1200.0
"""So much is read before the stretch: windows that begin in a fault would date it otherwise."""

PLACING_SECONDS = 30.0
"""So much before a stretch tells where ranks run: they report it every few seconds."""

TAKEN_SECONDS = 300.0
"""A third of what windows hold of readings at the least."""

SHORTEST_BUCKET_SECONDS = 2.0

_SECOND_NS = 1_000_000_000
_JOB_ATTRIBUTE = b"rankscope.job.id"
_REMOTE_WRITE = (Kind.REMOTE_WRITE, Kind.REMOTE_WRITE_2)
"""Their jobs may stand in labels of many names: they are read whatever they hold."""

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


def distribution(stretch: Stretch, pipeline: Pipeline, wanted: Wanted) -> dict[str, Any]:
    """Return a metric of the job summed up over its ranks, as `Distribution.document` has it.

    Nothing is evaluated: windows are filled, and emptied into buckets before they forget.
    """
    spreadings: dict[str, Spreading] = {}
    start, end = stretch.start, stretch.end
    buckets = max(FEWEST_BUCKETS, min(wanted.points, int((end - start) / SHORTEST_BUCKET_SECONDS)))

    def take(since: float, until: float) -> None:
        window = newest_window(pipeline.windows, stretch.job)
        for one in () if window is None else matrices(window, wanted.metric):
            if one.of_hosts and any("/" not in name for name in spreadings):
                continue
            key = f"/{one.name}" if one.of_hosts else one.name
            if key not in spreadings:
                spreadings[key] = Spreading(start, end, buckets, wanted.counter)
            inside = (one.at >= since) & (one.at < until)
            if inside.any():
                spreadings[key].add(replace(one, value=np.where(inside, one.value, np.nan)))

    pipeline.only_job = stretch.job
    decoder = Decoder(pipeline.table)
    taken = start
    for entry in _entries(stretch, lead=PLACING_SECONDS):
        try:
            decoded = decoder.decode(Payload(entry.kind, entry.body))
        except UndecodableError:
            continue  # counted when it was received
        if decoded.metrics is not None:
            pipeline.windows.metrics(decoded.metrics, entry.at)
        if entry.at > taken + 2 * TAKEN_SECONDS:
            # The newest part may still get what comes late: it is taken next time.
            take(taken, taken + TAKEN_SECONDS)
            taken += TAKEN_SECONDS
    take(taken, end + 1e-6)
    named = {name.removeprefix("/"): one for name, one in spreadings.items()}
    found = Distribution(start, (end - start) / buckets, start, results(named, wanted))
    return found.document()


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


def _entries(stretch: Stretch, lead: float = LEAD_SECONDS) -> Iterator[Entry]:
    """Yield telemetry of the job and of nodes, from some time before the stretch to its end."""
    start = int((stretch.start - lead) * _SECOND_NS)
    end = int(stretch.end * _SECOND_NS)
    names = {stretch.job.encode(), json.dumps(stretch.job)[1:-1].encode()}
    for entry in journal.between(stretch.journal, start, end):
        if entry.kind not in _TELEMETRY:
            continue
        others = entry.kind not in _REMOTE_WRITE and _JOB_ATTRIBUTE in entry.body
        if not others or any(name in entry.body for name in names):
            yield entry


def _overlaps(incident: Incident, stretch: Stretch) -> bool:
    end = stretch.end if incident.resolved_at is None else incident.resolved_at
    return incident.opened_at <= stretch.end and end >= stretch.start


def _order(incident: Incident) -> tuple[int, float, float, str]:
    """Return what puts the worst incident first."""
    bad = faults.SEVERITIES.index(incident.severity)
    return bad, -incident.impact.gpu_seconds_lost, incident.opened_at, incident.id
