"""Serving MCP: over this process's stdin and stdout, or over HTTP."""

import contextlib
import ipaddress
import sys
from typing import TextIO, cast

import uvicorn
from mcp.server.mcpserver import MCPServer

from ...collector.process import listening
from .. import asking

PATH = "/mcp"


class ServingError(Exception):
    """It cannot be served there; the text is a message with the fix."""


def over_stdio(server: MCPServer) -> None:
    """Serve until stdin ends. Messages go out as they are: they are for a program."""
    with contextlib.redirect_stdout(cast("TextIO", sys.__stdout__)):
        server.run("stdio")


def over_http(server: MCPServer, listen: str, collector: asking.CollectorClient) -> None:
    """Serve streamable HTTP at HOST:PORT until interrupted. Raises ServingError.

    Beyond loopback only where the collector asks for tokens: without any it answers to this machine
    alone, and that must stay so.
    """
    bound = _bound(listen)
    host = bound.socket.getsockname()[0]
    try:
        if not ipaddress.ip_address(host).is_loopback and not _protected(collector):
            raise ServingError(
                f"{listen} is not a loopback address, and the collector asks for no token: "
                "set api.tokens in its settings, or listen on 127.0.0.1"
            )
        print(f"rankscope mcp listens on {bound.address}{PATH}", flush=True)
        app = server.streamable_http_app(
            streamable_http_path=PATH, stateless_http=True, json_response=True, host=host
        )
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[bound.socket])
    finally:
        bound.socket.close()


def _bound(listen: str) -> listening.BoundSocket:
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ServingError(f"{listen!r} is not an address: write HOST:PORT, such as 127.0.0.1:8472")
    try:
        return listening.listen(host.strip("[]"), int(port), protected=True)
    except OSError as error:
        raise ServingError(f"cannot listen on {listen}: {error.strerror or error}") from error


def _protected(collector: asking.CollectorClient) -> bool:
    """Return whether the collector asks for a token."""
    try:
        return bool(collector.get("session")["token_required"])
    except asking.CollectorAnswerError as error:
        if error.status == 401:
            return True
        raise ServingError(str(error)) from error
