"""/silences: hold deliveries back whose incident fits. Incidents are opened all the same."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from ....alerts.notify import routing
from ....vocabulary.answers.notifications import MatcherDocument, SilenceDocument, SilencesDocument
from ....vocabulary.times import rfc3339
from ...store.mutes import DeliveryMute
from .. import muting
from ..auth import TokenGuard, TokenPrincipal
from ..muting import NewMute
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from ..time_ranges import MutesQuery, Pattern


class NewMatcher(BaseModel):
    """One condition: some value of `name` fits some pattern; `negate`: none does."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, WithJsonSchema({"enum": list(routing.LABELS)})]
    patterns: Annotated[list[Pattern], Field(min_length=1, max_length=200)]
    negate: bool = False

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in routing.LABELS:
            raise ValueError(f"write one of {', '.join(routing.LABELS)}")
        return name


class NewSilence(NewMute):
    """A new silence. A matcher is required, so that leaving it out does not silence everything."""

    matchers: Annotated[list[NewMatcher], Field(min_length=1, max_length=50)]


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["silences"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]

    @routes.get("/silences", summary="List silences")
    def silences(principal: reader, query: Annotated[MutesQuery, Query()]) -> SilencesDocument:
        principal.check_unlimited()
        now = services.clock.now()
        rows, after = muting.listed(services, "silence", query, now)
        return SilencesDocument(items=[_shape(row, now) for row in rows], next_cursor=after)

    @routes.post("/silences", summary="Silence deliveries", status_code=201)
    def silence(principal: admin, body: NewSilence) -> SilenceDocument:
        principal.check_unlimited()
        now = services.clock.now()
        matchers = (
            routing.RouteMatcher(row.name, tuple(row.patterns), row.negate) for row in body.matchers
        )
        mute = muting.enter(services, "silence", body, matchers, by=principal, now=now)
        return _shape(mute, now)

    @routes.delete("/silences/{silence:encoded}", summary="End a silence", status_code=204)
    def end(silence: str, principal: admin) -> None:
        principal.check_unlimited()
        muting.end(services, "silence", silence, by=principal)

    return routes


def _shape(mute: DeliveryMute, now: float) -> SilenceDocument:
    return SilenceDocument(
        id=mute.id,
        state=mute.state(now),
        matchers=[
            MatcherDocument(name=row.name, patterns=list(row.patterns), negate=row.negate)
            for row in mute.matchers
        ],
        starts_at=rfc3339(mute.starts_at),
        ends_at=rfc3339(mute.ends_at),
        author=mute.author,
        comment=mute.comment,
        created_at=rfc3339(mute.created_at),
    )
