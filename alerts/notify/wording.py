"""The one text of a notice for people: what broke, where, how sure, what to do, what it costs.

Channels only lay it out: `Text.title` and the rows are plain (see `plain`), not yet escaped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from ...vocabulary import faults, times
from ...vocabulary.chances import chance
from ...vocabulary.ids import Fault
from ..ports import OutboxNotice
from . import plain

Document = Mapping[str, Any]

LONGEST_TITLE = 140
LONGEST_ROW = 500
FEW = 3
"""So many jobs are named one by one."""
SEVERITIES = ("critical", "warning", "info")
_OUR_RUNBOOK = re.compile(r"docs/runbooks/([\w.]+)\.md")
"""As causes name the pages that ship with this version."""


@dataclass(frozen=True, slots=True)
class MessageText:
    """A message for people. `level`: critical, warning, info or resolved, for a colour.

    `rows` are pairs of a label and a text, the most important first. `link` may be empty.
    """

    level: str
    title: str
    rows: tuple[tuple[str, str], ...]
    link: str = ""

    @property
    def lines(self) -> list[str]:
        return [self.title, *(f"{label}: {text}" for label, text in self.rows)]


def text(notice: OutboxNotice) -> MessageText:
    if notice.type == "digest":
        return _digest(notice)
    if "root_cause" not in notice.data:
        return MessageText(
            "info",
            "Rankscope: test message",
            (("What", plain.line(str(notice.data.get("text", "")), LONGEST_ROW)),),
            notice.console,
        )
    document = notice.data
    level = "resolved" if document["status"] == "resolved" else document["severity"]
    word = notice.type.removeprefix("incident.")
    head = f"Rankscope {level.upper()}"  # bots may ask for a keyword: the name is always there
    if word not in ("opened", "resolved"):
        head += f", {word}"
    rows = [*_incident(document, notice.console), *_folded(notice)]
    return MessageText(
        level,
        plain.line(f"{head}: {subject(document)}", LONGEST_TITLE),
        _plain(rows),
        incident_link(notice.console, document),
    )


def subject(document: Document) -> str:
    """Return what broke and where, in a few words: "Switch in trouble: switch leaf-3"."""
    causes = document["root_cause"]["hypotheses"]
    if not causes:
        return str(document["summary"])
    fault, where = causes[0]["fault"], _where(causes[0]["entity"])
    return f"{_title(fault)}: {where}"


def sure(document: Document) -> str:
    """Return how sure the first cause is, and what else it may be."""
    causes = document["root_cause"]["hypotheses"]
    first = causes[0] if causes else None
    if first is None or first["fault"] == faults.UNKNOWN:
        return "the cause is unknown"
    found = f"{first['confidence']} confidence"
    if first["probability"] is not None:
        found += f", probability {chance(first['probability'])}"
    if document["root_cause"]["status"] == "confirmed":
        found += ", confirmed by people"
    if len(causes) > 1 and first["confidence"] != "high":
        found += f"; next: {_title(causes[1]['fault'])}, {_where(causes[1]['entity'])}"
    return found


def impact(document: Document) -> str:
    """Return what it costs."""
    row = document["impact"]
    slow = "training is stopped"
    if row["slowdown"] is not None:
        slow = f"{row['slowdown']:.2f} x slower" if row["slowdown"] != 1 else "usual pace"
    hours = row["gpu_seconds_lost"] / 3600
    where = f"{_count(row['ranks'], 'rank')} on {_count(row['nodes'], 'host')}"
    return f"{where}, {slow}, {hours:.1f} GPU-hours lost"


def steps(document: Document) -> list[tuple[str, str]]:
    """Return what to do: the first cause's actions for now, and the next check where unsure."""
    cause = document["root_cause"]
    first = cause["hypotheses"][0] if cause["hypotheses"] else None
    actions = first["actions"] if first else ()
    rows = [("Do now", _commanded(action)) for action in actions if action["when"] == "now"]
    if (first is None or first["confidence"] != "high") and cause["next_checks"]:
        rows.append(("Check next", _commanded(cause["next_checks"][0])))
    return rows


