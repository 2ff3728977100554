"""`rankscope agent`: the node agent, until it is asked to stop."""

import argparse
import os
from pathlib import Path

HELP = "run the agent of this node: probes in, /metrics out, telemetry to the collector"
EXTRA: str | None = "agent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings as YAML; every key also as RANKSCOPE_<SECTION>__<KEY>",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the agent; 0 after SIGTERM, 1 when it cannot start, 2 for bad settings."""
    from ... import settings  # noqa: PLC0415  needs the extra
    from ...agent import logs, service  # noqa: PLC0415
    from ...agent.settings import FOREIGN, AgentSettings  # noqa: PLC0415

    logs.configure()
    loaded = settings.load(
        AgentSettings, path=arguments.config, environ=os.environ, foreign=FOREIGN
    )
    return service.run(loaded)
