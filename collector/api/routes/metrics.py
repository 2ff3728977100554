"""/metrics: jobs, incidents, costs and our own health for Prometheus; no token."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from starlette.responses import Response

from ...accounting.exported import IncidentMetrics
from ..services import CollectorParts
from ..shared_page import SharedPage


def router(services: CollectorParts, exported: IncidentMetrics) -> APIRouter:
    routes = APIRouter(tags=["health"])
    registry = CollectorRegistry()
    registry.register(exported)

    page = SharedPage(lambda: generate_latest(registry) + generate_latest(services.health.registry))

    @routes.get("/metrics", summary="Get metrics for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(await page.get(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes
