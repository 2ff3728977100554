"""The fault ids of the contract, read from faults.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, cast

from .entities import EntityType
from .ids import Fault
from .shapes import Json

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""From the one that pages to the one that never does."""

UNKNOWN = Fault("unknown")


def _enumerated() -> dict[str, list[Fault]]:
    return {"enum": list(catalogue())}


ONE_OF_ALL = Json(_enumerated)
"""What JSON Schema says of a fault's id."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault of the contract: its id, what it may point at, and how severe it usually is."""

    id: Fault
    entities: tuple[EntityType, ...]
    severity: Severity
    title: str
    help: str


@cache
def catalogue() -> Mapping[Fault, FaultKind]:
    """Return every fault by id, in the contract's order."""
    text = resources.files(__package__ or "").joinpath("faults.toml").read_text(encoding="utf-8")
    return {
        Fault(row["id"]): FaultKind(
            id=Fault(row["id"]),
            entities=cast("tuple[EntityType, ...]", tuple(row["entities"])),
            severity=cast("Severity", row["severity"]),
            title=row["title"],
            help=row["help"],
        )
        for row in tomllib.loads(text)["fault"]
    }
