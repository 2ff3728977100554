"""/targets: the agents, for Prometheus to discover (http_sd)."""

from typing import Annotated

from fastapi import APIRouter, Depends

from ...services import Services
from .. import shapes
from ..auth import Guard, Principal


def router(services: Services, guard: Guard) -> APIRouter:
    """Return the route. A list without an envelope: Prometheus says what it looks like."""
    routes = APIRouter(tags=["stats"])
    reader = Annotated[Principal, Depends(guard.require("read"))]
    port = services.settings.api.agent_port

    @routes.get("/targets", summary="List agents for Prometheus")
    def targets(principal: reader) -> list[shapes.Target]:
        if principal.limited:
            jobs = services.stages.read(lambda line: line.windows.jobs())
            mine = [row.hosts for row in jobs if principal.permits([row.job])]
            hosts = sorted({host for hosts in mine for host in hosts})
        else:
            hosts = services.stages.read(lambda line: line.windows.hosts())
        return [
            shapes.Target(targets=[_address(host, port)], labels={"host_name": host})
            for host in hosts
        ]

    return routes


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
