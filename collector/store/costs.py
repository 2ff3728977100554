"""What incidents took and cost: one slim row each, for statistics and metrics."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from .tables import incidents


@dataclass(frozen=True, slots=True)
class Costs:
    """One incident's times (seconds since the epoch) and the GPU time it took (s)."""

    job: str | None
    fault: str
    severity: str
    status: str
    opened_at: float
    detected_at: float
    updated_at: float
    acknowledged_at: float | None
    resolved_at: float | None
    gpu_seconds_lost: float


def every(db: Connection, *, since: float | None) -> list[Costs]:
    """Return a row for each incident that changed since then (None: ever), the oldest first."""
    columns = [incidents.c[name] for name in Costs.__dataclass_fields__]
    query = select(*columns).order_by(incidents.c.opened_at, incidents.c.id)
    if since is not None:
        query = query.where(incidents.c.updated_at >= since)
    return [Costs(*row) for row in db.execute(query)]