def incident_link(console: str, document: Document) -> str:
    """Return the address of an incident in the console, empty where none is configured."""
    if not console:
        return ""
    return f"{console.rstrip('/')}/#/incidents/{quote(str(document['id']), safe='')}"


def runbook_link(console: str, runbook: str) -> str:
    """Return the address of one of our runbooks in the console; anything else as it is."""
    ours = _OUR_RUNBOOK.fullmatch(runbook)
    if not console or ours is None:
        return runbook
    return f"{console.rstrip('/')}/#/runbooks/{ours[1]}"


def _incident(document: Document, console: str) -> Iterable[tuple[str, str]]:
    ended = document["status"] == "resolved"
    yield "What", document["summary"]
    yield "Jobs" if len(document["jobs"]) > 1 else "Job", _jobs(document)
    if not ended:
        yield "How sure", sure(document)
        yield from steps(document)
    yield "Cost", impact(document) + ("" if ended else " so far")
    since = times.parse(document["opened_at"])
    if ended and document["resolved_at"]:
        yield "Lasted", f"{_span(times.parse(document['resolved_at']) - since)}, from {_utc(since)}"
    else:
        yield "Since", _utc(since)
    handling = document.get("handling") or {}
    if handling.get("acknowledged"):
        yield "Acknowledged", f"by {handling['acknowledged']['by']}"
    if handling.get("assignee"):
        yield "Assigned", f"to {handling['assignee']}"
    runbook = next((row["runbook"] for row in document["root_cause"]["hypotheses"][:1]), None)
    if runbook and not ended:
        yield "Runbook", runbook_link(console, runbook)
    yield "Incident", document["id"]


def _digest(notice: OutboxNotice) -> MessageText:
    counts: Mapping[str, Mapping[str, int]] = notice.data["counts"]
    live = _sum(counts, ("open", "acknowledged"))
    ended = sum(_sum(counts, ("resolved",)).values())
    number = sum(live.values())
    title = f"{_count(number, 'incident')} open ({_severities(live)})" if number else "None open"
    if ended:
        title += f", {ended} resolved"
    level = next((one for one in SEVERITIES if live.get(one)), "resolved")
    rows = list(_folded(notice))
    listed = notice.data["incidents"]
    for document in listed:
        state = "resolved" if document["status"] == "resolved" else document["severity"]
        rows.append((state.capitalize(), f"{subject(document)}; {_jobs(document)}"))
    others = number + ended - len(listed)
    if others > 0:
        rows.append(("And", f"{_count(others, 'more incident')}; the console lists them"))
    link = f"{notice.console.rstrip('/')}/#/incidents" if notice.console else ""
    return MessageText(level, f"Rankscope: {title}", _plain(rows), link)


def _folded(notice: OutboxNotice) -> Iterable[tuple[str, str]]:
    if notice.stands_for > 1:
        yield "Stands for", f"{notice.stands_for} messages since {_utc(notice.since)}"


def _sum(counts: Mapping[str, Mapping[str, int]], statuses: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for status in statuses:
        for severity, number in counts.get(status, {}).items():
            found[severity] = found.get(severity, 0) + number
    return found


def _severities(found: Mapping[str, int]) -> str:
    return ", ".join(f"{found[one]} {one}" for one in SEVERITIES if found.get(one))


def _title(fault: str) -> str:
    row = faults.catalogue().get(Fault(fault))
    return fault if row is None else row.title


def _where(entity: Document) -> str:
    name = f"{entity['type']} {entity['id']}"
    if entity["host"] and entity["type"] not in ("host", "nic", "process"):
        name += f" on {entity['host']}"
    return name


def _jobs(document: Document) -> str:
    jobs = document["jobs"]
    named = ", ".join(jobs[:FEW]) or "no single job"
    if len(jobs) > FEW:
        named += f" and {len(jobs) - FEW} more"
    if document["attempt"]:
        named += f", attempt {document['attempt']}"
    return f"{named} (cluster {document['cluster']})" if document["cluster"] else named


def _commanded(row: Document) -> str:
    return f"{row['text']}: {row['command']}" if row["command"] else str(row["text"])


def _plain(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((label, plain.line(text, LONGEST_ROW)) for label, text in rows)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _utc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
