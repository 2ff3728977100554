"""/maintenance: hosts and jobs that are worked on; deliveries about them are held back."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field, model_validator

from ....alerts.notify.routing import RouteMatcher
from ....vocabulary.answers.notifications import MaintenanceDocument, MaintenancesDocument
from ....vocabulary.times import rfc3339
from ...store.mutes import DeliveryMute
from .. import muting
from ..auth import TokenGuard, TokenPrincipal
from ..muting import NewMute
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from ..time_ranges import MutesQuery, Pattern

Patterns = Annotated[list[Pattern], Field(max_length=1000)]


class NewMaintenance(NewMute):
    """A window to be: for incidents that touch one of the hosts and one of the jobs.

    Left out means any; one of both is needed, `*` stands for everything.
    """

    hosts: Patterns = Field(default_factory=list)
    jobs: Patterns = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> "NewMaintenance":
        if not self.hosts and not self.jobs:
            raise ValueError("name hosts or jobs")
        return self


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["silences"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]

    @routes.get("/maintenance", summary="List maintenance windows")
    def windows(principal: reader, query: Annotated[MutesQuery, Query()]) -> MaintenancesDocument:
        principal.check_unlimited()
        now = services.clock.now()
        rows, after = muting.listed(services, "maintenance", query, now)
        return MaintenancesDocument(items=[_shape(row, now) for row in rows], next_cursor=after)

    @routes.post("/maintenance", summary="Announce maintenance", status_code=201)
    def announce(principal: admin, body: NewMaintenance) -> MaintenanceDocument:
        principal.check_unlimited()
        now = services.clock.now()
        conditions = (("host", body.hosts), ("job", body.jobs))
        matchers = [
            RouteMatcher(name, tuple(patterns)) for name, patterns in conditions if patterns
        ]
        mute = muting.enter(services, "maintenance", body, matchers, by=principal, now=now)
        return _shape(mute, now)

    @routes.delete("/maintenance/{window:encoded}", summary="End maintenance", status_code=204)
    def end(window: str, principal: admin) -> None:
        principal.check_unlimited()
        muting.end(services, "maintenance", window, by=principal)

    return routes


def _shape(mute: DeliveryMute, now: float) -> MaintenanceDocument:
    patterns = {row.name: list(row.patterns) for row in mute.matchers}
    return MaintenanceDocument(
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
