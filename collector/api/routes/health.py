"""/healthz and /readyz, for the orchestrator; no token.

A collector that takes and keeps telemetry is ready: that is what /v1/metrics would answer by what
the journal last said, to a payload or when it was checked. Neither asks the database, whatever that
does (docs/decisions/0014).
"""

from fastapi import APIRouter

from ....vocabulary.answers.service import HealthDocument, ReadinessDocument
from ...intake.waiting import REPAIR_SECONDS
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

_MEANWHILE = (
    "telemetry is taken and incidents are kept until it answers; requests for them are answered 503"
)


def router(services: CollectorParts) -> APIRouter:
    routes = ShapeRouter(tags=["health"])

    @routes.get("/healthz", summary="Liveness: the process runs")
    async def healthz() -> HealthDocument:
        return HealthDocument(status="ok", version=services.version)

    @routes.get("/readyz", summary="Readiness: telemetry is taken")
    async def readyz() -> ReadinessDocument:
        if not services.stages.ready:
            raise ProblemError(503, "the journal is being read again", headers={"retry-after": "1"})
        if services.health.journal_error:
            raise ProblemError(
                503, services.health.journal_error, headers={"retry-after": str(REPAIR_SECONDS)}
            )
        warnings = services.stages.warnings()
        for one in services.connected:
            warnings += one.warnings()
        if services.health.journal_warning:
            warnings.append(services.health.journal_warning)
        if services.register is not None:
            warnings += services.register.warnings()
        if services.health.store_error:
            warnings.append(f"{services.health.store_error} ({_MEANWHILE})")
        return ReadinessDocument(status="ok", version=services.version, warnings=warnings)

    return routes
