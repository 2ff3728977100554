"""What people do about an incident: acknowledge, resolve, assign, rate the first cause.

Rating it, which moves the priors, can be withdrawn.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import JSONResponse

from ....alerts.actions import ActionKind
from ....vocabulary import faults
from ....vocabulary.incidents import Incident
from .. import entering
from ..auth import TokenGuard, TokenPrincipal
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from .incidents import finding

Line = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=4000)]


class HandlingRequest(BaseModel):
    """Who does something and what they add; `by` is the token's name when it is left out."""

    model_config = ConfigDict(extra="forbid")

    by: Line = ""
    note: Text = ""


class AssignRequest(HandlingRequest):
    """Who is to look after it."""

    assignee: Annotated[str, Field(min_length=1, max_length=200)]


class FeedbackRequest(HandlingRequest):
    """Whether the first cause was right; `fault` and `entity` are what it really was."""

    verdict: Literal["correct", "wrong", "unsure"]
    fault: str | None = None
    entity: Line | None = None

    @field_validator("fault")
    @classmethod
    def _known(cls, fault: str | None) -> str | None:
        if fault is not None and fault not in faults.catalogue():
            raise ValueError("there is no such fault")
        return fault


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes. What is done twice is answered as it is, and sent to nobody again."""
    routes = ShapeRouter(tags=["incidents"])
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]
    find = finding(services.store)

    def do(
        kind: ActionKind,
        incident: str,
        principal: TokenPrincipal,
        body: HandlingRequest,
        **details: Any,
    ) -> JSONResponse:
        find(incident, principal)
        _, done = entering.enter(
            services,
            kind,
            by=body.by or principal.name or "somebody",
            incident=incident,
            detail={"note": body.note, **details},
        )
        # 202: it is in the journal and will be applied, but evaluation or the store are behind.
        document = services.store.incident(incident)
        return JSONResponse(document, status_code=200 if done else 202)

    @routes.post(
        "/incidents/{incident:encoded}/ack",
        summary="Acknowledge an incident",
        response_model=Incident,
    )
    def acknowledge(
        incident: str, principal: admin, body: HandlingRequest | None = None
    ) -> JSONResponse:
        return do("acknowledge", incident, principal, body or HandlingRequest())

    @routes.post(
        "/incidents/{incident:encoded}/resolve",
        summary="Resolve an incident",
        response_model=Incident,
    )
    def resolve(
        incident: str, principal: admin, body: HandlingRequest | None = None
    ) -> JSONResponse:
        return do("resolve", incident, principal, body or HandlingRequest())

    @routes.post(
        "/incidents/{incident:encoded}/assign",
        summary="Assign an incident",
        response_model=Incident,
    )
    def assign(incident: str, principal: admin, body: AssignRequest) -> JSONResponse:
        return do("assign", incident, principal, body, assignee=body.assignee)

    @routes.post(
        "/incidents/{incident:encoded}/feedback",
        summary="Say whether the first cause was right",
        response_model=Incident,
    )
    def feedback(incident: str, principal: admin, body: FeedbackRequest) -> JSONResponse:
        return do(
            "feedback",
            incident,
            principal,
            body,
            verdict=body.verdict,
            fault=body.fault,
            entity=body.entity,
        )

    @routes.delete(
        "/incidents/{incident:encoded}/feedback",
        summary="Withdraw the last feedback",
        response_model=Incident,
    )
    def withdraw(incident: str, principal: admin) -> JSONResponse:
        return do("withdraw", incident, principal, HandlingRequest())

    return routes
