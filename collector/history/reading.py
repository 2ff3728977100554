"""A stretch of the journal through the pipeline again, for one job.

Runs as a process of its own (`python -m rankscope.collector.history`), at low priority and in
bounded memory, so that intake and evaluation of the collector are never delayed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ...formats.otlp.errors import UndecodableError
from ...vocabulary import faults
from ...vocabulary.incidents import Incident
from ..evaluation.schedule import EvaluationSchedule, ScheduleHooks
from ..intake.decoding import PayloadDecoder
from ..intake.payloads import Payload
from ..journal import journal
from ..journal.entries import JournalEntry
from ..journal.kinds import TELEMETRY
from ..pipeline.pipeline import DetectionPipeline
from ..windows import queries
from . import points
from .stretch import LEAD_SECONDS, JournalStretch

_SECOND_NS = 1_000_000_000


def root_cause(stretch: JournalStretch, pipeline: DetectionPipeline) -> dict[str, Any]:
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

    hooks = ScheduleHooks(changed=changed, failed=lambda *_: None)
    schedule = EvaluationSchedule(pipeline, hooks)
    decoder = PayloadDecoder(pipeline.table.alike())
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


def _entries(stretch: JournalStretch) -> Iterator[JournalEntry]:
    """Yield telemetry of the job and of nodes, from some time before the stretch to its end."""
    start = int((stretch.start - LEAD_SECONDS) * _SECOND_NS)
    end = int(stretch.end * _SECOND_NS)
    chosen = points.of_job(stretch.job, TELEMETRY)
    return journal.between(stretch.journal, start, end, chosen=chosen)


def _overlaps(incident: Incident, stretch: JournalStretch) -> bool:
    end = stretch.end if incident.resolved_at is None else incident.resolved_at
    return incident.opened_at <= stretch.end and end >= stretch.start


def _order(incident: Incident) -> tuple[int, float, float, str]:
    """Return what puts the worst incident first."""
    bad = faults.SEVERITIES.index(incident.severity)
    return bad, -incident.impact.gpu_seconds_lost, incident.opened_at, incident.id
