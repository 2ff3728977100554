"""The audit trail of requests that change something and are no entries of the journal."""

import re
import secrets
from collections.abc import Callable, Iterator

from fastapi import Request

from ..store.audit import AuditRow
from . import asking
from .services import CollectorParts

_READING = ("GET", "HEAD", "OPTIONS")
_VERBS = {"POST": "add", "DELETE": "delete", "PUT": "replace", "PATCH": "change"}
_PATH = re.compile(r"^/api/v1/(?P<noun>[a-z-]+)(?:/(?P<id>[^/]+))?(?:/(?P<verb>[^/]+))?$")


def recording(services: CollectorParts) -> Callable[[Request], Iterator[None]]:
    """Return the dependency that writes down each request that changed something.

    The action is called by its path ("webhooks.add", "webhooks.replay"). Bodies are left out: they
    hold secrets.
    """

    def record(request: Request) -> Iterator[None]:
        yield  # a request that is refused raises here, and changed nothing
        if request.method in _READING:
            return
        path = request.url.path
        found = _PATH.match(path)
        noun = found["noun"] if found else path
        verb = (found["verb"] if found else None) or _VERBS.get(request.method, request.method)
        name = asking.token_name.get()
        services.store.audit(
            AuditRow(
                id=secrets.token_hex(8),
                at=services.store_clock.now(),
                token=name,
                author=name or "somebody",
                action=f"{noun}.{verb}"[:64],
                subject=(found["id"] if found else None) or "",
            )
        )

    return record
