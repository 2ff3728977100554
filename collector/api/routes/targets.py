"""/targets: the agents, for Prometheus to discover (http_sd)."""

from typing import Annotated

from fastapi import APIRouter, Depends

from ....vocabulary.answers.jobs import TargetDocument
from ...accounting.watched import JobSummaries
from ...windows import queries
from ..auth import TokenGuard, TokenPrincipal
from ..services import CollectorParts
from ..shape_routes import ShapeRouter


def router(services: CollectorParts, guard: TokenGuard, watched: JobSummaries) -> APIRouter:
    """Return the route. A list without an envelope: http_sd prescribes its form."""
    routes = ShapeRouter(tags=["stats"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    port = services.settings.api.agent_port

    @routes.get("/targets", summary="List agents for Prometheus")
    def targets(principal: reader) -> list[TargetDocument]:
        if principal.limited:
            mine = [row.hosts for row in watched.jobs() if principal.permits([row.job])]
            hosts = sorted({host for hosts in mine for host in hosts})
        else:
            found = services.stages.read(lambda line: queries.hosts(line.windows))
            hosts = sorted(set(found))
        return [
            TargetDocument(targets=[_address(host, port)], labels={"host_name": host})
            for host in hosts
        ]

    return routes


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
