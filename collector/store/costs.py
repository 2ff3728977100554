"""What incidents took and cost: one slim row each, for statistics and metrics."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from ...vocabulary import faults
from ...vocabulary.counterfactuals import CounterfactualBasis, GpuHours
from ...vocabulary.ids import Fault
from ...vocabulary.times import week_named, week_of
from .tables import actions, incident_jobs, incidents
from .tables_history import roots


@dataclass(frozen=True, slots=True)
class CauseRoot:
    """The entity that an incident's first cause names."""

    type: str
    id: str
    host: str | None


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """GPU-hours that an incident took, by the steps of its jobs as they would be without it."""

    hours: GpuHours
    basis: CounterfactualBasis


_AT_A_TIME = 500
"""Documents that are read at once."""


@dataclass(frozen=True, slots=True)
class WeeklyCost:
    """GPU-seconds that an incident took of one job in the week that began on a Monday 00:00 UTC."""

    job: str | None
    week: int
    gpu_seconds: float


@dataclass(frozen=True, slots=True)
class IncidentCosts:
    """One incident's times (seconds since the epoch) and the GPU time it took (s).

    `jobs` begins with the incident's own job. `taken` is `gpu_seconds_lost` by job and week.
    """

    job: str | None
    jobs: tuple[str, ...]
    fault: str
    severity: str
    status: str
    opened_at: float
    detected_at: float
    updated_at: float
    acknowledged_at: float | None
    resolved_at: float | None
    gpu_seconds_lost: float
    id: str = ""
    root: CauseRoot | None = None
    verdict: str | None = None
    """What was last said of the first cause: correct, wrong or unsure; None: nothing."""
    named: CauseRoot | None = None
    """The entity that a person named in its place, with that feedback."""
    really: str | None = None
    """The fault that a person named in its place."""
    taken: tuple[WeeklyCost, ...] = ()
    measured: MeasuredCost | None = None
    """None where the steps of no job could be compared."""

    def measured_of(self, part: WeeklyCost) -> GpuHours | None:
        """Return what was measured of one job and week: divided as what it took is."""
        if self.measured is None:
            return None
        every = sum(one.gpu_seconds for one in self.taken)
        share = part.gpu_seconds / every if every else 1 / len(self.taken)
        return self.measured.hours.times(share)


_AS_KEPT = (
    "id", "job", "fault", "severity", "status", "opened_at", "detected_at", "updated_at",
    "acknowledged_at", "resolved_at", "gpu_seconds_lost",
)  # fmt: skip


def every(db: Connection) -> list[IncidentCosts]:
    """Return a row for each incident, the oldest onset first."""
    jobs: dict[str, list[str]] = {}
    for incident, job in db.execute(select(incident_jobs.c.incident, incident_jobs.c.job)):
        jobs.setdefault(incident, []).append(job)
    named = {
        row.incident: CauseRoot(row.entity_type, row.entity, row.host)
        for row in db.execute(select(roots))
    }
    verdicts = _verdicts(db)
    columns = (incidents.c[name] for name in (*_AS_KEPT, "counterfactual"))
    found = db.execute(select(*columns).order_by(incidents.c.opened_at, incidents.c.id)).all()
    several = [
        row.id
        for row in found
        if len(jobs.get(row.id, ())) > 1
        or week_of(row.opened_at) != week_of(row.resolved_at or row.updated_at)
    ]
    impacts = dict(_impacts(db, several))
    return [
        IncidentCosts(
            **{name: getattr(row, name) for name in _AS_KEPT},
            jobs=_ordered(row.job, jobs.get(row.id, ())),
            taken=taken(impacts.get(row.id, {}), row.job, row.opened_at, row.gpu_seconds_lost),
            root=named.get(row.id),
            verdict=(said := verdicts.get(row.id, {})).get("verdict"),
            named=really(said.get("entity"), said.get("fault"), named.get(row.id)),
            really=said.get("fault"),
            measured=measured(json.loads(row.counterfactual)) if row.counterfactual else None,
        )
        for row in found
    ]


def measured(found: Mapping[str, Any] | None) -> MeasuredCost | None:
    """Return what an incident took as its document's counterfactual says it; None: it does not."""
    lost = found.get("lost") if found else None
    if found is None or lost is None:
        return None
    return MeasuredCost(GpuHours(**lost), found["basis"])


def taken(
    impact: Mapping[str, Any], job: str | None, opened_at: float, gpu_seconds: float
) -> tuple[WeeklyCost, ...]:
    """Return what an incident took by job and week, of its document's `impact`.

    One that does not say counts for its first job, in the week of its onset.
    """
    rows = impact.get("lost") or ()
    if not rows:
        return (WeeklyCost(job, week_of(opened_at), gpu_seconds),)
    return tuple(
        WeeklyCost(row["job"], week_named(row["week"]), row["gpu_seconds_lost"] or 0.0)
        for row in rows
    )


def _impacts(db: Connection, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what incidents cost as their documents say it: few affect several jobs or weeks."""
    for first in range(0, len(ids), _AT_A_TIME):
        some = ids[first : first + _AT_A_TIME]
        query = select(incidents.c.id, incidents.c.document).where(incidents.c.id.in_(some))
        for row in db.execute(query):
            yield row.id, json.loads(row.document)["impact"]


def really(entity: str | None, fault: str | None, root: CauseRoot | None) -> CauseRoot | None:
    """Return the entity that a person named by its id; None where they named none.

    People write an id, and no type. That of the named first cause goes with it where the id is the
    same; a port is host/device:port; what else it is follows from the fault they named, and is a
    host where they named none. The host of a device is known where it is the first cause's.
    """
    if not entity:
        return None
    if root is not None and entity == root.id:
        return root
    host, slash, port = entity.partition("/")
    if slash and host and ":" in port:
        return CauseRoot("nic", entity, host)
    known = faults.catalogue().get(Fault(fault or ""))
    kind = known.entities[0] if known is not None else "host"
    if kind == "gpu" and root is not None and root.type == "host" and root.id == entity:
        return root
    beside = root.host if root is not None and root.type in ("gpu", "rank", "process") else None
    if kind == "gpu" and entity == beside:
        kind = "host"  # the whole host, of a fault that is usually a device's
    return CauseRoot(kind, entity, entity if kind == "host" else None)


def _verdicts(db: Connection) -> dict[str, dict[str, str | None]]:
    """Return what was last said of each incident's first cause and is not withdrawn."""
    rating = select(actions.c.incident, actions.c.kind, actions.c.details).where(
        actions.c.kind.in_(("feedback", "withdraw"))
    )
    given: dict[str, list[dict[str, str | None]]] = {}
    for row in db.execute(rating.order_by(actions.c.number)):
        if row.kind == "feedback":
            given.setdefault(row.incident, []).append(json.loads(row.details))
        elif given.get(row.incident):
            given[row.incident].pop()
    return {incident: said[-1] for incident, said in given.items() if said}


def _ordered(first: str | None, jobs: "list[str] | tuple[str, ...]") -> tuple[str, ...]:
    return tuple(sorted(jobs, key=lambda job: (job != first, job)))
