"""`rankscope agent`: the node agent, until it is asked to stop."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...agent.settings import AgentSettings

HELP = "run the agent of this node: probes in, /metrics out, telemetry to the collector"
EXTRA: str | None = "agent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings as YAML; every key also as RANKSCOPE_<SECTION>__<KEY>",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the agent; 0 after SIGTERM, 1 when it cannot start, 2 for bad settings."""
    from ...agent import plain_settings  # noqa: PLC0415

    # Before anything is imported that may start a thread.
    loaded, version = plain_settings.apart(lambda: _loaded(arguments.config))
    from ...agent import logs, service  # noqa: PLC0415  needs the extra

    logs.configure()
    return service.run(loaded, version=version)


def _loaded(config: Path | None) -> "tuple[AgentSettings, str]":
    from importlib import metadata  # noqa: PLC0415  with readers of archives, 1 MB

    from ... import settings  # noqa: PLC0415  needs the extra
    from ...agent.settings import FOREIGN, AgentSettings  # noqa: PLC0415

    loaded = settings.load(AgentSettings, path=config, environ=os.environ, foreign=FOREIGN)
    return loaded, metadata.version("rankscope")
