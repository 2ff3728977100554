"""`rankscope check-config FILE`: every mistake of a settings file at once, each with its fix."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...settings import SettingsError

HELP = "check a settings file of the agent or the collector"
EXTRA: str | None = "collector"

_PROCESSES = ("collector", "agent")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("file", type=Path, help="YAML settings file")
    parser.add_argument(
        "--for", dest="process", choices=_PROCESSES, help="whose file it is (default: found out)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is wrong with the file, or whose settings it holds."""
    models = _models()
    wanted = {name: models[name] for name in _PROCESSES if arguments.process in (None, name)}
    errors: dict[str, SettingsError] = {}
    for name, model in wanted.items():
        error = _problems(model, arguments.file)
        if error is None:
            print(f"{arguments.file}: fit for rankscope {name}")
            return 0
        errors[name] = error
    # Of two readings, the one with fewer mistakes is the one that was meant.
    meant = min(errors, key=lambda name: len(errors[name].problems))
    print(f"{arguments.file}, read as settings of rankscope {meant}:", file=sys.stderr)
    print(errors[meant], file=sys.stderr)
    return 1


def _models() -> dict[str, Any]:
    from ...agent.settings import AgentSettings  # noqa: PLC0415
    from ...collector.settings import CollectorSettings  # noqa: PLC0415

    return {"collector": CollectorSettings, "agent": AgentSettings}


def _problems(model: Any, path: Path) -> "SettingsError | None":
    from ...settings import SettingsError, load  # noqa: PLC0415

    try:
        load(model, path=path, environ={})
    except SettingsError as error:
        return error
    return None
