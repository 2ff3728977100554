"""Ids in paths: percent-encoded, whatever they hold, a slash too; and ranks.

Servers decode a path before it is routed, which turns an encoded slash into a border. Here routing
sees the path as it was sent, and `{name:encoded}` decodes its own part.
"""

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send


class EncodedSegment(Convertor[str]):
    """One part of a path, decoded after it has been found."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Return the id; bytes that are no UTF-8 become replacement characters."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """Return the id as a part of a path."""
        return quote(value, safe="")


class RankNumber(Convertor[int]):
    """A rank: digits, and no more of them than Python turns into a number without complaint."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("encoded", EncodedSegment())
register_url_convertor("rank", RankNumber())


class RawPath:
    """Routes by the path as it was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http" and scope.get("raw_path"):
            raw = scope["raw_path"].partition(b"?")[0]
            scope = {**scope, "path": raw.decode("latin-1")}
        await self._app(scope, receive, send)
