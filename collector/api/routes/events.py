"""/events: incident changes as they happen, as server-sent events."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from starlette.responses import StreamingResponse

from ..auth import TokenGuard, TokenPrincipal
from ..feed import ChangeFeed
from ..services import CollectorParts


def router(services: CollectorParts, feed: ChangeFeed, guard: TokenGuard) -> APIRouter:
    """Return the route.

    Each event has the type and data of a webhook's message. A stream that comes with Last-Event-ID
    goes on after that event, after a restart of the collector too. After `reset` a client loads
    everything anew: changes are missing between its last event and the next.
    """
    routes = APIRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get(
        "/events",
        summary="Follow incident changes",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(
        principal: reader, last_event_id: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        return StreamingResponse(
            feed.follow(
                last_event_id,
                permits=principal.permits,
                expired=lambda: services.clock.now() >= principal.expires_at,
            ),
            media_type="text/event-stream",
            # Proxies that collect an answer before they pass it on would hold news back.
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return routes
