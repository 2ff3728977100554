"""The faults: their ids, what each may point at, and how severe it usually is.

One `[[fault]]` row a fault, in the file of its family beside. What else its row has (what it
predicts, what to do) is read by alerts/causes, where catalogue.toml explains every key.

In: one table a family of faults. Out: every fault by id. Imports: entities, ids, shapes, tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from .. import tables
from ..entities import EntityType
from ..ids import Fault
from ..shapes import JsonType

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""From the one that pages to the one that never does."""

UNKNOWN = Fault("unknown")

ReplacedPart = Literal["work", "handed_out", "data", "exchange", "link"]
"""Which part of a step a fault makes longer, and so what is replaced to see the step without it.

work: a rank's own, by that of its peers. handed_out: the same of a rank that hands out the batches
of all. data: waits for batches. exchange: the time between ranks. link: work of a rank and the
exchange, as of a device whose link is slow.
"""

FAMILIES = (
    "gpu", "memory", "balance", "network", "host", "software", "numerics", "efficiency",
)  # fmt: skip
"""The files beside: of the faults whose id begins so."""


def _enumerated() -> dict[str, list[Fault]]:
    return {"enum": list(catalogue())}


ONE_OF_ALL = JsonType(_enumerated)
"""What JSON Schema says of a fault's id."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault; title and help in English and in Simplified Chinese."""

    id: Fault
    entities: tuple[EntityType, ...]
    severity: Severity
    title: str
    help: str
    title_zh: str
    help_zh: str
    replaces: ReplacedPart = "work"


@cache
def catalogue() -> Mapping[Fault, FaultKind]:
    """Return every fault by id, in the order of FAMILIES and files, `unknown` last."""
    files = [f"{family}.toml" for family in (*FAMILIES, UNKNOWN)]
    rows = tables.joined(FaultKind, __name__, files, "fault", others=None)
    return {row.id: row for row in rows}
