"""`python -m tools.new KIND NAME`: a plug-in's file, its line in the list, its row in the table."""

import argparse
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from . import causes, detectors, log_formats, notifiers, readers
from .plan import Plan, RefusedError

ROOT = Path(__file__).parents[2]

KINDS: dict[str, ModuleType] = {
    "detector": detectors,
    "cause": causes,
    "reader": readers,
    "notifier": notifiers,
    "log-format": log_formats,
}
"""Kind as typed -> module with HELP, add_arguments(parser) and plan(root, arguments)."""


def main() -> int:
    """Return 0 when the plug-in is there, 2 when its name or an option is refused."""
    parser = argparse.ArgumentParser(prog="python -m tools.new", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, module in KINDS.items():
        below = kinds.add_parser(kind, help=module.HELP, description=module.HELP)
        module.add_arguments(below)
    arguments = parser.parse_args()
    try:
        plan: Plan = KINDS[arguments.kind].plan(ROOT, arguments)
    except RefusedError as error:
        print(f"python -m tools.new {arguments.kind}: {error}", file=sys.stderr)
        return 2
    changed = plan.write()
    _formatted([ROOT / path for path in changed if path.endswith(".py")])
    for path in changed:
        print(f"{'made' if path in plan.made else 'added to'} {path}")
    print("left to edit:")
    for edit in plan.edits:
        print(f"  {edit}")
    print("then: make docs, make check")
    return 0


def _formatted(files: list[Path]) -> None:
    """Give files the form that `make lint` asks for: sorted imports, lines as ruff wraps them."""
    for words in (("check", "--quiet", "--select", "I", "--fix"), ("format", "--quiet")):
        subprocess.run([sys.executable, "-m", "ruff", *words, *files], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
