"""The map of docs/architecture.md: every folder of the packages, by its own first sentence."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .tables import code, table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- Written by `make docs`, from the first sentence of each folder's `__init__.py`. -->\n"
END = "<!-- Here ends what `make docs` writes. -->\n"

PACKAGES = (
    "agent", "alerts", "checks", "cli", "collector", "dashboards", "detectors", "formats", "lab",
    "probe", "settings", "vocabulary",
)  # fmt: skip

DATA = {
    "dashboards/console/charts": "Pictures of the console: uPlot, canvas and SVG",
    "dashboards/console/incident": "The page of one incident, a file a section",
    "dashboards/console/pages": "The other pages of the console, a file each",
    "dashboards/console/parts": "What pages of the console share: requests, elements, filters",
    "dashboards/console/style": "Style sheets of the console",
    "dashboards/console/texts": "Texts of the console, by language",
    "dashboards/console/vendor": "Code of others, as its authors publish it: uPlot",
    "formats/training_logs/frameworks": "Lines of training frameworks: one table a framework",
}
"""Folders without Python, which have no place for a sentence of their own."""

_TABLES = ("*.toml", "*.js", "*.css")


def page() -> str:
    """Return docs/architecture.md with its map as the folders are now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PAGE.name} lacks the two lines between which the map stands")
    return before + BEGIN + "\n" + _map() + "\n" + END + after


def _map() -> str:
    return table(
        ("folder", "what it is"), ((code(f"{name}/"), text) for name, text in sorted(_folders()))
    )


def _folders() -> Iterator[tuple[str, str]]:
    gone = [name for name in DATA if not (ROOT / name).is_dir()]
    if gone:
        raise ValueError(f"{', '.join(gone)}: gone; delete it from DATA of {Path(__file__).name}")
    for package in PACKAGES:
        for path in (ROOT / package, *sorted((ROOT / package).rglob("*"))):
            if path.is_dir() and path.name != "__pycache__":
                name = path.relative_to(ROOT).as_posix()
                if (path / "__init__.py").is_file():
                    yield name, _first_sentence(path / "__init__.py")
                elif name in DATA:
                    yield name, DATA[name]
                elif any(file for kind in _TABLES for file in path.glob(kind)) and not any(
                    name.startswith(f"{known}/") for known in DATA
                ):
                    raise ValueError(f"{name}: say what it is in DATA of {Path(__file__).name}")


def _first_sentence(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"(?<=[.!?])\s", text.replace("\n", " "), maxsplit=1)[0].rstrip(".")
    if not sentence:
        raise ValueError(f"{file.relative_to(ROOT)}: its docstring says what the folder is")
    return sentence
