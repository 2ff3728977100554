"""Remedies: which cause asks for which action, and the words of an action's record.

In: the table beside. Out: a row a fault. Imports: faults, ids, row_values, tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, get_args

from .. import faults, row_values, tables
from ..ids import Fault

RemedyKind = Literal["restart", "exclude_device", "exclude_node", "requeue", "pause"]
"""restart: the same processes where they were. exclude_device, exclude_node: the job goes on
without it, and nothing new is placed there. requeue: the job is placed anew. pause: it is held, and
a person is asked."""
REMEDY_KINDS: tuple[RemedyKind, ...] = get_args(RemedyKind)

EXCLUDING: tuple[RemedyKind, ...] = ("exclude_device", "exclude_node")
"""What takes something of a node away from everybody."""
RESTARTING: tuple[RemedyKind, ...] = ("restart", "exclude_device", "exclude_node", "requeue")
"""What ends the attempt of a job that is under way."""
UNDOABLE: tuple[RemedyKind, ...] = ("exclude_device", "exclude_node", "pause")
"""What can be taken back. Steps that were not trained cannot: a restart stays one."""

RemedyMode = Literal["dry_run", "act"]
RemedyState = Literal["planned", "started", "done", "failed", "vetoed", "withdrawn", "undone"]
"""planned: it may be vetoed. started: whoever holds its lease carries it out. withdrawn: before
it was started, its reason was gone."""
REMEDY_STATES: tuple[RemedyState, ...] = get_args(RemedyState)
RemedyOutcome = Literal["recovered", "not_recovered", "undetermined"]
REMEDY_OUTCOMES: tuple[RemedyOutcome, ...] = get_args(RemedyOutcome)

_FaultId = Annotated[str, row_values.KnownValues("fault", faults.catalogue)]


@dataclass(frozen=True, slots=True)
class FaultRemedy:
    """What mends one cause, the smallest action first."""

    fault: _FaultId
    actions: tuple[RemedyKind, ...]
    min_probability: float
    why: str
    at_any_speed: bool = False
    """Whether it does harm while the job goes on as fast as ever."""


@cache
def catalogue() -> Mapping[Fault, FaultRemedy]:
    """Return the remedies by fault, in the file's order. Raises TableError."""
    rows = tables.packaged(FaultRemedy, __name__, "remedies.toml", "remedy")
    return {Fault(row.fault): row for row in rows}
