"""Where no token is asked for, pages of other sites are kept out, whatever they ask for.

Listening on loopback alone does not do that: a browser on this machine sends the simple requests of
any page, and a page with a name of its own that it points at 127.0.0.1 even reads the answers.
"""

import ipaddress

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from . import problems

PROBED = ("/healthz", "/readyz")
"""What orchestrators ask, under any name; it tells nothing of anybody."""


class ForeignPages:
    """Answers them 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 403."""
        if scope["type"] == "http" and scope["path"] not in PROBED:
            why = _refusal(Request(scope))
            if why:
                await problems.answer(403, why)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _refusal(request: Request) -> str:
    """Return why a request is not one of this machine's own, "" where it is.

    A link that somebody follows is: the page that it stands on does not get what it leads to.
    """
    headers = request.headers
    link = request.method == "GET" and headers.get("sec-fetch-dest") == "document"
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not link:
        return "a page of another site asks; without a token that is refused"
    host = request.url.hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return ""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return (
            "without api.tokens the collector answers to localhost and to addresses only, "
            "not to names"
        )
    return ""
