"""`rankscope mcp`: a running collector for an assistant, read-only, over the MCP protocol."""

import argparse

from .. import asking, terminal

HELP = "let an assistant read a running collector: an MCP server over stdio or HTTP"
EXTRA: str | None = "mcp"

_LISTEN = "127.0.0.1:8472"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        nargs="?",
        const=_LISTEN,
        metavar="HOST:PORT",
        help=f"serve streamable HTTP, by default on {_LISTEN}; each caller sends a token of the "
        "collector. Without this option: stdio",
    )
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stdin ends or somebody interrupts."""
    from ..assistant import server, serving  # noqa: PLC0415

    url, token = asking.given(arguments)
    try:
        collector = asking.CollectorClient.of(arguments)
        if arguments.http is None:
            serving.over_stdio(server.create(server.connecting(url, token, over_http=False)))
        else:
            made = server.create(server.connecting(url, None, over_http=True))
            serving.over_http(made, arguments.http, collector)
    except (asking.CollectorAnswerError, serving.ServingError) as error:
        terminal.complain(f"rankscope mcp: {error}")
        return 1
    return 0
