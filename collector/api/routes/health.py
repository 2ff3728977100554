"""/healthz and /readyz, for the orchestrator; no token."""

from fastapi import APIRouter

from ...services import Services
from .. import shapes
from ..problems import ProblemError


def router(services: Services) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz", summary="Liveness: the process runs")
    async def healthz() -> shapes.Health:
        return shapes.Health(status="ok", version=services.version)

    @routes.get("/readyz", summary="Readiness: requests are served")
    def readyz() -> shapes.Readiness:
        if not services.stages.ready:
            raise ProblemError(503, "the journal is being read again", headers={"retry-after": "1"})
        services.store.check()
        warnings = services.stages.warnings()
        return shapes.Readiness(status="ok", version=services.version, warnings=warnings)

    return routes
