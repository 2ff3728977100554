"""A bound on what a request of the API may send; the intake has its own, far larger."""

import re
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import problems

LARGEST = 64 << 10
"""Bytes: the largest thing that anybody writes here is a silence with a long list of hosts."""


class BodyLimit:
    """Reads the body of a request before it is looked at, and refuses it over the limit."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        except_for: Collection[str],
        except_like: re.Pattern[str] | None = None,
        limit: int = LARGEST,
    ) -> None:
        self._app = app
        self._except_like = except_like
        self._except_for = frozenset(except_for)
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or answer 413."""
        if scope["type"] != "http" or self._passes(scope["path"]):
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        size = 0
        while True:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            if size > self._limit:
                # The connection is closed: what else is under way is not worth reading.
                refusal = problems.answer(
                    413,
                    f"the body is larger than {self._limit} bytes",
                    headers={"connection": "close"},
                )
                await refusal(scope, receive, send)
                return
            if message["type"] != "http.request" or not message.get("more_body", False):
                break

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, again, send)

    def _passes(self, path: str) -> bool:
        if path in self._except_for:
            return True
        return self._except_like is not None and self._except_like.fullmatch(path) is not None
