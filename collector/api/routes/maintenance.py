"""/maintenance: hosts and jobs that are worked on; deliveries about them are held back."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field, model_validator

from ....alerts.notify.routing import Matcher
from ....vocabulary.times import rfc3339
from ...services import Services
from ...store import mutes
from ...store.mutes import Mute
from .. import entering, shapes
from ..auth import Guard, Principal
from ..pages import cut
from ..time_ranges import Line, MutesQuery, Pattern, TimeRange

Patterns = Annotated[list[Pattern], Field(max_length=1000)]


class NewMaintenance(TimeRange):
    """A window to be: for incidents that touch one of the hosts and one of the jobs.

    Left out means any; one of both is needed, `*` stands for everything.
    """

    hosts: Patterns = Field(default_factory=list)
    jobs: Patterns = Field(default_factory=list)
    author: Line = ""
    comment: Line = ""

    @model_validator(mode="after")
    def _something(self) -> "NewMaintenance":
        if not self.hosts and not self.jobs:
            raise ValueError("name hosts or jobs")
        return self


def router(services: Services, guard: Guard) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["silences"])
    reader = Annotated[Principal, Depends(guard.require("read"))]
    admin = Annotated[Principal, Depends(guard.require("admin"))]

    @routes.get("/maintenance", summary="List maintenance windows")
    def windows(principal: reader, query: Annotated[MutesQuery, Query()]) -> shapes.Maintenances:
        principal.check_unlimited()
        now = services.clock.now()
        rows = [
            row
            for row in services.store.mutes("maintenance")
            if query.state is None or row.state(now) == query.state
        ]
        rows, after = cut(rows, limit=query.limit, cursor=query.cursor)
        return shapes.Maintenances(items=[_shape(row, now) for row in rows], next_cursor=after)

    @routes.post("/maintenance", summary="Announce maintenance", status_code=201)
    def announce(principal: admin, body: NewMaintenance) -> shapes.Maintenance:
        principal.check_unlimited()
        now = services.clock.now()
        starts_at, ends_at = body.checked(now)
        conditions = (("host", body.hosts), ("job", body.jobs))
        mute = Mute(
            id="",
            kind="maintenance",
            matchers=tuple(
                Matcher(name, tuple(patterns)) for name, patterns in conditions if patterns
            ),
            starts_at=starts_at,
            ends_at=ends_at,
            author=body.author or principal.name or "somebody",
            comment=body.comment,
            created_at=now,
        )
        mute = replace(mute, id=_entered(services, mute))
        return _shape(mute, now)

    @routes.delete("/maintenance/{window:encoded}", summary="End maintenance", status_code=204)
    def end(window: str, principal: admin) -> None:
        principal.check_unlimited()
        mute = services.store.find_mute("maintenance", window)
        by = principal.name or "somebody"
        entering.enter(services, "unsilence", by=by, detail={"mute": mute.id})

    return routes


def _entered(services: Services, mute: Mute) -> str:
    """Enter a mute in the journal and return its id."""
    identity, _ = entering.enter(services, "maintenance", by=mute.author, detail=mutes.detail(mute))
    return identity


def _shape(mute: Mute, now: float) -> shapes.Maintenance:
    patterns = {row.name: list(row.patterns) for row in mute.matchers}
    return shapes.Maintenance(
        id=mute.id,
        state=mute.state(now),
        hosts=patterns.get("host", []),
        jobs=patterns.get("job", []),
        starts_at=rfc3339(mute.starts_at),
        ends_at=rfc3339(mute.ends_at),
        author=mute.author,
        comment=mute.comment,
        created_at=rfc3339(mute.created_at),
    )
