"""A site's own judgement of codes: a TOML file of rows that win over the tables.

A row names the code and only what shall change; the rest stays as the tables have it.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .catalogue import DeviceFaultCatalogue, codes, knowledge
from .knowledge import FaultKnowledge

_LARGEST = 1 << 20


class OverrideError(Exception):
    """A site's file cannot be used; the text says which file and row, and the fix."""


def overridden(shipped: DeviceFaultCatalogue, path: Path) -> DeviceFaultCatalogue:
    """Return the catalogue with a site's rows over it; raises OverrideError."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise OverrideError(f"{path}: {error.strerror or error}") from error
    if len(data) > _LARGEST:
        raise OverrideError(f"{path}: larger than {_LARGEST} bytes; that is not a table of faults")
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OverrideError(f"{path}: {error}") from error
    unknown = set(table) - {"version", "source", "fault"}
    if unknown:
        raise OverrideError(f"{path}: no key {', '.join(sorted(unknown))}; rows are [[fault]]")
    written = table.get("fault", [])
    if not isinstance(written, list):
        raise OverrideError(f"{path}: write rows as [[fault]], with two pairs of brackets")
    source = str(table.get("source", path))
    rows: list[FaultKnowledge] = []
    for number, row in enumerate(written, 1):
        try:
            rows += _merged(shipped, row, source)
        except ValueError as error:
            raise OverrideError(f"{path}, row {number}: {error}") from error
    return shipped.over(rows, f"site={table.get('version', 1)}")


def _merged(shipped: DeviceFaultCatalogue, row: object, source: str) -> list[FaultKnowledge]:
    if not isinstance(row, Mapping):
        raise ValueError("write it as [[fault]]")  # noqa: TRY004  one kind of error for the caller
    vendor = str(row.get("vendor", "nvidia"))
    rows: list[FaultKnowledge] = []
    for code in codes(row.get("codes", "")):
        known = shipped.find(vendor, code)
        whole: dict[str, Any] = {
            "mnemonic": known.mnemonic,
            "meaning": known.meaning,
            "class": known.fault_class,
            "immediate": known.immediate,
            "investigate": known.investigate,
            "line_decides": known.line_decides,
            "part_of": list(known.part_of),
            "others": {one.tool: f"{one.fault_class}, {one.action}" for one in known.others},
        }
        if "class" not in row:
            whole["cleared_by"] = str(known.cleared_by)
        else:
            whole["line_decides"] = False  # a site that names a class means it
        rows += knowledge({**whole, **row, "codes": code}, vendor=vendor, source=source)
    return rows
