"""/priors: the catalogue's share of each fault beside what people's feedback made of it."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from ....alerts.causes import shares
from ....vocabulary.answers.causes import PriorsDocument
from ....vocabulary.ids import Fault
from ...pipeline import priors
from .. import entering
from ..auth import TokenGuard, TokenPrincipal
from ..services import CollectorParts
from ..shape_routes import ShapeRouter, written
from .handling import HandlingRequest


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]

    def answer(confirmed: Mapping[Fault, int]) -> PriorsDocument:
        return PriorsDocument(
            items=list(priors.compared(confirmed)),
            incidents=sum(confirmed.values()),
            strength=shares.STRENGTH,
        )

    @routes.get("/priors", summary="List the catalogue's and the learnt share of each fault")
    def compared(principal: reader) -> PriorsDocument:
        principal.check_unlimited()
        return answer(services.store.confirmed())

    @routes.post(
        "/priors/reset",
        summary="Forget what was learnt from feedback",
        response_model=PriorsDocument,
    )
    def reset(principal: admin, body: HandlingRequest | None = None) -> PriorsDocument | Response:
        principal.check_unlimited()
        given = body or HandlingRequest()
        _, done = entering.enter(
            services,
            "forget",
            by=given.by or principal.name or "somebody",
            detail={"note": given.note},
        )
        if done:
            return answer(services.store.confirmed())
        # It is in the journal and will be applied: what was confirmed before it is forgotten then.
        return written(answer({}), 202)

    return routes
