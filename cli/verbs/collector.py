"""`rankscope collector`: telemetry in over HTTP, incidents out."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...collector.settings.collector import CollectorSettings

HELP = "ingest telemetry, evaluate it, and serve incidents"
EXTRA: str | None = "collector"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, help="YAML settings file")


def run(arguments: argparse.Namespace) -> int:
    """Run the collector until SIGTERM or SIGINT."""
    from ...collector import service  # noqa: PLC0415

    return service.run(settings(arguments.config))


def settings(path: Path | None) -> "CollectorSettings":
    """Return the collector's settings from a file and the environment; raises SettingsError.

    Variables for the agent's sections are passed over: on one machine both share an environment.
    """
    from ...agent.settings import AgentSettings  # noqa: PLC0415
    from ...collector.settings.collector import CollectorSettings  # noqa: PLC0415
    from ...settings import load  # noqa: PLC0415

    foreign = set(AgentSettings.model_fields)
    return load(CollectorSettings, path=path, environ=os.environ, foreign=foreign)
