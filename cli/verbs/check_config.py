"""`rankscope check-config FILE`: every mistake of a settings file at once, each with its fix."""

import argparse
import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import terminal

if TYPE_CHECKING:
    from ...settings import SettingsError

HELP = "check a settings file of the agent or the collector"
EXTRA: str | None = "collector"

_PROCESSES = ("collector", "agent")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="YAML settings file")
    parser.add_argument(
        "--for", dest="process", choices=_PROCESSES, help="whose file it is (default: by its keys)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is wrong with the file, or whose settings it holds."""
    models = _models()
    wanted = [name for name in _PROCESSES if arguments.process in (None, name)]
    errors: dict[str, SettingsError] = {}
    for name in wanted:
        error = _problems(models[name], arguments.file)
        if error is None:
            print(f"{arguments.file}: valid for rankscope {name}")
            return 0
        errors[name] = error
    keys = _keys(arguments.file)
    likeness = {name: _likeness(keys, models[name]) for name in wanted}
    # The keys say whose file it is. Where they fit both alike, the fewer mistakes decide.
    meant = max(wanted, key=lambda name: (likeness[name], -len(errors[name].problems)))
    hint = "" if arguments.process or likeness[meant] else " (--for says whose file it is)"
    terminal.complain(f"{arguments.file}, checked for rankscope {meant}{hint}:\n{errors[meant]}")
    return 1


def _keys(path: Path) -> dict[str, Any]:
    from ...settings import files  # noqa: PLC0415

    return files.read(path).values


def _likeness(keys: Any, model: Any) -> float:
    """Return how many keys of a file a model has, those of sections too; a misspelt one half."""
    from ...settings.sections import section_of  # noqa: PLC0415

    if not isinstance(keys, dict):
        return 0.0
    found = 0.0
    for key, value in keys.items():
        name = str(key)
        if name not in model.model_fields:
            near = difflib.get_close_matches(name, model.model_fields, n=1, cutoff=0.75)
            if not near:
                continue
            found, name = found - 0.5, near[0]
        section = section_of(model.model_fields[name].annotation)
        found += 1.0 + (_likeness(value, section) if section else 0.0)
    return found


def _models() -> dict[str, Any]:
    from ...agent.settings import AgentSettings  # noqa: PLC0415
    from ...collector.settings.collector import CollectorSettings  # noqa: PLC0415

    return {"collector": CollectorSettings, "agent": AgentSettings}


def _problems(model: Any, path: Path) -> "SettingsError | None":
    from ...settings import SettingsError, load  # noqa: PLC0415

    try:
        load(model, path=path, environ={})
    except SettingsError as error:
        return error
    return None
