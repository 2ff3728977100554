"""What incidents took and cost: one slim row each, for statistics and metrics."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from .tables import incident_jobs, incidents


@dataclass(frozen=True, slots=True)
class Costs:
    """One incident's times (seconds since the epoch) and the GPU time it took (s).

    `jobs` begins with the incident's own job.
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


def every(db: Connection) -> list[Costs]:
    """Return a row for each incident, the oldest onset first."""
    jobs: dict[str, list[str]] = {}
    for incident, job in db.execute(select(incident_jobs.c.incident, incident_jobs.c.job)):
        jobs.setdefault(incident, []).append(job)
    rows = db.execute(
        select(
            incidents.c.id,
            incidents.c.job,
            incidents.c.fault,
            incidents.c.severity,
            incidents.c.status,
            incidents.c.opened_at,
            incidents.c.detected_at,
            incidents.c.updated_at,
            incidents.c.acknowledged_at,
            incidents.c.resolved_at,
            incidents.c.gpu_seconds_lost,
        ).order_by(incidents.c.opened_at, incidents.c.id)
    )
    return [
        Costs(row.job, _ordered(row.job, jobs.get(row.id, ())), *row[2:], id=row.id) for row in rows
    ]


def _ordered(first: str | None, jobs: "list[str] | tuple[str, ...]") -> tuple[str, ...]:
    return tuple(sorted(jobs, key=lambda job: (job != first, job)))
