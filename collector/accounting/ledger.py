"""What incidents cost, in memory: read from the store once, then kept up by its changes.

A scrape of /metrics or a page of jobs costs the incidents that changed since, not all that were
ever kept.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ...vocabulary.faults import UNKNOWN
from ...vocabulary.times import parse
from ..store.costs import CauseRoot, IncidentCosts, WeeklyCost, measured, really, taken
from ..store.incidents import RecordedChange
from ..store.store import IncidentDatabaseStore

_DAY_SECONDS = 86_400.0


@dataclass(slots=True)
class CostTotals:
    """What the incidents of one job, or of one host, add up to.

    incidents: number by (fault, severity, status), each counted for its first job. lost: GPU
    seconds by fault, of incidents of several jobs one's own part. charged: incidents that `lost`
    is made of, by fault. measured: GPU seconds by fault that would not have been lost without the
    cause, of incidents whose steps were compared. updated_at: the newest change (s since the
    epoch). active: incidents not resolved. held: the incidents that are counted, by id.
    """

    incidents: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    lost: dict[str, float] = field(default_factory=dict)
    charged: Counter[str] = field(default_factory=Counter)
    measured: dict[str, float] = field(default_factory=dict)
    updated_at: float = 0.0
    active: int = 0
    held: dict[str, IncidentCosts] = field(default_factory=dict)

    def add(self, row: IncidentCosts, sign: int) -> None:
        """Count an incident in (sign 1) or out (-1)."""
        if sign > 0:
            self.held[row.id] = row
        else:
            self.held.pop(row.id, None)
        key = (row.fault, row.severity, row.status)
        self.incidents[key] += sign
        if not self.incidents[key]:
            del self.incidents[key]

    def charge(self, row: IncidentCosts, gpu_seconds: float, measured: float, sign: int) -> None:
        """Count what an incident took, and what of it was measured, in (sign 1) or out (-1)."""
        if row.measured is not None:
            self.measured[row.fault] = self.measured.get(row.fault, 0.0) + sign * measured
        self.lost[row.fault] = self.lost.get(row.fault, 0.0) + sign * gpu_seconds
        self.charged[row.fault] += sign
        if not self.charged[row.fault]:
            # Else a rounding of nothing is left.
            del self.lost[row.fault], self.charged[row.fault]
            self.measured.pop(row.fault, None)
        self.active += sign * (row.status != "resolved")
        self.updated_at = max(self.updated_at, row.updated_at)


class JobPermission(Protocol):
    """Somebody who may see some jobs."""

    def permits(self, jobs: Iterable[str]) -> bool:
        """Tell whether all of these jobs may be seen."""
        ...


class CostLedger:
    """The costs of every incident that is kept. Safe to ask from any thread."""

    def __init__(self, store: IncidentDatabaseStore, *, keep_days: float) -> None:
        self._store = store
        self._keep_seconds = keep_days * _DAY_SECONDS
        self._rows: dict[str, IncidentCosts] | None = None
        self._totals: dict[str | None, CostTotals] = {}
        self._hosts: dict[str, CostTotals] = {}
        self._unresolved: set[str] = set()
        self._lock = threading.Lock()
        store.subscribe(self._changed, everywhere=True)

    def rows(self, now: float) -> list[IncidentCosts]:
        """Return a row for each incident; those whose time in the store is over are left out."""
        with self._lock:
            rows = self._loaded()
            over = [
                identity
                for identity, row in rows.items()
                if row.status == "resolved" and row.updated_at < now - self._keep_seconds
            ]
            for identity in over:
                self._count(rows.pop(identity), -1)
            return list(rows.values())

    def permitted(self, principal: JobPermission, now: float) -> list[IncidentCosts]:
        """Return the rows of incidents that somebody may see."""
        return [row for row in self.rows(now) if principal.permits(row.jobs)]

    def lost(self, job: str) -> float:
        """Return the GPU seconds that a job lost to its incidents, of those of several its part."""
        with self._lock:
            self._loaded()
            totals = self._totals.get(job)
            return 0.0 if totals is None else sum(totals.lost.values())

    def lost_by_host(self) -> dict[str, dict[str, float]]:
        """Return the GPU seconds lost by the host of the first cause and its fault."""
        with self._lock:
            self._loaded()
            return {host: dict(row.lost) for host, row in self._hosts.items() if row.charged}

    def rows_of(self, ids: Iterable[str]) -> dict[str, IncidentCosts]:
        """Return the rows of some incidents, by id; those that are not kept are left out."""
        with self._lock:
            rows = self._loaded()
            return {identity: rows[identity] for identity in ids if identity in rows}

    def unresolved(self, *, most: int) -> list[IncidentCosts]:
        """Return the incidents that are not resolved, the newest onsets first."""
        with self._lock:
            rows = self._loaded()
            found = [rows[identity] for identity in self._unresolved]
        found.sort(key=lambda row: (-row.opened_at, row.id))
        return found[:most]

    def active(self) -> dict[str, int]:
        """Return how many incidents each job has that are not resolved; 0: it had some."""
        with self._lock:
            self._loaded()
            found: dict[str, int] = {}
            for row in self._totals.values():
                for incident in row.held.values():
                    for job in incident.jobs:
                        found[job] = found.get(job, 0) + (incident.status != "resolved")
            return found

    def totals(self, *, since: float) -> dict[str | None, CostTotals]:
        """Return the totals of each job with a change since then or an incident not resolved."""
        with self._lock:
            self._loaded()
            return {
                job: replace(
                    row,
                    incidents=Counter(row.incidents),
                    lost=dict(row.lost),
                    held={},
                    measured=dict(row.measured),
                )
                for job, row in self._totals.items()
                if row.charged and (row.active or row.updated_at >= since)
            }

    def _loaded(self) -> dict[str, IncidentCosts]:
        if self._rows is None:
            self._rows = {}
            for row in self._store.costs():
                self._put(row.id, row)
        return self._rows

    def _changed(self, news: Sequence[RecordedChange]) -> None:
        """Take changes, in the thread that wrote them."""
        with self._lock:
            if self._rows is None:
                return  # nobody has asked yet: reading the store will find them
            for change in news:
                self._put(str(change.document["id"]), _costs(change.document))

    def _put(self, identity: str, row: IncidentCosts) -> None:
        assert self._rows is not None  # noqa: S101  loaded by the callers
        before = self._rows.get(identity)
        if before is not None:
            if before.updated_at > row.updated_at:
                return  # two threads wrote, and the later one reported first
            self._count(before, -1)
        self._rows[identity] = row
        self._count(row, 1)

    def _count(self, row: IncidentCosts, sign: int) -> None:
        """Count an incident in (sign 1) or out (-1), for its jobs and for its host."""
        self._totals.setdefault(row.job, CostTotals()).add(row, sign)
        for job in dict.fromkeys((row.job, *(part.job for part in row.taken))):
            mine = [part for part in row.taken if part.job == job]
            lost = sum(part.gpu_seconds for part in mine)
            self._totals.setdefault(job, CostTotals()).charge(row, lost, _measured(row, mine), sign)
        if row.root is not None and row.root.host is not None:
            self._hosts.setdefault(row.root.host, CostTotals()).charge(
                row, row.gpu_seconds_lost, _measured(row, row.taken), sign
            )
        if sign > 0 and row.status != "resolved":
            self._unresolved.add(row.id)
        else:
            self._unresolved.discard(row.id)


def _measured(row: IncidentCosts, parts: Iterable[WeeklyCost]) -> float:
    """Return the GPU seconds of some parts that would not have been lost without the cause."""
    hours = (row.measured_of(part) for part in parts)
    return sum(3600 * found.gpu_hours for found in hours if found is not None)


def _costs(document: Mapping[str, Any]) -> IncidentCosts:
    causes = document["root_cause"]["hypotheses"]
    acknowledged = document["handling"]["acknowledged"]
    feedback = document["handling"]["feedback"]
    said = feedback[-1] if feedback else {}
    entity = causes[0]["entity"] if causes else None
    root = None if entity is None else CauseRoot(entity["type"], entity["id"], entity["host"])
    lost, opened_at = document["impact"]["gpu_seconds_lost"] or 0.0, parse(document["opened_at"])
    return IncidentCosts(
        job=document["job"],
        jobs=tuple(document["jobs"]),
        fault=causes[0]["fault"] if causes else UNKNOWN,
        severity=document["severity"],
        status=document["status"],
        opened_at=opened_at,
        detected_at=parse(document["detected_at"]),
        updated_at=parse(document["updated_at"]),
        acknowledged_at=None if acknowledged is None else parse(acknowledged["at"]),
        resolved_at=None if document["resolved_at"] is None else parse(document["resolved_at"]),
        gpu_seconds_lost=lost,
        id=document["id"],
        root=root,
        verdict=said.get("verdict"),
        named=really(said.get("entity"), said.get("fault"), root),
        really=said.get("fault"),
        taken=taken(document["impact"], document["job"], opened_at, lost),
        measured=measured(document["impact"].get("counterfactual")),
    )
