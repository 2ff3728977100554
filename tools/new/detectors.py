"""A detector: its file, its line in the list of its family, its kind of finding, what it is for."""

import argparse
from pathlib import Path

from .plan import Plan, RefusedError, as_module, checked_name, class_name, example, rows, words

HELP = "a detector: a class that finds something in the window of a job"

COUNTS = "tests/detectors/test_every_detector_counts.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="what settings call it, such as fan_speed")
    parser.add_argument("--family", required=True, help="its folder below detectors/")


def plan(root: Path, arguments: argparse.Namespace) -> Plan:
    """Return what a detector changes: the worked example under its own name."""
    name = checked_name(arguments.name, example="fan_speed")
    families = sorted(
        path.parent.name
        for path in root.glob("detectors/*/__init__.py")
        if "DETECTORS" in path.read_text(encoding="utf-8")
    )
    if arguments.family not in families:
        raise RefusedError(
            f"there is no family {arguments.family}; use one of {', '.join(families)}"
        )
    if f"\n[{name}]\n" in Plan(root).text(COUNTS):
        raise RefusedError(f"there is a detector {name}: take another name")
    kind, folder = f"host.{name}", f"detectors/{arguments.family}"
    table = f"vocabulary/findings/{arguments.family}.toml"
    for path in sorted(root.glob("vocabulary/findings/*.toml")):
        if f'kind = "{kind}"' in path.read_text(encoding="utf-8"):
            raise RefusedError(f"{path.relative_to(root)} has a kind {kind}: take another name")
    made = Plan(root)
    text = as_module(
        example(root, "detector_example.py"),
        folder=folder,
        first_line=f"{words(name)}: hosts where it is nearly used up.",
    )
    for old, new in (
        ("SharedMemory", class_name(name)),
        ('name = "shared_memory"', f'name = "{name}"'),
        ("host.shm_full", kind),
    ):
        text = text.replace(old, new)
    made.make(f"{folder}/{name}.py", text)
    listed = f"{folder}/__init__.py"
    made.add_after(
        listed, f"from .{name} import {class_name(name)}", begins="from ..contract import"
    )
    made.add_line(listed, f"    {class_name(name)}(),", of="DETECTORS", before=")")
    row = rows(example(root, "detector_example.toml"), "finding")
    made.append(table, row.replace("host.shm_full", kind).replace("shared_memory", name))
    made.append(COUNTS, f'[{name}]\ncause = "unknown: job example"')
    made.edits = [
        f"{folder}/{name}.py: what it looks at, its example, where it fails",
        f"{table}: the row {kind}, with the metrics that it needs and its effect on the job",
    ]
    return made
