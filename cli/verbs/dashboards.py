"""`rankscope dashboards build`: Grafana dashboards and Prometheus rules as files."""

import argparse
from pathlib import Path

from .. import terminal

HELP = "build the Grafana dashboards and Prometheus rules"
EXTRA: str | None = "dashboards"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="write dashboards, rules and provisioning as files")
    build.add_argument(
        "--datasource",
        metavar="UID",
        help="uid of the Prometheus data source that is preset (default: Grafana's own default)",
    )
    build.add_argument(
        "--console",
        metavar="URL",
        default="http://localhost:8470",
        help="the collector's address as a browser reaches it, for links (default: %(default)s)",
    )
    build.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=Path("rankscope-dashboards"),
        help="folder to write below (default: ./%(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the files and print where each is. Exit 1: one cannot be written."""
    from ...dashboards.grafana import building  # noqa: PLC0415
    from ...dashboards.grafana.frame import BuildOptions  # noqa: PLC0415

    given = BuildOptions(datasource=arguments.datasource, console=arguments.console.rstrip("/"))
    try:
        for path in building.write(given, arguments.out):
            print(path)
    except OSError as error:
        where, why = error.filename or arguments.out, error.strerror or error
        terminal.complain(
            f"rankscope dashboards: {where}: {why}; give --out a folder that this user may write"
        )
        return 1
    return 0
